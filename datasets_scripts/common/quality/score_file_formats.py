"""The formats in which the scores of image quality databases are published, and how to read them.

Besides a database's own formats (`databases.py`), two are read for every database:

- the lists of Q-Bench (https://github.com/Q-Future/Q-Bench, `a3_iqa_databases/jsons`) with `img_path` and `gt_score`,
  the published score in the database's own direction, and its released logits, which have both fields;
- a CSV with the columns `image` and `mos`, higher is better, whatever the database's own direction is.

All formats with named columns can be CSV or JSON, and the image may also be in the column `image` or `img_path`.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from eyechart.datasets_scripts.common.errors import BadAnnotationError
from eyechart.datasets_scripts.common.files.readers import (
    ROW_ERROR,
    Row,
    first_csv_fields,
    iterate_table,
    number_field,
    read_json_rows,
)
from eyechart.datasets_scripts.common.files.spreadsheets import read_xlsx_rows

FORMAT = "_format"
"""Field of a raw row with its `ScoreFormat`."""


@dataclass(frozen=True)
class ScoreFormat:
    """The columns of a score file: image's file name, published score, standard deviation of the opinions."""

    image: str = "image"
    score: str = "mos"
    std: str | None = None
    ratings: tuple[str, ...] = ()
    """Columns of the counts or shares of the ratings 1, 2, ...; if set, quality is the mean rating."""
    all_columns: tuple[str, ...] = ()
    """All columns in order, of a text file without a header line."""
    sheet: str | None = None
    """Name of the sheet if it is also read from workbooks, "" for the first one."""
    header_row: int = 1
    """Row of the sheet with the headings."""
    worst: float | None = None
    """The worst score if lower is better (quality is this minus the score); None if higher is better."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The required columns."""
        return (self.image, self.score, *([self.std] if self.std else []), *self.ratings)

    def scores_of(self, raw: dict[str, Any], *, path: str, number: int) -> dict[str, float | None]:
        """Return a row's `quality` (higher is better), `quality_std` and `released_score`."""
        score = number_field(raw, self.score, path=path, number=number)
        quality = score if self.worst is None else self.worst - score
        if self.ratings:
            counts = [number_field(raw, column, path=path, number=number) for column in self.ratings]
            if min(counts) < 0 or sum(counts) == 0:
                raise ValueError(f"fields {', '.join(self.ratings)} must be counts of ratings, found {counts}")
            quality = sum(rating * count for rating, count in enumerate(counts, 1)) / sum(counts)
        std = None if self.std is None else number_field(raw, self.std, path=path, number=number)
        return {"quality": quality, "quality_std": std, "released_score": score}


def read_scores(path: str, own: tuple[ScoreFormat, ...], worst: float | None = None) -> list[Row]:
    """Read a score file in one of the database's `own` formats, or in one that all have; rows have it in `FORMAT`."""
    own = tuple(replace(layout, worst=worst) for layout in (*own, ScoreFormat("img_path", "gt_score")))
    formats = (*own, ScoreFormat())
    suffix = os.path.splitext(path)[1].lower()
    if suffix == ".xlsx":
        book = next((layout for layout in own if layout.sheet is not None), None)
        if book is None:
            raise BadAnnotationError("scores of this database cannot be read from a workbook; save as CSV", path=path)
        rows = read_xlsx_rows(path, (), sheet=book.sheet or "", header_row=book.header_row)
        layout = _matching(path, [book], rows[0][1] if rows else book.columns, book.header_row)
    elif suffix == ".json":
        rows = read_json_rows(path)
        layout = _matching(path, formats, next((raw for _, raw in rows if ROW_ERROR not in raw), ()))
    else:
        layout = _matching(path, formats, first_csv_fields(path))
        rows = list(iterate_table(path, layout.columns, columns=layout.all_columns or None))
    for _, raw in rows:
        if ROW_ERROR not in raw:
            raw[FORMAT] = layout
    return rows


def _matching(path: str, formats: Iterable[ScoreFormat], columns: Iterable[str], row: int = 1) -> ScoreFormat:
    """Return the first format with all of its columns present, with the file's own image column."""
    named, found = [layout for layout in formats if not layout.all_columns], list(columns)
    bare = [layout for layout in formats if len(layout.all_columns) == len(found)]
    for layout in named:
        for image in (layout.image, "image", "img_path"):
            if set(replace(layout, image=image).columns) <= set(found):
                return replace(layout, image=image)
    if bare and found:
        return bare[0]
    expected = " or ".join(dict.fromkeys(",".join(layout.columns) for layout in named))
    reason = f"expected the columns {expected}; found: {', '.join(found) or 'none'}. For your own scores, write a CSV"
    reason += " with the columns image,mos: file name and score (higher is better)"
    raise BadAnnotationError(reason, path=path, row=row)
