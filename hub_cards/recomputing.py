"""Verifies results: scores are recomputed from the predictions, and predictions are compared with the release."""

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import islice
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from eyechart.datasets_scripts.common.errors import DataError, MissingFileError, UsageError
from eyechart.datasets_scripts.loading import prepared_dataset
from eyechart.evaluators.evaluation.averages import AVERAGE, mean_scores
from eyechart.evaluators.evaluation.data import DataRequest, load_data, undecoded_rows
from eyechart.evaluators.evaluation.scoring import item_type, score_again
from eyechart.evaluators.requests.types import Row
from eyechart.evaluators.requests.values import brief, is_number
from eyechart.evaluators.results.finished_runs import Run, TaskKey
from eyechart.evaluators.results.items import PREDICTIONS_FILE, Item
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.evaluators.tasks import get_task
from eyechart.evaluators.tasks.task import Task
from eyechart.metrics.scores import FIT_PARAMETERS
from eyechart.metrics.scoring.judging.lexical import LEXICAL

TOLERANCE = 1e-6
"""Absolute and relative tolerance for scores: more than processors differ, less than any column shows."""
NO_PREDICTIONS = f"no {PREDICTIONS_FILE}: scores not recomputed"
JUDGED = "the judge's scores are used as stored"
LOCAL_OPTIONS = ("mm21_scores", "mm21_dir", "image_dir")
"""Dataset options that name files on one machine; the result's `mm21_quality` says which scores MM21 has."""
_SHOWN = 5
"""Discrepancies of a result that are listed; further ones are only counted."""


@dataclass(frozen=True)
class Check:
    """The outcome of recomputing a result's scores."""

    discrepancies: tuple[str, ...] = ()
    """How the result differs from its predictions, or the predictions from the release; empty if they agree."""
    unchecked: str = ""
    """What could not be recomputed, and why; "" if every score was recomputed."""
    release: bool = False
    """Whether the predictions were compared with the release."""


class Recomputing:
    """Recomputes the scores of one run.

    Args:
        run: The run.
        data_dirs: Folders of releases by dataset; "" for all other datasets. Without a folder, the downloaded release
            is used, if there is one. None: predictions are not compared with any release.
        tasks: The tasks of task files by name.
    """

    def __init__(
        self, run: Run, data_dirs: Mapping[str, str] | None = None, tasks: Mapping[str, Task] | None = None
    ) -> None:
        """Nothing is read."""
        self.run = run
        self.data_dirs = data_dirs
        self.tasks = tasks or {}
        self.checks: dict[TaskKey, Check] = {}

    def check(self, key: TaskKey) -> Check:
        """Recompute the scores of a result; the outcome is cached."""
        if key not in self.checks:
            self.checks[key] = self._average(key) if key.dataset == AVERAGE else self._single(key)
        return self.checks[key]

    def _single(self, key: TaskKey) -> Check:
        result, answers = self.run.tasks[key], self.run.answers(key)
        if answers is None:
            return Check(unchecked=NO_PREDICTIONS)
        task = self.tasks.get(result.task) or get_task(result.task)
        items: list[Item] = []
        try:
            items = answers.items(item_type(task, result))
            with warnings.catch_warnings():
                # The result already contains the warnings of the run.
                warnings.simplefilter("ignore")
                expected = score_again(task, result, items)
            found = _first(_differences(result.scores, expected.scores, "scores"))
            # If scores differ, their items differ too.
            found = found or _first(_item_differences(items, expected.items))
        except DataError as error:
            found = (error.reason,)
        rows = None if self.data_dirs is None else release_rows(task, result, self.data_dirs)
        if rows is not None:
            found += _first(_release_differences(result, items, rows))
        judge = judge_of(result)
        unchecked = JUDGED if judge not in ("", LEXICAL) else ""
        return Check(found, unchecked, rows is not None)

    def _average(self, key: TaskKey) -> Check:
        """Recompute an average from the results on its databases, which are checked too."""
        average = self.run.tasks[key]
        keys = {one.dataset: one for one in self.run.tasks if one == key._replace(dataset=one.dataset)}
        databases = get_task(key.task).data.run_on
        missing = [name for name in databases if name not in keys or self.run.tasks[keys[name]].scores is None]
        if missing:
            return Check((f"the average needs databases without scores in this run: {', '.join(missing)}",))
        checks = [self.check(keys[name]) for name in databases]
        wrong = [name for name, check in zip(databases, checks, strict=True) if check.discrepancies]
        if wrong:
            return Check((f"the averaged results differ from their predictions: {', '.join(wrong)}",))
        try:
            expected = mean_scores({name: self.run.tasks[keys[name]].scores or {} for name in databases})
        except KeyError as error:
            return Check((f"the averaged results lack {error}",))
        found = _first(_differences(average.scores, expected, "scores"))
        unchecked = next((check.unchecked for check in checks if check.unchecked), "")
        return Check(found, unchecked, all(check.release for check in checks))


def _item_differences(items: Sequence[Item], expected: Sequence[Item]) -> Iterator[str]:
    """What differs in items from what their replies give; paired tests use it."""
    for item, again in zip(items, expected, strict=True):
        for name in (field.name for field in fields(item) if item != again):
            given, found = getattr(item, name), getattr(again, name)
            if not _are_equal(given, found):
                where = f"item {brief(item.id)} ({brief(item.pass_name)})"
                yield f"{where}: {name} is {brief(given)}; its reply gives {brief(found)}"


def judge_of(result: TaskResult) -> str:
    """The name of a result's judge; "" if there was none."""
    settings = result.settings.get("judge")
    for found in (settings.get("name") if isinstance(settings, dict) else None, (result.scores or {}).get("judge")):
        if isinstance(found, str):
            return found
    return ""


def _first(differences: Iterator[str]) -> tuple[str, ...]:
    """The first discrepancies, and the number of further ones."""
    found = list(differences)
    more = len(found) - _SHOWN
    return (*found[:_SHOWN], *([f"{more:,} more of this kind"] if more > 0 else []))


def _differences(stored: Any, expected: Any, place: str) -> Iterator[str]:
    """Every score that differs from the expected one."""
    if isinstance(stored, Mapping) and isinstance(expected, Mapping):
        for key in dict.fromkeys([*expected, *stored]):
            # Different parameters can describe the same curve; its PLCC and RMSE are compared instead.
            if key == FIT_PARAMETERS:
                continue
            yield from _differences(stored.get(key), expected.get(key), f"{place}.{brief(key)[1:-1]}")
    elif isinstance(stored, list) and isinstance(expected, list) and len(stored) == len(expected):
        for number, (one, other) in enumerate(zip(stored, expected, strict=True)):
            yield from _differences(one, other, f"{place}[{number}]")
    elif not _are_equal(stored, expected):
        yield f"{place} is {brief(stored)}; its predictions give {brief(expected)}"


def _are_equal(stored: Any, expected: Any) -> bool:
    if stored != stored and expected != expected:
        return True
    if is_number(stored) and is_number(expected):
        return abs(stored - expected) <= TOLERANCE * max(1.0, abs(expected))
    return bool(stored == expected)


def release_rows(task: Task, result: TaskResult, data_dirs: Mapping[str, str]) -> list[Row] | None:
    """The rows of a result's release or of a task file's data, without images; None if they are not available.

    Raises:
        UsageError: A folder of `data_dirs` does not contain the release.
    """
    data = result.settings["data"]
    options = {name: value for name, value in (data.get("options") or {}).items() if name not in LOCAL_OPTIONS}
    folder = data_dirs.get(result.dataset, data_dirs.get(""))
    if folder is None and task.data.path is not None:
        if not Path(task.data.path).exists():
            return None
        folder = task.data.path
    if folder is None:
        try:
            held = prepared_dataset(result.dataset, data.get("config"), split=result.split, options=options)
        except MissingFileError:
            return None
        return undecoded_rows(held)
    request = DataRequest(
        dataset=result.dataset,
        split=result.split,
        data_dir=folder,
        options=options,
        images="skip",
        skip_bad=True,
    )
    try:
        loaded = load_data(task, request)
    except DataError as error:
        raise UsageError(f"--data-dir {result.dataset}={folder} does not contain the release: {error}") from error
    return undecoded_rows(loaded.dataset)


def _release_differences(result: TaskResult, items: Sequence[Any], rows: Sequence[Row]) -> Iterator[str]:
    """Where predictions differ from the release: ids, options, correct answers and opinion scores."""
    by_id = {row["id"]: row for row in rows}
    missing = by_id.keys() - {item.id for item in items} - {item.id for item in result.left_out}
    for name in islice(sorted(missing), _SHOWN):
        yield f"item {brief(name)} of the release has no prediction"
    for item in items:
        row = by_id.get(item.id)
        reason = "is not in the release" if row is None else _mismatch(item, row)
        if reason:
            yield f"item {brief(item.id)} ({brief(item.pass_name)}) {reason}"


def _mismatch(item: Any, row: Row) -> str:
    """How the question of an item differs from the release; "" if it does not."""
    if "options" in row:
        # Passes shuffle the options, and QL-Bench's second question omits the refusal.
        if Counter(item.options) - Counter(row["options"]):
            return "has options that are not in the release"
        if item.answer and _texts(item.options, item.answer) != _texts(row["options"], row["answer"]):
            return "has a correct answer that differs from the release"
    if "description" in row and item.label not in (None, row["description"]):
        return "has a golden description that differs from the release"
    if "quality" in row and item.quality != row["quality"]:
        return "has an opinion score that differs from the release"
    if "first_id" in row and _pair(vars(item)) != _pair(row):
        return "has images or opinion scores that differ from the release"
    return ""


def _pair(row: Mapping[str, Any]) -> set[tuple[str, float]]:
    """The images of a pair with their opinion scores, in any order."""
    return {(row[f"{place}_id"], row[f"{place}_quality"]) for place in ("first", "second")}


def _texts(options: Sequence[str], letters: str) -> set[str]:
    """The texts of the options with these letters."""
    return {option for letter, option in zip(ascii_uppercase, options, strict=False) if letter in letters}
