"""Predicted against human quality, image by image."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from eyechart.evaluators.report.charts import Scatter, evenly_spread, shown
from eyechart.evaluators.report.scores import number
from eyechart.evaluators.results.finished_runs import Run, TaskKey
from eyechart.metrics.scores import FIT_PARAMETERS, QUALITY, correlations_of, spec

_CURVE_POINTS = 121


def quality_scatter(run: Run, key: TaskKey, place: int | None) -> Scatter | None:
    """The scatter plot of one task; None if images have no human quality.

    Args:
        run: The run.
        key: The task.
        place: Index of the run among several; None for a single run.
    """
    result, answers = run.tasks.get(key), run.answers(key)
    if result is None or answers is None or not result.scores:
        return None
    pairs = [
        (predicted, human)
        for predicted, human in zip(answers.column("quality_score"), answers.column("quality"), strict=True)
        if predicted is not None and human is not None and max(abs(predicted), abs(human)) < 1e100
    ]
    if not pairs:
        return None
    pairs.sort()
    drawn = [pairs[index] for index in evenly_spread(len(pairs))]
    note = (
        ""
        if len(drawn) == len(pairs)
        else f"{len(drawn)} of {len(pairs):,} images are drawn, evenly spaced in the order of predicted quality."
    )
    label = "" if place is None else f": {run.label}"
    return Scatter(
        key=key.file_name("scatter" if place is None else f"scatter_run_{place + 1}"),
        title=f"predicted against human quality{label}",
        predicted=tuple(predicted for predicted, _ in drawn),
        human=tuple(human for _, human in drawn),
        total=len(pairs),
        facts=tuple(
            (fact.label, shown(number(result.scores, fact.key)))
            for fact in (*correlations_of(QUALITY), spec("n", QUALITY))
        ),
        curve=_curve(result.scores, pairs[0][0], pairs[-1][0]),
        note=note,
    )


def _curve(scores: Mapping[str, Any], first: float, last: float) -> tuple[tuple[float, float], ...]:
    """Evenly spaced points of the logistic that the metric fitted; empty if there is no fit."""
    from eyechart.metrics.scoring.quality.correlation import logistic4

    parameters = scores.get(FIT_PARAMETERS)
    if parameters is None or len(parameters) != 4:
        return ()
    # A grid, because straight lines between a few points would not look like a logistic.
    shares = np.linspace(0, 1, _CURVE_POINTS)
    grid = (1 - shares) * first + shares * last
    # A fit never gives parameters that overflow, but an edited file may contain them.
    with np.errstate(all="ignore"):
        values = logistic4(grid, *parameters)
    if not np.isfinite(values).all():
        return ()
    return tuple(zip(grid.tolist(), values.tolist(), strict=True))
