"""Predicted against human quality, image by image."""

import math
import warnings
from collections.abc import Sequence

import numpy as np

from eyechart.evaluators.report.charts import Scatter, evenly_spread, shown
from eyechart.evaluators.report.runs import Answers, Run, TaskKey, number
from eyechart.evaluators.results.results_file import TaskResult

_FACTS = {"srcc": "SRCC", "plcc": "PLCC", "plcc_fitted": "PLCC, fitted", "krcc": "KRCC", "n": "images"}
_CURVE_POINTS = 121


def predicted_quality(result: TaskResult, answers: Answers) -> list[float | None]:
    """The number by which each answer was scored, None where it has none.

    That is a score made elsewhere, a number read from a reply, or the softmax of two words' logits (Q-Bench, Eq. 1 and
    4) with the words and the temperature that the settings name.
    """
    from eyechart.metrics.scoring.quality.pooling import ensemble_logits, pool

    scores, logits = answers.column("score"), [dict(row or ()) for row in answers.column("logits")]
    read = [_float(text) for text in answers.column("extracted")]
    words = [side.split("+") for side in str(result.settings.get("word_pair") or "").split("/")]
    temperature = result.settings.get("temperature", (result.scores or {}).get("temperature"))
    found = [score if score is not None else number for score, number in zip(scores, read, strict=True)]
    if len(words) != 2 or not isinstance(temperature, int | float) or not 0 < temperature < math.inf:
        return found
    needed = {word for side in words for word in side}
    places = [place for place, row in enumerate(logits) if needed <= row.keys() and None not in row.values()]
    if places:
        columns = {word: [logits[place][word] for place in places] for word in needed}
        pooled = pool(ensemble_logits(columns, *words), temperature=temperature).values
        for place, value in zip(places, pooled.tolist(), strict=True):
            found[place] = value
    return found


def quality_scatter(run: Run, key: TaskKey, place: int | None) -> Scatter | None:
    """The scatter of one task, None where images have no human quality.

    Args:
        run: The run.
        key: The task.
        place: Number of the run, to tell it from others; None where it is alone.
    """
    result, answers = run.tasks.get(key), run.answers(key)
    if result is None or answers is None or result.scores is None or "srcc" not in result.scores:
        return None
    pairs = [
        (predicted, human)
        for predicted, human in zip(predicted_quality(result, answers), answers.column("quality"), strict=True)
        if predicted is not None and human is not None and math.isfinite(predicted) and math.isfinite(human)
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
        facts=tuple((text, shown(number(result.scores, name))) for name, text in _FACTS.items()),
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


def _float(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None
