"""The files of `eyechart text-to-score`: descriptions with scores, a run's texts, and the predicted scores."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pydantic_core

from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingFileError, UsageError
from eyechart.datasets_scripts.common.files.readers import (
    ROW_ERROR,
    Row,
    number_field,
    read_csv_rows,
    read_jsonl_rows,
    text_field,
)
from eyechart.datasets_scripts.common.whole import unwritable, write_whole
from eyechart.evaluators.published.names import match_tasks
from eyechart.evaluators.results.predictions import PREDICTIONS_FILE, REPEAT, is_first
from eyechart.evaluators.text_to_score.training import package_versions

if TYPE_CHECKING:
    from eyechart.evaluators.text_to_score.validation import CrossValidation

DESCRIPTION_TASKS = ("aes_bench/interpretation", "q_bench/description")
"""Tasks whose answers describe an image's quality."""
LEVEL_TOLD = "aes_bench/interpretation"
"""The task whose question states the true level."""


@dataclass(frozen=True)
class Pairs:
    """Descriptions with their scores; an image may have several descriptions."""

    ids: list[str]
    descriptions: list[str]
    scores: list[float]


@dataclass(frozen=True)
class Texts:
    """One description for each image."""

    ids: list[str]
    texts: list[str]
    empty: list[str]
    """Ids of images whose description is empty; they are not in the lists above."""
    task: str | None
    """The task that the texts answer; None for a file without task names."""


def read_pairs(path: str | Path) -> Pairs:
    """Read (id, description, score) from CSV or JSON Lines; other columns are ignored.

    Args:
        path: A .csv or .jsonl file.

    Raises:
        MissingFileError: The file does not exist.
        BadAnnotationError: It is malformed; the message names the row.
        UsageError: The file has another suffix.
    """
    file = str(path)
    pairs = Pairs([], [], [])
    for number, row in _read_rows(file, ("id", "description", "score")):
        pairs.ids.append(text_field(row, "id", path=file, number=number))
        pairs.descriptions.append(text_field(row, "description", path=file, number=number))
        pairs.scores.append(number_field(row, "score", path=file, number=number))
    return pairs


def read_texts(path: str | Path, task: str | None = None) -> Texts:
    """Read descriptions from a run, or (id, description) from CSV or JSON Lines.

    Args:
        path: A run's folder or its predictions.parquet; or a .csv or .jsonl file.
        task: Which of a run's `DESCRIPTION_TASKS` to take; None if the run has only one.

    Raises:
        MissingFileError: The file does not exist.
        BadAnnotationError: It is malformed, or an id appears twice.
        UsageError: The file has another suffix, the task is not in the run, or the run has several and none is named.
    """
    path = Path(path)
    if path.is_dir() or path.suffix == ".parquet":
        file = str(path / PREDICTIONS_FILE if path.is_dir() else path)
        task, rows = _answers(file, task)
    else:
        if task is not None:
            raise UsageError(f"task={task!r} applies only to predictions of a run; leave it out for '{path}'.")
        file = str(path)
        rows = [
            (
                number,
                text_field(row, "id", path=file, number=number),
                text_field(row, "description", path=file, number=number, empty=True),
            )
            for number, row in _read_rows(file, ("id", "description"))
        ]
    texts: dict[str, str] = {}
    for number, identifier, text in rows:
        if identifier in texts:
            raise BadAnnotationError(f"duplicate id '{identifier}'; expected one text per id", path=file, row=number)
        texts[identifier] = text
    kept = {identifier: text for identifier, text in texts.items() if text.strip()}
    return Texts(list(kept), list(kept.values()), [name for name in texts if name not in kept], task)


def write_scores(path: str | Path, ids: Sequence[str], scores: Sequence[float]) -> None:
    """Write a CSV file with the columns id and score, which `eyechart score q_bench/assessment` reads.

    Raises:
        UsageError: The file cannot be written.
    """
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["id", "score"])
    writer.writerows([name, float(score)] for name, score in zip(ids, scores, strict=True))
    _write(path, file.getvalue())


def write_validation(path: str | Path, pairs: Pairs, found: "CrossValidation") -> None:
    """Write scores, settings, versions and every prediction as JSON, undefined scores as null.

    Args:
        path: The file.
        pairs: The descriptions and scores of the validation.
        found: The results of the validation.

    Raises:
        UsageError: The file cannot be written.
    """
    columns = zip(pairs.ids, found.folds.tolist(), pairs.scores, found.predictions.tolist(), strict=True)
    contents = {
        "scores": found.scores,
        "settings": found.settings,
        "versions": package_versions(),
        "predictions": [dict(zip(("id", "fold", "score", "predicted"), row, strict=True)) for row in columns],
    }
    _write(path, pydantic_core.to_json(contents, indent=2, inf_nan_mode="null").decode() + "\n")


def make_parent(path: Path) -> None:
    """Create the folder of a file before the long work whose result it will contain.

    Raises:
        UsageError: It cannot be created, or the path is a folder itself.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(f"the folder {path.parent}", error) from error
    if path.is_dir():
        raise UsageError(f"'{path}' is a folder; name a file in it.")


def _write(path: str | Path, text: str) -> None:
    try:
        write_whole(Path(path), text)
    except OSError as error:
        raise unwritable(f"the file {path}", error) from error


def _read_rows(path: str, columns: Sequence[str]) -> list[Row]:
    suffix = Path(path).suffix.lower()
    if suffix not in (".csv", ".jsonl"):
        raise UsageError(f"'{path}' is not supported; expected a CSV (.csv) or JSON Lines (.jsonl) file.")
    rows = read_csv_rows(path, columns) if suffix == ".csv" else read_jsonl_rows(path)
    for number, row in rows:
        if ROW_ERROR in row:
            raise BadAnnotationError(row[ROW_ERROR], path=path, row=number)
    return rows


def _answers(path: str, task: str | None) -> tuple[str, list[tuple[int, str, str]]]:
    """The task, and (row number, id, text) of each of its answers; a missing text counts as empty."""
    import pyarrow
    from pyarrow import parquet

    if not Path(path).is_file():
        raise MissingFileError("missing predictions; `eyechart run` writes them", path=path)
    columns = ["task", "id", "text"]
    try:
        there = parquet.read_schema(path).names
        missing = [name for name in columns if name not in there]
        columns += [REPEAT] if REPEAT in there else []
        rows = [] if missing else parquet.read_table(path, columns=columns, use_threads=False).to_pylist()
    except (pyarrow.ArrowException, OSError) as error:
        raise BadAnnotationError(f"not a Parquet file: {error}", path=path) from error
    if missing:
        raise BadAnnotationError(f"not the predictions of a run: missing columns {', '.join(missing)}", path=path)
    task = _one_task(path, task, {row["task"] for row in rows})
    numbered = [(n, row) for n, row in enumerate(rows, 1) if row["task"] == task and is_first(row.get(REPEAT))]
    return task, [(n, row["id"], row["text"] or "") for n, row in numbered]


def _one_task(path: str, task: str | None, tasks: set[str]) -> str:
    there = [name for name in DESCRIPTION_TASKS if name in tasks]
    chosen = there if task is None else match_tasks([task], there, f"with descriptions in '{path}'")
    if len(chosen) != 1:
        found = f"answers to {' and '.join(there)}" if there else f"no answers to {' or '.join(DESCRIPTION_TASKS)}"
        raise UsageError(
            f"'{path}' contains {found}; {'choose one with --task' if there else 'run one of these first'}."
        )
    return chosen[0]
