"""The formats of predictions files, recognized by suffix and columns."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from eyechart.datasets_scripts.common.choice.aesthetics import PARTS
from eyechart.datasets_scripts.common.errors import BadAnnotationError
from eyechart.datasets_scripts.common.files.readers import ROW_ERROR
from eyechart.evaluators.backends.predictions import (
    answer_files,
    json_lines,
    llava,
    lmms_eval,
    q_bench_logits,
    quality_scores,
    vlmevalkit,
)
from eyechart.evaluators.backends.predictions.containers import read_rows
from eyechart.evaluators.backends.predictions.prediction import Prediction


@dataclass(frozen=True)
class Format:
    """The file format of one tool."""

    name: str
    """Name of the format in results."""
    suffixes: tuple[str, ...]
    """Suffixes of its files."""
    columns: tuple[tuple[str, ...], ...]
    """Its columns or keys, as groups of alternatives: a file has at least one of each group."""
    parse: Callable[[Mapping[str, Any]], Prediction]
    """Turns a row into a prediction; raises ValueError for a malformed row."""
    has_our_ids: bool = False
    """Whether its rows name items by eyechart's ids, so that rows are matched only by id."""
    config: str | None = None
    """The config of the dataset that its files are about; None if unknown."""

    def fits(self, suffix: str, columns: Collection[str]) -> bool:
        """Whether a file with this suffix and these columns has this format."""
        return suffix in self.suffixes and all(any(name in columns for name in names) for names in self.columns)

    def describe(self) -> str:
        """The columns, for an error message."""
        return f"{', '.join(' or '.join(names) for names in self.columns)} ({self.name})"


FORMATS = (
    Format("eyechart", (".jsonl",), (("id",), json_lines.ANSWERS), json_lines.parse, has_our_ids=True),
    Format("vlmevalkit", (".xlsx", ".tsv", ".json"), (("index",), ("prediction",)), vlmevalkit.parse),
    Format("lmms-eval", (".jsonl",), (("doc_id",), ("filtered_resps", "resps")), lmms_eval.parse),
    Format("llava-mmbench", (".jsonl",), (("question_id",), ("round_id",), ("text",), ("options",)), llava.parse),
    Format("q-bench-logits", (".json", ".jsonl"), (("img_path",), q_bench_logits.LOGITS), q_bench_logits.parse),
    Format("q-bench-answers", (".json", ".jsonl"), (("img_path",), ("response",)), answer_files.parse_q_bench),
    *(
        Format(
            f"aesbench-{config}-answers",
            (".json",),
            (("image",), (f"{part}_response",)),
            answer_files.parse_aes_bench,
            config=config,
        )
        for config, part in PARTS.items()
    ),
    Format("quality-scores", (".csv",), (quality_scores.NAMES, ("score",)), quality_scores.parse),
)


def read_predictions(path: Path) -> tuple[Format, list[Prediction]]:
    """Read a predictions file.

    Args:
        path: A file in one of `FORMATS`.

    Returns:
        The format, recognized by the columns of the first row, and the rows in file order, at least one.

    Raises:
        MissingFileError: The file does not exist.
        BadAnnotationError: The format is unknown, or a row is malformed; the message names the row.
    """
    rows = read_rows(path)
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


def _recognise(path: Path, number: int, row: Mapping[str, Any]) -> Format:
    if ROW_ERROR in row:
        raise BadAnnotationError(row[ROW_ERROR], path=path, row=number)
    suffix = path.suffix.lower()
    fitting = [form for form in FORMATS if form.fits(suffix, row)]
    if len(fitting) != 1:
        known = "; ".join(form.describe() for form in FORMATS if suffix in form.suffixes)
        problem = f"several formats fit ({', '.join(form.name for form in fitting)})" if fitting else "unknown format"
        found = ", ".join(map(repr, row)) or "no columns"
        reason = f"{problem}; found: {found}. Expected columns of a {suffix} file: {known}"
        raise BadAnnotationError(reason, path=path, row=number)
    return fitting[0]


def _check_columns(chosen: Format, row: Mapping[str, Any]) -> None:
    # The parser of eyechart's own format has more specific messages.
    if not chosen.has_our_ids:
        for names in chosen.columns:
            if not any(name in row for name in names):
                raise ValueError(f"missing {' or '.join(map(repr, names))}, which earlier rows have ({chosen.name})")
