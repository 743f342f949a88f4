"""Plain means of correlations over databases: Q-Bench, Tables 4 and 11 (https://arxiv.org/abs/2309.14181)."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from eyechart.metrics.scores import INTERVALS, QUALITY, ScoreSpec, correlations_of
from eyechart.metrics.scoring.statistics.intervals import Interval, listed_intervals, mean_interval

AVERAGED_SCORES = tuple(spec.key for spec in correlations_of(QUALITY))
"""Scores that have the same scale on all databases; the RMSE is on the scale of each database's opinion scores."""


def mean_scores(scores: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The means of the scores of each database (nan if one is undefined), and these scores."""
    by_database = {
        database: {name: values[name] for name in (*AVERAGED_SCORES, "n")} for database, values in scores.items()
    }
    columns = {name: [values[name] for values in scores.values()] for name in AVERAGED_SCORES}
    means = {name: float(np.mean(column)) for name, column in columns.items()}
    intervals = {
        spec.key: mean_interval(columns[spec.key], [_interval(spec, values) for values in scores.values()])
        for spec in correlations_of(QUALITY)
        if spec.has_interval
    }
    n = sum(values["n"] for values in scores.values())
    return {**means, **listed_intervals(intervals), "n": n, "by_database": by_database}


def _interval(spec: ScoreSpec, scores: Mapping[str, Any]) -> Interval:
    low, high = spec.bounds(scores) or (math.nan, math.nan)
    kind = scores.get(INTERVALS, {}).get(spec.key, {}).get("kind", "bootstrap")
    return Interval(low, high, kind, scores["n"])
