"""The formats of predictions files and what tells them apart: the suffix and the columns, never a guess."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingFileError
from eyechart.datasets_scripts.common.files.readers import (
    ROW_ERROR,
    Row,
    read_csv_rows,
    read_json_rows,
    read_jsonl_rows,
)
from eyechart.datasets_scripts.common.files.spreadsheets import read_xlsx_rows
from eyechart.datasets_scripts.common.files.tsv import read_tsv_rows
from eyechart.evaluators.backends.predictions import (
    json_lines,
    llava,
    lmms_eval,
    q_bench_logits,
    quality_scores,
    vlmevalkit,
)
from eyechart.evaluators.backends.predictions.prediction import Prediction

XLSX = ".xlsx"
CELL_LIMIT = 32_767
"""Most characters of an XLSX cell; tools cut longer answers or leave them out."""
# Thousands of answers with their reasoning, each up to the limit of a cell.
_MOST_XLSX_BYTES = 512 * 2**20


@dataclass(frozen=True)
class Format:
    """What one tool writes."""

    name: str
    """What results call it."""
    suffixes: tuple[str, ...]
    """How its files end."""
    columns: tuple[tuple[str, ...], ...]
    """Its columns or keys: of each of these, at least one is there."""
    parse: Callable[[Mapping[str, Any]], Prediction]
    """From a row to a prediction; raises ValueError for a malformed row."""
    has_our_ids: bool = False
    """Whether its rows name items by our ids, so that nothing else is looked at."""

    def fits(self, suffix: str, columns: Collection[str]) -> bool:
        """Whether a file that ends so and has these columns is of this format."""
        return suffix in self.suffixes and all(any(name in columns for name in names) for names in self.columns)

    def describe(self) -> str:
        """Its columns, for a message."""
        return f"{', '.join(' or '.join(names) for names in self.columns)} ({self.name})"


FORMATS = (
    Format("eyechart", (".jsonl",), (("id",), json_lines.ANSWERS), json_lines.parse, has_our_ids=True),
    Format("vlmevalkit", (".xlsx", ".tsv", ".json"), (("index",), ("prediction",)), vlmevalkit.parse),
    Format("lmms-eval", (".jsonl",), (("doc_id",), ("filtered_resps", "resps")), lmms_eval.parse),
    Format("llava-mmbench", (".jsonl",), (("question_id",), ("round_id",), ("text",), ("options",)), llava.parse),
    Format("q-bench-logits", (".json", ".jsonl"), (("img_path",), q_bench_logits.LOGITS), q_bench_logits.parse),
    Format("quality-scores", (".csv",), (quality_scores.NAMES, ("score",)), quality_scores.parse),
)


def read_predictions(path: Path) -> tuple[Format, list[Prediction]]:
    """Read a predictions file.

    Args:
        path: A file of one of `FORMATS`.

    Returns:
        Its format, which the columns of its first row tell, and its rows in file order, at least one.

    Raises:
        MissingFileError: There is no such file.
        BadAnnotationError: It is of no format, or a row is malformed; the message names the row.
    """
    rows = _read_rows(path)
    chosen = _recognise(path, *rows[0])
    predictions = []
    for number, row in rows:
        try:
            if ROW_ERROR in row:
                raise ValueError(row[ROW_ERROR])
            _check_columns(chosen, row)
            predictions.append(replace(chosen.parse(row), row=number))
        except ValueError as error:
            raise BadAnnotationError(str(error), path=path, row=number) from error
    return chosen, predictions


def _read_rows(path: Path) -> list[Row]:
    """The rows of a file, whose suffix tells how it holds them, with their numbers in the file."""
    if path.is_dir():
        raise BadAnnotationError(f"a folder; expected a predictions file ({', '.join(_READERS)})", path=path)
    if not path.exists():
        raise MissingFileError("the predictions file does not exist", path=path)
    if path.suffix.lower() not in _READERS:
        reason = f"predictions files end in {', '.join(_READERS)}, not {path.suffix!r}; see `eyechart score --help`"
        raise BadAnnotationError(reason, path=path)
    rows = _READERS[path.suffix.lower()](str(path))
    if not rows:
        raise BadAnnotationError("the predictions file holds no predictions", path=path)
    return rows


def _read_xlsx(path: str) -> list[Row]:
    from openpyxl.utils.escape import unescape

    def plain(value: Any) -> Any:
        # Control characters are written as _x000D_ in a sheet; an array formula is an object.
        value = getattr(value, "text", value)
        return unescape(value) if isinstance(value, str) else value

    # An answer that begins with "=" may have become a formula, whose value is not what the model said.
    rows = read_xlsx_rows(path, (), formulas=True, max_bytes=_MOST_XLSX_BYTES)
    return [(number, {name: plain(value) for name, value in row.items()}) for number, row in rows]


_READERS: Mapping[str, Callable[[str], list[Row]]] = {
    ".jsonl": read_jsonl_rows,
    ".json": read_json_rows,
    XLSX: _read_xlsx,
    ".tsv": lambda path: read_tsv_rows(path, (), "image", images=False),
    ".csv": lambda path: read_csv_rows(path, ()),
}


def _recognise(path: Path, number: int, row: Mapping[str, Any]) -> Format:
    if ROW_ERROR in row:
        raise BadAnnotationError(row[ROW_ERROR], path=path, row=number)
    suffix = path.suffix.lower()
    fitting = [form for form in FORMATS if form.fits(suffix, row)]
    if len(fitting) != 1:
        known = "; ".join(form.describe() for form in FORMATS if suffix in form.suffixes)
        found = f"holds {', '.join(map(repr, row)) or 'nothing'}, which is the form of " + (
            f"several tools: {', '.join(form.name for form in fitting)}" if fitting else "no tool"
        )
        raise BadAnnotationError(f"{found}. A {suffix} file has {known}", path=path, row=number)
    return fitting[0]


def _check_columns(chosen: Format, row: Mapping[str, Any]) -> None:
    # Our own rows say better themselves what they lack.
    if not chosen.has_our_ids:
        for names in chosen.columns:
            if not any(name in row for name in names):
                raise ValueError(f"{' or '.join(map(repr, names))} is not there, as in other rows ({chosen.name})")
