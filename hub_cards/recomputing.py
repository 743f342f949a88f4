"""Whether a result is what its predictions give: replies are read and scored again, and compared with the release."""

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from string import ascii_uppercase
from typing import Any

from eyechart.datasets_scripts.common.errors import DataError, MissingFileError, UsageError
from eyechart.datasets_scripts.loading import prepared_dataset
from eyechart.evaluators.evaluation.averages import AVERAGE, mean_scores
from eyechart.evaluators.evaluation.data import load_data, undecoded_rows
from eyechart.evaluators.evaluation.rescoring import Rescored, rescored
from eyechart.evaluators.requests.types import Row
from eyechart.evaluators.requests.values import brief, is_number, without_nan
from eyechart.evaluators.results.finished_runs import Run, TaskKey
from eyechart.evaluators.results.predictions import PREDICTIONS_FILE
from eyechart.evaluators.results.results_file import TaskResult, with_nan
from eyechart.evaluators.tasks import get_task
from eyechart.metrics.scores import FIT_PARAMETERS
from eyechart.metrics.scoring.judging.lexical import LEXICAL

TOLERANCE = 1e-6
"""For scores, absolute and relative: how far sums and fits differ between processors, less than any column shows."""
NO_PREDICTIONS = f"no {PREDICTIONS_FILE}: scores not recomputed"
JUDGED = "the judge's scores are taken as stored"
LOCAL_OPTIONS = ("mm21_scores", "mm21_dir")
"""Settings of data sets that name files of one machine; the result's `mm21_quality` says which scores MM21 has."""
_COLUMNS = ("correct", "circular_correct", "outcome", "consistent", "quality_score", "rank_score")
"""What single items give, by which `eyechart compare` and the leaderboard compare models."""
_SHOWN = 5
"""Discrepancies of a result that are listed; of others only the number is given."""


@dataclass(frozen=True)
class Check:
    """What recomputing a result's scores gave."""

    discrepancies: tuple[str, ...] = ()
    """Where the result is not what its predictions give, or these are not of the release; empty where all is equal."""
    unchecked: str = ""
    """What could not be recomputed, and why; "" where every score was."""
    release: bool = False
    """Whether the predictions were compared with the release."""


class Recomputing:
    """Computes the scores of one run again.

    Args:
        run: The run.
        data_dirs: Folders of releases by data set, under "" that of all others; what has none is read where it was
            downloaded before. None compares with no release.
    """

    def __init__(self, run: Run, data_dirs: Mapping[str, str] | None = None) -> None:
        """Nothing is read."""
        self.run = run
        self.data_dirs = data_dirs
        self.checks: dict[TaskKey, Check] = {}

    def check(self, key: TaskKey) -> Check:
        """Compute the scores of a result again, once."""
        if key not in self.checks:
            self.checks[key] = self._average(key) if key.dataset == AVERAGE else self._single(key)
        return self.checks[key]

    def _single(self, key: TaskKey) -> Check:
        result, answers = self.run.tasks[key], self.run.answers(key)
        if answers is None:
            return Check(unchecked=NO_PREDICTIONS)
        predictions = answers.rows(range(len(answers)))
        try:
            with warnings.catch_warnings():
                # The result holds what the run was warned of.
                warnings.simplefilter("ignore")
                expected = rescored(get_task(result.task), result, predictions)
            found = _first(_differences(result.scores, without_nan(expected.scores), "scores"))
            # Where scores differ, so do the items that they are made of.
            found = found or _first(_column_differences(expected))
        except DataError as error:
            found = (f"its predictions cannot be scored: {error.reason}",)
        rows = None if self.data_dirs is None else release_rows(result, self.data_dirs)
        if rows is not None:
            found += _first(_release_differences(result, predictions, rows))
        judge = judge_of(result)
        unchecked = JUDGED if judge not in ("", LEXICAL) else ""
        return Check(found, unchecked, rows is not None)

    def _average(self, key: TaskKey) -> Check:
        """An average is computed of the results on its databases, which are checked too."""
        average = self.run.tasks[key]
        keys = {one.dataset: one for one in self.run.tasks if one == key._replace(dataset=one.dataset)}
        databases = get_task(key.task).data.run_on
        missing = [name for name in databases if name not in keys or self.run.tasks[keys[name]].scores is None]
        if missing:
            return Check((f"it averages databases of which the run holds no scores: {', '.join(missing)}",))
        checks = [self.check(keys[name]) for name in databases]
        wrong = [name for name, check in zip(databases, checks, strict=True) if check.discrepancies]
        if wrong:
            return Check((f"the results that it averages are not what their predictions give: {', '.join(wrong)}",))
        try:
            expected = mean_scores({name: with_nan(self.run.tasks[keys[name]].scores) for name in databases})
        except KeyError as error:
            return Check((f"the results that it averages lack {error}",))
        found = _first(_differences(average.scores, without_nan(expected), "scores"))
        unchecked = next((check.unchecked for check in checks if check.unchecked), "")
        return Check(found, unchecked, all(check.release for check in checks))


def _column_differences(expected: Rescored) -> Iterator[str]:
    """Columns of single items that are not what their replies give, of which paired tests are made."""
    # Earlier versions wrote fewer columns.
    written = [name for name in _COLUMNS if any(row[name] is not None for row, _ in expected.items)]
    for row, item in expected.items:
        for name in written:
            if name in item and not _are_equal(row[name], without_nan(item[name])):
                where = f"item {brief(row['id'])} ({brief(row['pass'])})"
                yield f"{where}: {name} is {brief(row[name])}; its reply gives {brief(item[name])}"


def judge_of(result: TaskResult) -> str:
    """The name of the judge that a result names; "" if there was none."""
    settings = result.settings.get("judge")
    for found in (settings.get("name") if isinstance(settings, dict) else None, (result.scores or {}).get("judge")):
        if isinstance(found, str):
            return found
    return ""


def _first(differences: Iterator[str]) -> tuple[str, ...]:
    """The first discrepancies, and how many more there are."""
    found = list(differences)
    more = len(found) - _SHOWN
    return (*found[:_SHOWN], *([f"{more:,} more of this kind"] if more > 0 else []))


def _differences(stored: Any, expected: Any, place: str) -> Iterator[str]:
    """Every score that is not the one expected."""
    if isinstance(stored, Mapping) and isinstance(expected, Mapping):
        for key in dict.fromkeys([*expected, *stored]):
            # Parameters that are far apart can be of one curve, whose PLCC and RMSE are compared.
            if key == FIT_PARAMETERS:
                continue
            yield from _differences(stored.get(key), expected.get(key), f"{place}.{brief(key)[1:-1]}")
    elif isinstance(stored, list) and isinstance(expected, list) and len(stored) == len(expected):
        for number, (one, other) in enumerate(zip(stored, expected, strict=True)):
            yield from _differences(one, other, f"{place}[{number}]")
    elif not _are_equal(stored, expected):
        yield f"{place} is {brief(stored)}; its predictions give {brief(expected)}"


def _are_equal(stored: Any, expected: Any) -> bool:
    if is_number(stored) and is_number(expected):
        return abs(stored - expected) <= TOLERANCE * max(1.0, abs(expected))
    return bool(stored == expected)


def release_rows(result: TaskResult, data_dirs: Mapping[str, str]) -> list[Row] | None:
    """The rows of the release that a result is of, without images; None where it is not at hand.

    Raises:
        UsageError: A folder that was given does not hold the release.
    """
    data = result.settings["data"]
    options = {name: value for name, value in (data.get("options") or {}).items() if name not in LOCAL_OPTIONS}
    folder = data_dirs.get(result.dataset, data_dirs.get(""))
    if folder is None:
        try:
            held = prepared_dataset(result.dataset, data.get("config"), split=result.split, options=options)
        except MissingFileError:
            return None
        return undecoded_rows(held)
    try:
        loaded = load_data(
            get_task(result.task),
            dataset=result.dataset,
            split=result.split,
            data_dir=folder,
            options=options,
            images="skip",
            skip_bad=True,
        )
    except DataError as error:
        raise UsageError(f"--data-dir {result.dataset}={folder} does not hold the release: {error}") from error
    return undecoded_rows(loaded.dataset)


def _release_differences(
    result: TaskResult, predictions: Sequence[Mapping[str, Any]], rows: Sequence[Row]
) -> Iterator[str]:
    """Where predictions are not of the release's items: their ids, options, right answers and opinion scores."""
    by_id = {row["id"]: row for row in rows}
    missing = by_id.keys() - {one["id"] for one in predictions} - {item.id for item in result.left_out}
    for name in islice(sorted(missing), _SHOWN):
        yield f"item {brief(name)} of the release has no prediction"
    for answer in predictions:
        row = by_id.get(answer["id"])
        reason = "is not in the release" if row is None else _mismatch(answer, row)
        if reason:
            yield f"item {brief(answer['id'])} ({brief(answer['pass'])}) {reason}"


def _mismatch(answer: Mapping[str, Any], row: Row) -> str:
    """What of an answer's question is not the release's; "" where nothing is."""
    if "options" in row:
        # Passes shuffle the options, and the second question of QL-Bench leaves out the refusal.
        if Counter(answer["options"] or ()) - Counter(row["options"]):
            return "shows options that the release does not have"
        if answer["answer"] and _option(answer["options"], answer["answer"]) != _option(row["options"], row["answer"]):
            return "has another right answer than the release"
    if "description" in row and answer["reference"] not in (None, row["description"]):
        return "has another reference than the release"
    if "quality" in row and answer["quality"] != row["quality"]:
        return "has another opinion score than the release"
    if "first_id" in row and _pair(answer) != _pair(row):
        return "has other images or opinion scores than the release"
    return ""


def _pair(row: Mapping[str, Any]) -> set[tuple[str, float]]:
    """The images of a pair with their opinion scores, in whatever order they were shown."""
    return {(row[f"{place}_id"], row[f"{place}_quality"]) for place in ("first", "second")}


def _option(options: Sequence[str] | None, letter: str) -> str | None:
    place = ascii_uppercase.find(letter)
    return options[place] if options and len(letter) == 1 and 0 <= place < len(options) else None
