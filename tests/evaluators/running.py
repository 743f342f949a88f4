"""Runs of tasks on the models and data of a test, and what they say."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from datasets import Dataset, Image, Sequence

from eyechart.evaluators import evaluator
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.backends.predictions.backend import PredictionsFileBackend
from eyechart.evaluators.evaluation.data import LoadedData
from eyechart.evaluators.evaluation.scoring import item_type, score_again
from eyechart.evaluators.requests.types import Backend
from eyechart.evaluators.results.finished_runs import read_runs
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.evaluators.tasks import get_task
from tests.evaluators.finished_runs import write

_OPTIONS = ("judge", "seed", "repeats", "as_published")


def loaded(dataset: Any) -> LoadedData:
    """Data of one's own."""
    return dataset if isinstance(dataset, LoadedData) else LoadedData(dataset, "own data", "given", "given")


def dataset(rows: Iterable[Mapping[str, Any]]) -> Dataset:
    """Rows with pictures in the column `image` or `images`."""
    data = Dataset.from_list(list(rows))
    for name, feature in (("image", Image()), ("images", Sequence(Image()))):
        data = data.cast_column(name, feature) if name in data.column_names else data
    return data


def dataset_of(columns: Mapping[str, Iterable[Any]]) -> Dataset:
    """The same from columns."""
    return dataset(dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))


def run(task: str, model: Any, data: Any, progress: Any = None, **given: Any) -> TaskResult:
    """Run a task; `given` are options of a run and settings of the task."""
    options = {name: given.pop(name) for name in _OPTIONS if name in given}
    backend = model if isinstance(model, Backend) else FunctionBackend(model)
    rows = loaded(data)
    rows = replace(rows, request=replace(rows.request, skip_bad=given.pop("skip_bad", rows.request.skip_bad)))
    return evaluator(task, settings=given, **options).run(backend, rows, progress)


def predictions(folder: Path, rows: Iterable[Mapping[str, Any]], **options: Any) -> PredictionsFileBackend:
    """A backend that answers from a file of these rows."""
    path = folder / "answers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return PredictionsFileBackend(path, **options)


def notes(result: TaskResult) -> dict[str, dict[str, Any]]:
    """The values of a result's notes by code."""
    return {note.code: note.values for note in result.notes}


def scores_again(folder: Path, *, parse: bool = True) -> dict[str, Any] | None:
    """The scores of a run's first result, computed from its files."""
    (finished,) = read_runs([folder])
    key, result = next(iter(finished.tasks.items()))
    task, answers = get_task(result.task), finished.answers(key)
    assert answers is not None
    return score_again(task, result, answers.items(item_type(task, result)), parse=parse).scores


def written_and_scored_again(folder: Path, result: TaskResult) -> dict[str, Any] | None:
    """The scores of a result, computed from the files that it is written to."""
    return scores_again(write(folder, [result]))
