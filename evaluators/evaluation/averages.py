"""The plain average over the databases of a task, as Q-Bench publishes it (Tables 4 and 11, column "Average")."""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eyechart.evaluators.evaluation.sampling import SAMPLE
from eyechart.evaluators.results.notes import note
from eyechart.evaluators.results.results_file import AVERAGE, TaskResult
from eyechart.evaluators.tasks import get_task, known_task
from eyechart.metrics.scores import INTERVALS, QUALITY, ScoreSpec, correlations_of
from eyechart.metrics.scoring.statistics.intervals import Interval, listed_intervals, mean_interval

AVERAGED_SCORES = tuple(spec.key for spec in correlations_of(QUALITY))
"""Scores that have the same scale on all databases; the RMSE is on the scale of each database's opinion scores."""


def with_averages(evaluations: Sequence[TaskResult]) -> list[TaskResult]:
    """The evaluations, with each average inserted after the last evaluation that it is computed from."""
    after = {id(same[-1]): _average(same) for same in _several(evaluations)}
    found = []
    for evaluation in evaluations:
        found += [evaluation, after[id(evaluation)]] if id(evaluation) in after else [evaluation]
    return found


def averages(evaluations: Sequence[TaskResult]) -> list[TaskResult]:
    """Average the scores of each task that was run on several of its databases.

    Args:
        evaluations: Finished evaluations, in any order. Those of the same task, split, model and settings are
            averaged together.

    Returns:
        One average for each task that was run on at least two of its databases and has scores on any, in the order of
        the first evaluations. `dataset` is "average". `scores` contains the plain means of `AVERAGED_SCORES`, `n` (the
        total number of images) and `by_database` (the scores that were averaged); the intervals combine those of the
        databases, which have different images. Variants that all databases have are averaged in the same way. If a
        database is missing or has no score, `scores` is None and a caveat names it: a mean over fewer databases is not
        comparable with published ones.
    """
    return [_average(same) for same in _several(evaluations)]


def _several(evaluations: Sequence[TaskResult]) -> list[list[TaskResult]]:
    """Groups of at least two evaluations with the same settings, on databases that the task averages over."""
    groups: dict[str, list[TaskResult]] = {}
    for evaluation in evaluations:
        task = known_task(evaluation.task)
        if task is not None and task.metric == QUALITY and evaluation.dataset in task.data.run_on:
            settings = _settings(evaluation)
            key = json.dumps([evaluation.task, evaluation.split, evaluation.model, settings], sort_keys=True)
            groups.setdefault(key, []).append(evaluation)
    return [same for same in groups.values() if _can_be_averaged(same)]


def _can_be_averaged(same: Sequence[TaskResult]) -> bool:
    """Whether there are several databases and any scores; a server's top tokens may give none."""
    databases = {evaluation.dataset for evaluation in same}
    return len(databases) > 1 and any(evaluation.scores is not None for evaluation in same)


def _settings(evaluation: TaskResult) -> dict[str, Any]:
    """The settings of the task itself, which are the same on all databases."""
    return {name: value for name, value in evaluation.settings.items() if name not in ("data", "model", SAMPLE)}


def _average(same: Sequence[TaskResult]) -> TaskResult:
    databases = get_task(same[0].task).data.run_on
    counts = Counter(evaluation.dataset for evaluation in same)
    by_database = {evaluation.dataset: evaluation for evaluation in same if evaluation.scores is not None}
    missing = [name for name in databases if name not in by_database]
    repeated = [name for name in databases if counts[name] > 1]
    notes = []
    if missing:
        notes = [note("average_missing", of=len(databases), missing=missing)]
    elif repeated:
        notes = [note("average_repeated", of=len(databases), repeated=repeated)]
    elif not all(evaluation.complete for evaluation in same):
        notes = [note("average_incomplete")]
    is_complete = not (missing or repeated)
    first = same[0]
    variants = [name for name in first.variants if all(name in evaluation.variants for evaluation in same)]
    return TaskResult(
        task=first.task,
        dataset=AVERAGE,
        split=first.split,
        model=first.model,
        scores=mean_scores({name: by_database[name].scores or {} for name in databases}) if is_complete else None,
        settings={
            **_settings(first),
            **_sample(same),
            "average": "plain mean over databases",
            "databases": list(databases),
            "data": {"is_mini": any(evaluation.settings["data"]["is_mini"] for evaluation in same)},
        },
        variants={
            name: mean_scores({database: by_database[database].variants[name] for database in databases})
            for name in (variants if is_complete else ())
        },
        notes=notes,
        headline=first.headline,
        complete=all(evaluation.complete for evaluation in same),
    )


def _sample(same: Sequence[TaskResult]) -> dict[str, Any]:
    """How many of all images were drawn, if any of the evaluations used a sample."""
    drawn = [evaluation.settings[SAMPLE] for evaluation in same if SAMPLE in evaluation.settings]
    if not drawn:
        return {}
    unsampled = sum(len(evaluation.items) for evaluation in same if SAMPLE not in evaluation.settings)
    counts = {name: unsampled + sum(one[name] for one in drawn) for name in ("n", "of")}
    return {SAMPLE: {**drawn[0], **counts}}


def mean_scores(scores: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The mean scores over databases (nan if one is undefined), with the scores of each database.

    Args:
        scores: Scores by database, as the metric returned them.
    """
    by_database = {
        database: {name: values[name] for name in (*AVERAGED_SCORES, "n")} for database, values in scores.items()
    }
    means = {name: float(np.mean([values[name] for values in by_database.values()])) for name in AVERAGED_SCORES}
    intervals = {}
    for spec in [spec for spec in correlations_of(QUALITY) if spec.has_interval]:
        parts = [_interval(spec, values) for values in scores.values()]
        intervals[spec.key] = mean_interval([values[spec.key] for values in by_database.values()], parts)
    n = sum(values["n"] for values in by_database.values())
    return {**means, **listed_intervals(intervals), "n": n, "by_database": by_database}


def _interval(spec: ScoreSpec, scores: Mapping[str, Any]) -> Interval:
    """The interval of a score on one database; undefined if it has none, as in results of earlier versions."""
    low, high = (math.nan if end is None else end for end in spec.bounds(scores) or (None, None))
    kind = scores.get(INTERVALS, {}).get(spec.key, {}).get("kind", "bootstrap")
    return Interval(low, high, kind, scores["n"])
