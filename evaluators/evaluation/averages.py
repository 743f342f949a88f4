"""The plain average over the databases of a task, as Q-Bench publishes it (Tables 4 and 11, column "Average")."""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eyechart.evaluators.evaluation.sampling import SAMPLE
from eyechart.evaluators.results.evaluation import AVERAGE, Evaluation
from eyechart.evaluators.tasks import get_task, known_task
from eyechart.metrics.scores import INTERVALS, QUALITY, ScoreSpec, correlations_of
from eyechart.metrics.scoring.statistics.intervals import Interval, listed_intervals, mean_interval

AVERAGED_SCORES = tuple(spec.key for spec in correlations_of(QUALITY))
"""Scores on one scale for all databases; the RMSE is on the scale of each database's opinion scores."""


def with_averages(evaluations: Sequence[Evaluation]) -> list[Evaluation]:
    """The evaluations, with each average of several databases inserted after the last of these; see `averages`."""
    behind = {id(same[-1]): _average(same) for same in _several(evaluations)}
    found = []
    for evaluation in evaluations:
        found += [evaluation, behind[id(evaluation)]] if id(evaluation) in behind else [evaluation]
    return found


def averages(evaluations: Sequence[Evaluation]) -> list[Evaluation]:
    """Average the scores of each task that was run on several of its databases.

    Args:
        evaluations: What was run, in any order. Those of one task and model with the same settings belong together.

    Returns:
        One for each such task on at least two of its databases of which any has scores, in order of their first
        evaluations, with `dataset` "average". `scores` are the plain means of `AVERAGED_SCORES`, `n` the sum of the
        numbers of images, and `by_database` what they are made of; the intervals combine those of the databases, whose
        images differ. Each variant that all databases have is averaged likewise. Where databases are
        missing or have no score, `scores` is None and a caveat names them: a mean of fewer would not compare with
        published ones.
    """
    return [_average(same) for same in _several(evaluations)]


def _several(evaluations: Sequence[Evaluation]) -> list[list[Evaluation]]:
    """The evaluations on databases that a task averages over, those of the same settings together, at least two."""
    groups: dict[str, list[Evaluation]] = {}
    for evaluation in evaluations:
        task = known_task(evaluation.task)
        if task is not None and task.metric == QUALITY and evaluation.dataset in task.data.run_on:
            settings = _settings(evaluation)
            key = json.dumps([evaluation.task, evaluation.split, evaluation.model, settings], sort_keys=True)
            groups.setdefault(key, []).append(evaluation)
    return [same for same in groups.values() if _can_be_averaged(same)]


def _can_be_averaged(same: Sequence[Evaluation]) -> bool:
    """Whether there are several databases and, unlike with top tokens, scores."""
    databases = {evaluation.dataset for evaluation in same}
    return len(databases) > 1 and any(evaluation.scores is not None for evaluation in same)


def _settings(evaluation: Evaluation) -> dict[str, Any]:
    """The settings of the task itself, the same on all databases."""
    return {name: value for name, value in evaluation.settings.items() if name not in ("data", "model", SAMPLE)}


def _average(same: Sequence[Evaluation]) -> Evaluation:
    databases = get_task(same[0].task).data.run_on
    counts = Counter(evaluation.dataset for evaluation in same)
    by_database = {evaluation.dataset: evaluation for evaluation in same if evaluation.scores is not None}
    missing = [name for name in databases if name not in by_database]
    repeated = [name for name in databases if counts[name] > 1]
    caveat = ""
    if missing:
        caveat = f"There is no average over the {len(databases)} databases: no scores of {', '.join(missing)}."
    elif repeated:
        caveat = f"There is no average over the {len(databases)} databases: several scores of {', '.join(repeated)}."
    elif not all(evaluation.complete for evaluation in same):
        caveat = "The average holds scores that were made of less than was to be asked."
    is_whole = not (missing or repeated)
    first = same[0]
    variants = [name for name in first.variants if all(name in evaluation.variants for evaluation in same)]
    return Evaluation(
        task=first.task,
        dataset=AVERAGE,
        split=first.split,
        model=first.model,
        scores=mean_scores({name: by_database[name].scores or {} for name in databases}) if is_whole else None,
        settings={
            **_settings(first),
            **_sample(same),
            "average": "plain mean over databases",
            "databases": list(databases),
            "data": {"is_mini": any(evaluation.settings["data"]["is_mini"] for evaluation in same)},
        },
        variants={
            name: mean_scores({database: by_database[database].variants[name] for database in databases})
            for name in (variants if is_whole else ())
        },
        caveats=[caveat] if caveat else [],
        headline=first.headline,
        complete=all(evaluation.complete for evaluation in same),
    )


def _sample(same: Sequence[Evaluation]) -> dict[str, Any]:
    """How many of all images were drawn, where they are a sample."""
    drawn = [evaluation.settings[SAMPLE] for evaluation in same if SAMPLE in evaluation.settings]
    if not drawn:
        return {}
    whole = sum(len(evaluation.predictions) for evaluation in same if SAMPLE not in evaluation.settings)
    counts = {name: whole + sum(one[name] for one in drawn) for name in ("n", "of")}
    return {SAMPLE: {**drawn[0], **counts}}


def mean_scores(scores: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The means of the scores of databases, nan where one is undefined, with what they are made of.

    Args:
        scores: By database, as the metric returned them.
    """
    by_database = {
        database: {name: values[name] for name in (*AVERAGED_SCORES, "n")} for database, values in scores.items()
    }
    means = {name: float(np.mean([values[name] for values in by_database.values()])) for name in AVERAGED_SCORES}
    intervals = {}
    for spec in [spec for spec in correlations_of(QUALITY) if spec.interval is not None]:
        parts = [_interval(spec, values) for values in scores.values()]
        intervals[spec.key] = mean_interval([values[spec.key] for values in by_database.values()], parts)
    n = sum(values["n"] for values in by_database.values())
    return {**means, **listed_intervals(intervals), "n": n, "by_database": by_database}


def _interval(spec: ScoreSpec, scores: Mapping[str, Any]) -> Interval:
    """Of a score on one database; undefined where it has none, as in results of earlier versions."""
    low, high = (math.nan if end is None else end for end in spec.bounds(scores) or (None, None))
    kind = scores.get(INTERVALS, {}).get(spec.key, {}).get("kind", "bootstrap")
    return Interval(low, high, kind, scores["n"])
