"""Predicted against human quality, image by image."""

import warnings
from collections.abc import Sequence

import numpy as np

from eyechart.evaluators.report.charts import Scatter, evenly_spread, shown
from eyechart.evaluators.report.scores import number
from eyechart.evaluators.results.finished_runs import Run, TaskKey
from eyechart.metrics.scores import QUALITY, correlations_of, spec

_CURVE_POINTS = 121


def quality_scatter(run: Run, key: TaskKey, place: int | None) -> Scatter | None:
    """The scatter of one task, None where images have no human quality.

    Args:
        run: The run.
        key: The task.
        place: Number of the run, to tell it from others; None where it is alone.
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
    note = "" if len(drawn) == len(pairs) else f"Drawn are {len(drawn)} of {len(pairs):,} images, evenly by prediction."
    label = "" if place is None else f", {run.label}"
    return Scatter(
        key=key.file_name("scatter" if place is None else f"scatter_run_{place + 1}"),
        title=f"{key.title}{label}: predicted against human quality",
        predicted=tuple(predicted for predicted, _ in drawn),
        human=tuple(human for _, human in drawn),
        total=len(pairs),
        facts=tuple(
            (fact.label, shown(number(result.scores, fact.key)))
            for fact in (*correlations_of(QUALITY), spec("n", QUALITY))
        ),
        curve=_curve(pairs),
        note=note,
    )


def _curve(pairs: Sequence[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Points of the logistic that the metric fits too, at even distances; empty where it is undefined."""
    from eyechart.metrics.scoring.errors import ScoringError
    from eyechart.metrics.scoring.quality.correlation import fit_logistic, logistic4

    predicted = [predicted for predicted, _ in pairs]
    # Between the points themselves, where they are few, straight lines would be no logistic.
    shares = np.linspace(0, 1, _CURVE_POINTS)
    grid = (1 - shares) * predicted[0] + shares * predicted[-1]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit = fit_logistic(predicted, [human for _, human in pairs])
            values = logistic4(grid, *fit.parameters)
    except ScoringError:
        return ()
    return tuple(zip(grid.tolist(), values.tolist(), strict=True))
