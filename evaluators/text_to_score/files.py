"""The files of `eyechart text-to-score`: descriptions with scores, a run's texts, and the predicted scores."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pydantic_core

from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingFileError, UsageError
from eyechart.datasets_scripts.common.files.csv_text import csv_text
from eyechart.datasets_scripts.common.files.readers import (
    ROW_ERROR,
    Row,
    iterate_jsonl_rows,
    iterate_table,
    number_field,
    text_field,
)
from eyechart.datasets_scripts.common.whole import write_whole
from eyechart.evaluators.protocols import Description
from eyechart.evaluators.results.items import PREDICTIONS_FILE, read_predictions
from eyechart.evaluators.tasks import known_task, match_tasks
from eyechart.evaluators.text_to_score.regressor import CrossValidation, package_versions


def read_pairs(path: Path) -> pd.DataFrame:
    """Read id (of the image, which may repeat), description and score from CSV or JSON Lines, without other columns."""
    file, columns = str(path), ["id", "description", "score"]
    pairs = []
    for number, row in _read_rows(file, columns):
        texts = [text_field(row, name, path=file, number=number) for name in ("id", "description")]
        pairs.append([*texts, number_field(row, "score", path=file, number=number)])
    return pd.DataFrame(pairs, columns=columns)


def read_texts(path: Path, task: str | None = None) -> tuple[dict[str, str], str | None]:
    """Read descriptions by id, "" where empty, from a run's folder or predictions.parquet, or from CSV or JSON Lines.

    Also returns the task of a run, which must be named if the run has several with descriptions; None for other files.
    """
    file = str(path / PREDICTIONS_FILE if path.is_dir() else path)
    if file.endswith(".parquet"):
        task, rows = _read_answers(file, task)
    elif task is not None:
        raise UsageError(f"task={task!r} applies only to predictions of a run; leave it out for '{path}'.")
    else:
        rows = _read_rows(file, ("id", "description"))
    texts: dict[str, str] = {}
    for number, row in rows:
        identifier = text_field(row, "id", path=file, number=number)
        if identifier in texts:
            raise BadAnnotationError(f"duplicate id '{identifier}'; expected one text per id", path=file, row=number)
        texts[identifier] = text_field(row, "description", path=file, number=number, empty=True)
    return texts, task


def write_scores(path: Path, ids: Sequence[str], scores: Sequence[float]) -> None:
    """Write a CSV file with the columns id and score, which `eyechart score q_bench/assessment` reads."""
    write_whole(path, csv_text(("id", "score"), zip(ids, scores, strict=True)))


def write_validation(path: Path, pairs: pd.DataFrame, validation: CrossValidation) -> None:
    """Write scores, settings, versions and every prediction as JSON, undefined scores as null."""
    rows = pairs.assign(fold=validation.folds, predicted=validation.predictions)
    contents = {
        "scores": validation.scores,
        "settings": validation.settings,
        "versions": package_versions(),
        "predictions": rows[["id", "fold", "score", "predicted"]].to_dict("records"),
    }
    write_whole(path, pydantic_core.to_json(contents, indent=2, inf_nan_mode="null").decode() + "\n")


def make_parent(path: Path) -> None:
    """Create the folder of a file before the long work whose result it will contain."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        raise UsageError(f"'{path}' is a folder; name a file in it.")


def _read_rows(path: str, columns: Sequence[str]) -> list[Row]:
    suffix = Path(path).suffix.lower()
    if suffix not in (".csv", ".jsonl"):
        raise UsageError(f"'{path}' is not supported; expected a CSV (.csv) or JSON Lines (.jsonl) file.")
    rows = list(iterate_table(path, columns) if suffix == ".csv" else iterate_jsonl_rows(path))
    for number, row in rows:
        if ROW_ERROR in row:
            raise BadAnnotationError(row[ROW_ERROR], path=path, row=number)
    return rows


def _read_answers(path: str, task: str | None) -> tuple[str, list[Row]]:
    """The named task, or the only one with descriptions, and its first answers as rows with id and description."""
    table = read_predictions(Path(path))
    if table is None:
        raise MissingFileError("missing predictions; `eyechart run` writes them", path=path)
    rows = table.to_pylist()
    known = {name: known_task(name) for name in dict.fromkeys(row["task"] for row in rows)}
    # A user's own task may ask for descriptions.
    names = [name for name, builtin in known.items() if builtin is None or isinstance(builtin.protocol, Description)]
    if not names:
        raise UsageError(f"'{path}' contains no answers to a description task; run one first.")
    chosen = names if task is None else match_tasks([task], names, f"with descriptions in '{path}'")
    if len(chosen) > 1:
        raise UsageError(f"'{path}' contains answers to {' and '.join(chosen)}; choose one with --task.")
    return chosen[0], [
        (number, {"id": row["id"], "description": row.get("text") or ""})
        for number, row in enumerate(rows, 1)
        if row["task"] == chosen[0] and row["repeat"] == 1
    ]
