"""The formats in which the scores of image quality databases are published, and how to read them.

Every database has its own format or formats. Three more are read for all databases:

- `PLAIN`: a CSV with the columns `image` and `mos`, higher is better, whatever the database's own direction is;
- the lists of Q-Bench (https://github.com/Q-Future/Q-Bench, `a3_iqa_databases/jsons`): a JSON list of `img_path` and
  `gt_score`, where the score may be text with trailing blanks; also its released logits, which have both fields;
- the lists of Waterloo's IQA-Dataset (https://github.com/icbcbicc/IQA-Dataset): a CSV, mostly named `.txt`, with
  `dis_img_path` and `score`; the paths begin with that repository's own folders, and only the file name is used.

Q-Bench's and Waterloo's lists contain the database's published scores, in its own direction. In all formats except
Waterloo's, the image may also be in the column `image` or `img_path`, as in lists that people derive from official
files. All formats with named columns can be CSV or JSON.
"""

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any
from zipfile import is_zipfile

from eyechart.datasets_scripts.common.errors import BadAnnotationError
from eyechart.datasets_scripts.common.files.readers import (
    ROW_ERROR,
    Row,
    check_header,
    first_csv_fields,
    number_field,
    read_csv_rows,
    read_json_rows,
    text_field,
)
from eyechart.datasets_scripts.common.files.spreadsheets import read_xlsx_rows

FORMAT = "_format"
"""Field of a raw row with its `ScoreFormat`."""
_IMAGE_COLUMNS = ("image", "img_path")
_OWN_FORMAT = "For your own scores, write a CSV with the columns image,mos: file name and score (higher is better)"


@dataclass(frozen=True)
class ScoreFormat:
    """The meaning of a score file's columns."""

    image: str
    """Column of the image's file name."""
    score: str
    """Column of the published score."""
    std: str | None = None
    """Column of the published standard deviation of the opinions."""
    ratings: tuple[str, ...] = ()
    """Columns of the counts or shares of the ratings 1, 2, ...; if set, quality is the mean rating."""
    further: tuple[str, ...] = ()
    """Further required columns, which the script reads."""
    worst: float | None = None
    """The worst score if lower is better (quality is this minus the score); None if higher is better."""
    all_columns: tuple[str, ...] = ()
    """All columns in order, of a text file without a header line."""
    delimiter: str = ","
    """The separator between two fields of a text file."""
    sheet: str | None = None
    """Name of the sheet of a workbook, "" for its first; None for a text file."""
    header_row: int = 1
    """Row of a workbook's sheet with the headings."""
    bare_name: bool = False
    """Whether only the last part of the image's path is its name."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The required columns."""
        return (self.image, self.score, *([] if self.std is None else [self.std]), *self.ratings, *self.further)

    def for_columns(self, columns: Collection[str]) -> "ScoreFormat":
        """Return the format with the file's own image column."""
        # Waterloo's lists are recognized only by this column.
        others = () if self.bare_name else _IMAGE_COLUMNS
        found = next((name for name in (self.image, *others) if name in columns), self.image)
        return replace(self, image=found)

    def name_of(self, raw: dict[str, Any], *, path: str, number: int) -> str:
        """Return a row's image name.

        Raises:
            BadAnnotationError: It is missing, empty or not text.
        """
        name = text_field(raw, self.image, path=path, number=number)
        return name.replace("\\", "/").rpartition("/")[2] if self.bare_name else name

    def scores_of(self, raw: dict[str, Any], *, path: str, number: int) -> dict[str, float | None]:
        """Return a row's `quality` (higher is better), `quality_std` and `released_score`.

        Raises:
            BadAnnotationError: A number is missing or malformed, or the ratings are not counts.

        Examples:
            >>> layout = ScoreFormat(image="image", score="dmos", worst=1.0)
            >>> layout.scores_of({"image": "a.png", "dmos": "0.25"}, path="scores.csv", number=2)
            {'quality': 0.75, 'quality_std': None, 'released_score': 0.25}
        """
        score = number_field(raw, self.score, path=path, number=number)
        quality = score if self.worst is None else self.worst - score
        if self.ratings:
            counts = [number_field(raw, column, path=path, number=number) for column in self.ratings]
            if min(counts) < 0 or sum(counts) == 0:
                reason = f"fields {', '.join(self.ratings)} must be counts of ratings, found {counts}"
                raise BadAnnotationError(reason, path=path, row=number)
            quality = sum(rating * count for rating, count in enumerate(counts, 1)) / sum(counts)
        std = None if self.std is None else number_field(raw, self.std, path=path, number=number)
        return {"quality": quality, "quality_std": std, "released_score": score}


PLAIN = ScoreFormat(image="image", score="mos")
"""A CSV with the columns `image` and `mos`."""


def common_formats(worst: float | None = None) -> tuple[ScoreFormat, ...]:
    """Return the formats that are read for every database.

    Args:
        worst: The worst score if lower is better on the database's scale, else None.

    Returns:
        The formats of Q-Bench's lists and of Waterloo's lists, and `PLAIN`.

    Examples:
        >>> [(layout.image, layout.score, layout.worst) for layout in common_formats(worst=1.0)]
        [('img_path', 'gt_score', 1.0), ('dis_img_path', 'score', 1.0), ('image', 'mos', None)]
    """
    return (
        ScoreFormat(image="img_path", score="gt_score", worst=worst),
        ScoreFormat(image="dis_img_path", score="score", worst=worst, bare_name=True),
        PLAIN,
    )


def read_scores(path: str, formats: Sequence[ScoreFormat]) -> list[Row]:
    """Read a score file in one of `formats`; each row that could be read has its format under `FORMAT`.

    For text files, the first format is used whose columns the file has.

    Raises:
        MissingFileError: The file is missing.
        BadAnnotationError: The file cannot be read, or has none of the formats.
    """
    suffix = os.path.splitext(path)[1].lower()
    # A downloaded file has lost its suffix; a workbook is a zip archive.
    if suffix == ".xlsx" or is_zipfile(path):
        layout, rows = _read_workbook(path, formats)
    elif suffix == ".json":
        rows = read_json_rows(path)
        layout = _nearest(formats, next((raw for _, raw in rows if ROW_ERROR not in raw), ()))
    else:
        layout = _text_format(path, formats)
        rows = read_csv_rows(path, layout.columns, layout.delimiter, layout.all_columns or None)
    for _, raw in rows:
        if ROW_ERROR not in raw:
            raw[FORMAT] = layout
    return rows


def _read_workbook(path: str, formats: Sequence[ScoreFormat]) -> tuple[ScoreFormat, list[Row]]:
    layout = next((layout for layout in formats if layout.sheet is not None), None)
    if layout is None:
        raise BadAnnotationError("scores of this database cannot be read from a workbook; save it as CSV", path=path)
    rows = read_xlsx_rows(path, (), sheet=layout.sheet or "", header_row=layout.header_row)
    if rows:
        headings = list(rows[0][1])
        layout = layout.for_columns(headings)
        check_header(path, headings, layout.columns, row=layout.header_row)
    return layout, rows


def _text_format(path: str, formats: Sequence[ScoreFormat]) -> ScoreFormat:
    header = first_csv_fields(path)
    nearest = _nearest(formats, header)
    if set(nearest.columns) <= set(header):
        return nearest
    for layout in formats:
        if layout.all_columns and _is_data(first_csv_fields(path, layout.delimiter), layout):
            return layout
    try:
        check_header(path, header, nearest.columns)
    except BadAnnotationError as error:
        raise BadAnnotationError(f"{error.reason}. {_OWN_FORMAT}", path=path, row=error.row) from error
    return nearest


def _nearest(formats: Sequence[ScoreFormat], columns: Collection[str]) -> ScoreFormat:
    """Return the first format with all of its columns present, else the one with most; at a tie, the simplest."""
    named = [layout.for_columns(columns) for layout in formats if layout.sheet is None and not layout.all_columns]
    shares = [len(set(layout.columns) & set(columns)) / len(layout.columns) for layout in named]
    if 1 in shares:
        return named[shares.index(1)]
    return max(zip(reversed(shares), reversed(named), strict=True), key=lambda pair: pair[0])[1]


def _is_data(fields: list[str], layout: ScoreFormat) -> bool:
    """Whether a first line is a row of a format without a header."""
    if len(fields) != len(layout.all_columns):
        return False
    try:
        float(fields[layout.all_columns.index(layout.score)])
    except ValueError:
        return False
    return True
