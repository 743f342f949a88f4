"""Whether cards and boards show a result: why it is refused, and whether its scores follow from its predictions."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from eyechart.datasets_scripts import mini
from eyechart.datasets_scripts.common.errors import DataError, MissingFileError, UsageError
from eyechart.datasets_scripts.loading import prepared_dataset
from eyechart.evaluators.evaluation.data import DataRequest, load_data, undecoded_rows
from eyechart.evaluators.evaluation.scoring import item_type, score_again
from eyechart.evaluators.requests.types import Row
from eyechart.evaluators.requests.values import brief, is_number
from eyechart.evaluators.results.finished_runs import Run, TaskKey, unconfirmed_names
from eyechart.evaluators.results.items import PREDICTIONS_FILE, Item
from eyechart.evaluators.results.notes import note
from eyechart.evaluators.results.results_file import AVERAGE, TaskResult
from eyechart.evaluators.tasks.task import Task
from eyechart.metrics.database_averages import mean_scores
from eyechart.metrics.score_spec import value_at
from eyechart.metrics.scores import FIT_PARAMETERS
from eyechart.metrics.scoring.judging.lexical import LEXICAL

TOLERANCE = 1e-6
"""Absolute and relative tolerance for scores: more than processors differ, less than any column shows."""
NO_PREDICTIONS = f"no {PREDICTIONS_FILE}: scores not recomputed"
JUDGED = "the judge's scores are used as stored"
LOCAL_OPTIONS = ("mm21_scores", "mm21_dir", "image_dir")
"""Dataset options that name files on one machine; the result's `mm21_quality` says which scores MM21 has."""


def plain(name: str) -> str:
    """A name without case, blanks and signs, so that two that look alike are equal."""
    return "".join(filter(str.isalnum, name.casefold()))


def judge_of(result: TaskResult) -> str:
    """The name of a result's judge; "" if there was none."""
    names = (value_at(result.settings, "judge.name"), (result.scores or {}).get("judge"))
    return next((name for name in names if isinstance(name, str)), "")


def refusals(result: TaskResult) -> Iterator[str]:
    """Why neither a model card nor a board takes a result, and what to do."""
    settings = result.settings
    if value_at(settings, "data.is_mini") is not False or mini.is_release(str(value_at(settings, "data.source"))):
        yield "the data are synthetic demo data, or the settings do not say; run it on the real data, without --mini"
    if (limit := settings.get("limit")) is not None:
        yield f"run used --limit {brief(limit)}; repeat the run without --limit"
    if settings.get("blind"):
        yield "the questions were asked without the images; repeat the run without --blind"
    if not result.scores:
        yield f"no score: {' '.join(result.caveats) or 'the answers of this split are private'}"
    elif not result.complete:
        yield f"incomplete: {' '.join(result.caveats) or 'the scores are based on fewer requests than planned'}"
    if names := unconfirmed_names(settings):
        served, model = [brief(name)[1:-1] for name in names], brief(str(value_at(settings, "model.name")))[1:-1]
        yield note("served", served=served, model=model).text


@dataclass(frozen=True)
class Check:
    """The outcome of recomputing a result's scores."""

    discrepancies: tuple[str, ...] = ()
    """How the result differs from its predictions, or the predictions from the release; empty if they agree."""
    unchecked: str = ""
    """What could not be recomputed, and why; "" if every score was recomputed."""
    release: bool = False
    """Whether the predictions were compared with the release."""


@dataclass(frozen=True)
class Recomputing:
    """Recomputes the scores of one run."""

    run: Run
    data_dirs: Mapping[str, str] | None = None
    """Folders of releases by dataset; "" for all other datasets. Without a folder, the downloaded release is used, if
    there is one. None: predictions are not compared with any release."""
    checks: dict[TaskKey, Check] = field(default_factory=dict)
    """The outcomes so far; averages need those of their databases."""

    def check(self, key: TaskKey, task: Task) -> Check:
        """Recompute the scores of a result of a task."""
        if key not in self.checks:
            self.checks[key] = self._average(key, task) if key.dataset == AVERAGE else self._single(key, task)
        return self.checks[key]

    def _single(self, key: TaskKey, task: Task) -> Check:
        result, answers = self.run.tasks[key], self.run.answers(key)
        if answers is None:
            return Check(unchecked=NO_PREDICTIONS)
        items: list[Item] = []
        try:
            items = answers.items(item_type(task, result))
            expected = score_again(task, result, items)
            changed = _differences("scores", result.scores, expected.scores)
            discrepancies = first_few([*changed, *_item_differences(items, expected.items)])
        except DataError as error:
            discrepancies = (error.reason,)
        rows = None if self.data_dirs is None else _release_rows(task, result, self.data_dirs)
        if rows is not None:
            discrepancies += first_few(_release_differences(result, items, rows))
        unchecked = JUDGED if judge_of(result) not in ("", LEXICAL) else ""
        return Check(discrepancies, unchecked, rows is not None)

    def _average(self, key: TaskKey, task: Task) -> Check:
        """Recompute an average from the results on its databases, which are checked too."""
        keys = [key._replace(dataset=name) for name in task.data.run_on]
        scores = {part.dataset: self.run.tasks[part].scores for part in keys if part in self.run.tasks}
        if missing := [part.dataset for part in keys if scores.get(part.dataset) is None]:
            return Check((f"the average needs databases without scores in this run: {', '.join(missing)}",))
        checks = [self.check(part, task) for part in keys]
        if wrong := [part.dataset for part, check in zip(keys, checks, strict=True) if check.discrepancies]:
            return Check((f"the averaged results differ from their predictions: {', '.join(wrong)}",))
        try:
            expected = mean_scores({name: of_part or {} for name, of_part in scores.items()})
        except KeyError as error:
            return Check((f"the averaged results lack {error}",))
        discrepancies = first_few(_differences("scores", self.run.tasks[key].scores, expected))
        unchecked = next((check.unchecked for check in checks if check.unchecked), "")
        return Check(discrepancies, unchecked, all(check.release for check in checks))


def first_few(texts: Iterable[str], most: int = 5) -> tuple[str, ...]:
    """The first texts, and the number of further ones, such as "3 more"."""
    listed = tuple(texts)
    return (*listed[:most], f"{len(listed) - most:,} more") if len(listed) > most else listed


def _item_differences(items: Sequence[Item], expected: Sequence[Item]) -> Iterator[str]:
    """Where items differ from what their replies give; paired tests use it."""
    for item, again in zip(items, expected, strict=True):
        if item != again:
            yield from _differences(f"item {brief(item.id)} ({brief(item.pass_name)})", vars(item), vars(again))


def _differences(name: str, stored: Any, expected: Any) -> Iterator[str]:
    """Every value that differs from the expected one."""
    if isinstance(stored, Mapping) and isinstance(expected, Mapping):
        for key in dict.fromkeys([*expected, *stored]):
            # Different parameters can describe the same curve; its PLCC and RMSE are compared instead.
            if key != FIT_PARAMETERS:
                yield from _differences(f"{name}.{brief(key)[1:-1]}", stored.get(key), expected.get(key))
    elif isinstance(stored, list) and isinstance(expected, list) and len(stored) == len(expected):
        for index, (value, again) in enumerate(zip(stored, expected, strict=True)):
            yield from _differences(f"{name}[{index}]", value, again)
    elif not _are_equal(stored, expected):
        yield f"{name} is {brief(stored)}; its predictions give {brief(expected)}"


def _are_equal(stored: Any, expected: Any) -> bool:
    if is_number(stored) and is_number(expected):
        return abs(stored - expected) <= TOLERANCE * max(1.0, abs(expected))
    return bool(stored == expected) or (stored != stored and expected != expected)


def _release_rows(task: Task, result: TaskResult, data_dirs: Mapping[str, str]) -> list[Row] | None:
    """The rows of a result's release or of a task file's data, without images; None if they are not available."""
    data, dataset, path = result.settings["data"], result.dataset, task.data.path
    options = {name: value for name, value in (data.get("options") or {}).items() if name not in LOCAL_OPTIONS}
    folder = data_dirs.get(dataset, data_dirs.get("", path))
    if folder is None:
        try:
            return undecoded_rows(prepared_dataset(dataset, data.get("config"), split=result.split, options=options))
        except MissingFileError:
            return None
    if folder == path and not Path(folder).exists():
        return None
    request = DataRequest(None, dataset, result.split, folder, options=options, images="skip", skip_bad=True)
    try:
        return undecoded_rows(load_data(task, request).dataset)
    except DataError as error:
        raise UsageError(f"--data-dir {dataset}={folder} does not contain the release: {error}") from error


def _release_differences(result: TaskResult, items: Sequence[Any], rows: Sequence[Row]) -> Iterator[str]:
    """Where predictions differ from the release: ids, options, correct answers and opinion scores."""
    by_id = {row["id"]: row for row in rows}
    missing = by_id.keys() - {item.id for item in items} - {item.id for item in result.left_out}
    yield from (f"item {brief(name)} of the release has no prediction" for name in sorted(missing))
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
    return {(row["first_id"], row["first_quality"]), (row["second_id"], row["second_quality"])}


def _texts(options: Sequence[str], letters: str) -> set[str]:
    """The texts of the options with these letters."""
    return {option for letter, option in zip(ascii_uppercase, options, strict=False) if letter in letters}
