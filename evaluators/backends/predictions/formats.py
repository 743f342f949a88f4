"""The formats of predictions files, recognized by suffix and columns."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from eyechart.datasets_scripts.common.choice.aesthetics import PARTS
from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingFileError
from eyechart.datasets_scripts.common.files.readers import (
    ROW_ERROR,
    Row,
    read_csv_rows,
    read_json_object,
    read_json_rows,
    read_jsonl_rows,
)
from eyechart.datasets_scripts.common.files.spreadsheets import read_xlsx_rows
from eyechart.datasets_scripts.common.files.tsv import read_tsv_rows
from eyechart.evaluators.backends.predictions import parsers
from eyechart.evaluators.backends.predictions.parsers import IMAGE_NAMES, Prediction

XLSX = ".xlsx"
CELL_LIMIT = 32_767
"""Maximum number of characters of an XLSX cell; tools truncate longer replies or leave them out."""


class Format(NamedTuple):
    """The file format of one tool."""

    name: str
    """Name of the format in results."""
    suffixes: tuple[str, ...]
    """Suffixes of its files."""
    columns: tuple[str | tuple[str, ...], ...]
    """Its columns or keys; of a tuple of alternatives, a file has at least one."""
    parse: Callable[[Mapping[str, Any]], Prediction]
    """Turns a row into a prediction; raises ValueError for a malformed row."""
    has_our_ids: bool = False
    """Whether its rows name items by eyechart's ids, so that rows are matched only by id."""
    config: str | None = None
    """The config of the dataset that its files are about; None if unknown."""

    def missing(self, row: Mapping[str, Any]) -> list[tuple[str, ...]]:
        """The columns, each with its alternatives, that a row lacks."""
        groups = [(names,) if isinstance(names, str) else names for names in self.columns]
        return [names for names in groups if not any(name in row for name in names)]


FORMATS = (
    Format("eyechart", (".jsonl",), ("id", ("text", "logits", "score")), parsers.parse_eyechart, has_our_ids=True),
    Format("vlmevalkit", (XLSX, ".tsv", ".json"), ("index", "prediction"), parsers.parse_vlmevalkit),
    Format("lmms-eval", (".jsonl",), ("doc_id", ("filtered_resps", "resps")), parsers.parse_lmms_eval),
    Format("llava-mmbench", (".jsonl",), ("question_id", "round_id", "text", "options"), parsers.parse_llava),
    Format(
        "q-bench-logits",
        (".json", ".jsonl"),
        ("img_path", ("logit_good", "logit_high")),
        parsers.parse_q_bench_logits,
    ),
    Format("q-bench-answers", (".json", ".jsonl"), ("img_path", "response"), parsers.parse_q_bench_answers),
    *(
        Format(
            f"aesbench-{config}-answers",
            (".json",),
            ("image", f"{part}_response"),
            parsers.parse_aes_bench_answers,
            config=config,
        )
        for config, part in PARTS.items()
    ),
    Format("quality-scores", (".csv",), (IMAGE_NAMES, "score"), parsers.parse_quality_scores),
)


def read_predictions(path: Path) -> tuple[Format, list[Prediction]]:
    """Read a predictions file in one of `FORMATS`.

    Returns:
        The format, recognized by the columns of the first row, and the rows in file order, at least one.

    Raises:
        MissingFileError: The file does not exist.
        BadAnnotationError: The path is a folder, the format is unknown, or a row is malformed; the message names it.
    """
    rows = _read_rows(path)
    chosen: Format | None = None
    predictions = []
    for number, row in rows:
        try:
            if ROW_ERROR in row:
                raise ValueError(row[ROW_ERROR])
            chosen = chosen or _recognize(path.suffix.lower(), row)
            # The parser of eyechart's own format has more specific messages.
            for names in () if chosen.has_our_ids else chosen.missing(row):
                raise ValueError(f"missing {' or '.join(map(repr, names))}, which earlier rows have ({chosen.name})")
            predictions.append(replace(chosen.parse(row), row=number))
        except ValueError as error:
            raise BadAnnotationError(str(error), path=path, row=number) from error
    assert chosen is not None, "there is at least one row"
    return chosen, predictions


def _recognize(suffix: str, row: Mapping[str, Any]) -> Format:
    """The only format that fits a file with this suffix and first row; raises ValueError otherwise."""
    of_suffix = [form for form in FORMATS if suffix in form.suffixes]
    fitting = [form for form in of_suffix if not form.missing(row)]
    if len(fitting) == 1:
        return fitting[0]
    known = "; ".join(
        f"{', '.join(' or '.join(names) for names in form.missing({}))} ({form.name})" for form in of_suffix
    )
    problem = f"several formats fit ({', '.join(form.name for form in fitting)})" if fitting else "unknown format"
    columns = ", ".join(map(repr, row)) or "no columns"
    raise ValueError(f"{problem}; found: {columns}. Expected columns of a {suffix} file: {known}")


def _read_rows(path: Path) -> list[Row]:
    if path.is_dir():
        raise BadAnnotationError(f"this is a folder; expected a predictions file ({', '.join(_READERS)})", path=path)
    if not path.exists():
        raise MissingFileError("the predictions file does not exist", path=path)
    if path.suffix.lower() not in _READERS:
        reason = f"unknown suffix {path.suffix!r}; expected {', '.join(_READERS)}; see `eyechart score --help`"
        raise BadAnnotationError(reason, path=path)
    rows = _READERS[path.suffix.lower()](str(path))
    if not rows:
        raise BadAnnotationError("the predictions file is empty", path=path)
    return rows


def _read_json(path: str) -> list[Row]:
    rows = read_json_rows(path)
    values = list(rows[0][1].values()) if len(rows) == 1 else []
    if values and all(isinstance(value, dict) and any(key.endswith("_response") for key in value) for value in values):
        # AesBench's answer file: one object with an entry for each image name.
        entries = read_json_object(path).items()
        return [(number, {"image": name, **entry}) for number, (name, entry) in enumerate(entries, 1)]
    return rows


def _read_xlsx(path: str) -> list[Row]:
    from openpyxl.utils.escape import unescape

    def plain(value: Any) -> Any:
        # XLSX writes control characters as _x000D_; openpyxl returns an array formula as an object.
        value = getattr(value, "text", value)
        return unescape(value) if isinstance(value, str) else value

    # A reply that begins with "=" may have become a formula, whose value is not the reply.
    rows = read_xlsx_rows(path, (), formulas=True)
    return [(number, {name: plain(value) for name, value in row.items()}) for number, row in rows]


_READERS: Mapping[str, Callable[[str], list[Row]]] = {
    ".jsonl": read_jsonl_rows,
    ".json": _read_json,
    XLSX: _read_xlsx,
    ".tsv": lambda path: read_tsv_rows(path, (), images=False),
    ".csv": lambda path: read_csv_rows(path, ()),
}
