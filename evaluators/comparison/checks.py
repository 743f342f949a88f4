"""Checks of a finished run for continuous integration: its scores against thresholds, and against another run.

A check fails only if the data show it at the 95 % level: the whole interval of a score is on the wrong side of its
threshold, or the paired test of `eyechart compare` finds that the other run scored higher. What cannot be checked, such
as incomplete scores or runs with different settings, is an error, and does not pass either.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from eyechart.datasets_scripts.common.errors import UsageError, unknown_name
from eyechart.evaluators.comparison.compare import Comparison, chosen_keys, compare_many
from eyechart.evaluators.comparison.differences import p_words, signed
from eyechart.evaluators.comparison.settings import also_differ
from eyechart.evaluators.evaluation.options import LIMIT, Requirements
from eyechart.evaluators.results.finished_runs import Run, TaskKey, all_notes, read_runs
from eyechart.evaluators.results.results_file import AVERAGE, TaskResult
from eyechart.evaluators.tasks import match_tasks
from eyechart.metrics.score_spec import ScoreSpec, Unit
from eyechart.metrics.scores import spec, specs_in

Outcome = Literal["passed", "failed", "error", "skipped"]


@dataclass(frozen=True)
class Check:
    """One requirement of one result."""

    task: str
    title: str
    """The task and its data."""
    requirement: str
    """What is required, such as "accuracy at least 60.00 %"."""
    outcome: Outcome
    """"error" if it cannot be checked, "skipped" if there is nothing to compare with."""
    finding: str
    """The score and how certain it is, or why it cannot be checked."""

    @property
    def text(self) -> str:
        """All of it on one line."""
        return f"{self.outcome}: {self.title}: {self.requirement}: {self.finding}"


@dataclass(frozen=True)
class _Limit:
    """A threshold, in its parts."""

    option: Literal["--min", "--max"]
    name: str
    """Task, dataset and score, as the user wrote them."""
    task: str
    dataset: str
    score: str
    """Key of the score; "" for the headline."""
    value: float
    """Of percentages, the fraction."""


def check_run(folder: Path, required: Requirements) -> list[Check]:
    """Check a finished run: its thresholds in the order given, then its headlines against another run.

    Raises `UsageError` for a requirement that fits no result, and `DataError` for runs that cannot be read.
    """
    limits = [*_limits("--min", required.minimum or ()), *_limits("--max", required.maximum or ())]
    other = required.not_worse_than
    if not limits and other is None:
        raise UsageError(f"there is nothing to check; set --min {LIMIT} or --not-worse-than RUN")
    if other is None and (required.task or required.allow):
        unused = "--task" if required.task else "--allow"
        raise UsageError(f"{unused} has no effect without --not-worse-than, the run to compare with")
    runs = read_runs([folder] if other is None else [folder, other])
    checks = [check for limit in limits for check in _of_limit(limit, runs[0])]
    return checks if other is None else [*checks, *_of_comparison(runs, required)]


def _limits(option: Literal["--min", "--max"], texts: Sequence[str]) -> Iterator[_Limit]:
    names = set()
    for text in texts:
        name, _, number = text.rpartition("=")
        place, _, score = name.partition(":")
        task, _, dataset = place.partition("@")
        if not task or name in names:
            problem = "gives a second value; give one" if task else f"is not {LIMIT}"
            raise UsageError(f"{option} {text!r} {problem}")
        names.add(name)
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise UsageError(f"{option} {name}={number!r:.40} is not allowed; expected a number, such as 0.6 for 60 %")
        yield _Limit(option, name, task, dataset, score, value)


def _of_limit(limit: _Limit, run: Run) -> Iterator[Check]:
    """The checks of a threshold: one for each result that it names; each database of an average is checked."""
    known = [*(key.task for key in run.tasks), *(failure.task for failure in run.results.failed)]
    names = match_tasks([limit.task], known, f"in {run.folder}")
    keys = [key for name in names for key in run.tasks if key.task == name and key.dataset != AVERAGE]
    failed = [failure for failure in run.results.failed if failure.task in names]
    datasets = dict.fromkeys([*(key.dataset for key in keys), *(failure.dataset for failure in failed)])
    if limit.dataset and limit.dataset not in datasets:
        raise unknown_name("dataset", limit.dataset, datasets, f"of {limit.task} in {run.folder}")
    for key in keys:
        if limit.dataset in ("", key.dataset):
            yield _of_result(limit, key, run.tasks[key])
    for failure in failed:
        if limit.dataset in ("", failure.dataset):
            required = f"{limit.option} {limit.name}={limit.value:g}"
            yield Check(failure.task, f"{failure.task} on {failure.dataset}", required, "error", failure.error)


def _of_result(limit: _Limit, key: TaskKey, result: TaskResult) -> Check:
    """The check of a threshold on one result; the interval decides."""
    scores = result.scores or {}
    score = _score_of(limit, key, result)
    if score is None:
        required = f"{limit.option} {limit.name}={limit.value:g}"
        return Check(key.task, key.title, required, "error", "no score, for example because the answers are private")
    # Like the differences of `eyechart plan`, thresholds of all percentages are fractions.
    scale = 100 if score.unit is Unit.PERCENT else 1
    least, most = score.limits(scores)
    if not least <= scale * limit.value <= most:
        allowed = f"a number from {least / scale:g} to {most / scale:g}"
        raise UsageError(f"{limit.option} {limit.name}={limit.value:g} is not allowed; {score.label} is {allowed}")
    is_min, value = limit.option == "--min", score.shown(score.value(scores))
    required = f"{score.label} at {'least' if is_min else 'most'} {score.shown(scale * limit.value)}"
    low, high = score.bounds(scores) or (math.nan, math.nan)
    problem = _incomplete(result)
    if problem or not math.isfinite(low + high):
        finding = problem or f"{value}, but without a 95 % interval it cannot be checked"
        return Check(key.task, key.title, required, "error", finding)
    is_beyond = high < scale * limit.value if is_min else low > scale * limit.value
    finding = f"{value} (95 % interval {score.number(low)} to {score.number(high)}), n = {score.n(scores):,}"
    finding += _left_out(result)
    return Check(key.task, key.title, required, "failed" if is_beyond else "passed", finding)


def _score_of(limit: _Limit, key: TaskKey, result: TaskResult) -> ScoreSpec | None:
    """The score of a threshold; None if the result has no headline. Raises `UsageError` for the wrong direction."""
    if not limit.score:
        score = result.headline_spec()
    else:
        known = {each.key: each for each in specs_in(result.scores or {}) if each.has_interval}
        if limit.score not in known:
            raise unknown_name("score", limit.score, known, f"with a 95 % interval in {key.title}")
        score = known[limit.score]
    if score is not None and score.higher_is_better is (limit.option == "--max"):
        better, other = ("higher", "--min") if score.higher_is_better else ("lower", "--max")
        raise UsageError(f"{limit.option} {limit.name}: a {better} {score.label} is better; use {other}")
    return score


def _incomplete(result: TaskResult) -> str:
    """Why the scores of a result do not cover all items that were asked; "" if they do."""
    texts = [each.text for each in all_notes(result) if each.is_incomplete]
    return f"{texts[0]} Repeat the run (stored answers are reused)." if texts else ""


def _of_comparison(runs: Sequence[Run], required: Requirements) -> Iterator[Check]:
    """The checks of a run's headlines against those of the other run, by the test that `eyechart compare` makes."""
    run, other = runs
    comparison = compare_many(runs, required.task or (), common=True, allowed=required.allow or ())
    for key in chosen_keys(runs, required.task or ()):
        if key.dataset == AVERAGE:
            continue
        result = run.tasks.get(key)
        headline = result.headline_spec() if result else None
        label = "score" if headline is None else headline.label
        outcome, finding = _verdict(key, runs, comparison.pairs[0])
        if result is not None and outcome != "skipped" and (problem := _incomplete(result)):
            outcome, finding = "error", problem
        yield Check(key.task, key.title, f"{label} not worse than in {other.folder}", outcome, finding)


def _verdict(key: TaskKey, runs: Sequence[Run], pair: Comparison) -> tuple[Outcome, str]:
    """Whether the headline of the first run is significantly worse, and the numbers or the reason for no test."""
    if key not in runs[0].tasks:
        return "error", f"missing in {runs[0].folder}"
    if key not in runs[1].tasks:
        return "skipped", f"missing in {runs[1].folder}"
    if refused := next((task for task in pair.refused if task.title == key.title), None):
        return "error", f"not comparable (A: {runs[0].folder}, B: {runs[1].folder}): {'; '.join(refused.reasons)}"
    headline = pair.headlines.get(key.title)
    test = next((test for test in pair.differences if (test.title, test.key) == (key.title, headline)), None)
    if test is None:
        return "error", "the headline cannot be computed from the scores of single items"
    if not test.has_test:
        return "error", test.note
    first, second = map(spec(test.key).shown, (test.first, test.second))
    by = f"{signed(test.key, test.difference)}, {p_words(test.p_value)}"
    # Of every headline, a higher value is better.
    outcome: Outcome = "failed" if test.ordered()[1:] == ["A"] else "passed"
    result, other = runs[0].tasks[key], runs[1].tasks[key]
    total = spec(test.key).n(other.scores or {})
    n = f"n = {test.n:,}" if total in (None, test.n) else f"n = {test.n:,} of the other run's {total:,}"
    settings = also_differ(result, other)
    others = f"; the runs also differ in {settings}, which can change scores" if settings else ""
    return outcome, f"{first} against {second} ({by}), {n}{_left_out(result)}{others}"


def _left_out(result: TaskResult) -> str:
    return f", {len(result.left_out):,} left out" if result.left_out else ""
