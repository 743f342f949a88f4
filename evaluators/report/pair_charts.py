"""Charts of pairs of images: 2AFC."""

import math
from collections.abc import Sequence
from typing import Any

from eyechart.evaluators.report.charts import WHISKERS, Chart, Series
from eyechart.evaluators.report.scores import Scored, interval, level_of, number, times
from eyechart.evaluators.results.finished_runs import TaskKey
from eyechart.metrics.scores import PAIRS, specs_of

_BOUND = "upper bound"
_LIMIT = "limit of the scores"


def pair_shares(key: TaskKey, scored: Scored) -> Chart | None:
    """Accuracy, consistency and position preference: 2AFC, Table II and Sec. III-B."""
    first = scored[0][1].scores or {}
    if "consistency" not in first:
        return None
    specs = [one for one in specs_of(PAIRS) if one.counts in (("n_pairs",), ("n_consistent",))]
    levels = [level_of(one.chance_level(first), 100) for one in specs]
    series = [
        Series(
            label,
            tuple(100 * number(result.scores, one.key) for one in specs),
            tuple(times(100, interval(result.scores, one.key)) for one in specs),
        )
        for label, result in scored
    ]
    return Chart(
        key=key.file_name("shares"),
        kind="dots",
        title="accuracy, consistency, position bias",
        labels=tuple(one.label for one in specs),
        series=tuple(series),
        unit="share of pairs, in %",
        note=f"Without position bias, the first and the second image are preferred equally often. {WHISKERS}",
        limits=(0, 100),
        chance=tuple(levels) if any(map(math.isfinite, levels)) else (),
    )


def convergence(key: TaskKey, scored: Scored) -> Chart | None:
    """Correlation with the opinion scores over the rounds of pairs: 2AFC, Fig. 3."""
    curves = [
        (label, result.diagnostics["convergence"]) for label, result in scored if "convergence" in result.diagnostics
    ]
    if not curves:
        return None
    measure = "plcc_fitted" if _is_defined(curves, "plcc_fitted") else "srcc"
    rounds = max((curve["curve"] for _, curve in curves), key=len)
    series = [Series(label, _along(curve["curve"], measure, len(rounds))) for label, curve in curves]
    for name, values in (
        (_BOUND, lambda curve: _along(curve["upper_bound"], measure, len(rounds))),
        (_LIMIT, lambda curve: (number(curve.get("limit"), measure),) * len(rounds)),
    ):
        series += _bounds(name, [(label, values(curve)) for label, curve in curves])
    return Chart(
        key=key.file_name("convergence"),
        kind="lines",
        title="convergence",
        labels=tuple(f"{point.get('rounds')}" for point in rounds),
        series=tuple(series),
        unit="correlation \N{GREEK SMALL LETTER RHO} (PLCC after the fit)" if measure == "plcc_fitted" else "SRCC",
        note="As in 2AFC, Fig. 3. The upper bound is the correlation if every pair were answered in agreement with the "
        "human ratings.",
        label_axis="rounds",
        is_extra=True,
    )


def _is_defined(curves: list[tuple[str, dict[str, Any]]], measure: str) -> bool:
    return any(not math.isnan(number(point, measure)) for _, curve in curves for point in curve["curve"])


def _along(points: Sequence[dict[str, Any]], measure: str, length: int) -> tuple[float, ...]:
    values = [number(point, measure) for point in points[:length]]
    return tuple(values + [math.nan] * (length - len(values)))


def _bounds(name: str, by_run: list[tuple[str, tuple[float, ...]]]) -> list[Series]:
    """One bound per run, or a single bound if all are equal."""
    defined = [(label, values) for label, values in by_run if any(map(math.isfinite, values))]
    # Compare texts, because nan is not equal to itself.
    if len({repr(values) for _, values in defined}) == 1:
        return [Series(name, defined[0][1], is_bound=True)]
    return [Series(f"{label}: {name}", values, is_bound=True) for label, values in defined]
