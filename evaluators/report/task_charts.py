"""Which charts the results of a task give."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from eyechart.datasets_scripts.common.choice.abilities import L2_CODES
from eyechart.evaluators.report.calibration_charts import reliability, risk_coverage
from eyechart.evaluators.report.charts import Chart, Scatter, Series, finite, readable
from eyechart.evaluators.report.extraction_charts import agreement_with_people, choice_distribution
from eyechart.evaluators.report.quality import quality_scatter
from eyechart.evaluators.report.scores import Scored, group_values, interval, number
from eyechart.evaluators.results.evaluation import AVERAGE
from eyechart.evaluators.results.finished_runs import Run, TaskKey, merged_keys
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.evaluators.tasks import known_task
from eyechart.metrics.scores import DIMENSIONS, PAIRS, QUALITY, headline, spec, specs_of

_BOUND = "upper bound"
_LIMIT = "limit of the scores"


def task_charts(runs: Sequence[Run]) -> Iterator[Chart | Scatter]:
    """All charts that the results of some runs give.

    Args:
        runs: To be compared side by side; a task that only some have is drawn for these.
    """
    for key in merged_keys(runs):
        scored = [(run.label, run.tasks[key]) for run in runs if key in run.tasks and run.tasks[key].scores]
        for make in _MAKERS:
            chart = make(key, scored) if scored else None
            if chart is not None and finite(chart.series):
                yield readable(chart)
        for place, run in enumerate(runs):
            scatter = quality_scatter(run, key, place if len(runs) > 1 else None)
            if scatter is not None:
                yield scatter


def accuracy_above_chance(key: TaskKey, scored: Scored) -> Chart | None:
    """Accuracy minus chance level by each group, in percentage points: Q-Bench, Fig. 9."""
    groups = group_values(scored)
    # Whether a reply was explicit is nothing about the question.
    found = [(group, value) for group, values in groups.items() for value in values if group != "response"]
    if not found or "accuracy" not in (scored[0][1].scores or {}):
        return None

    def above(result: TaskResult, path: tuple[str, str]) -> float:
        return 100 * (number(result.scores, *path, "accuracy") - number(result.scores, *path, "random_guess"))

    paths = [(f"by_{group}", value) for group, value in found]
    return _radar(
        key,
        "accuracy minus chance level",
        [value for _, value in found],
        [Series(label, tuple(above(result, path) for path in paths)) for label, result in scored],
        "accuracy minus chance level, in percentage points",
        "chance level",
        figure="As Q-Bench, Fig. 9." if key.task == "q_bench/perception" else "",
    )


def headline_by_group(key: TaskKey, scored: Scored) -> Chart | None:
    """The headline by each group, for a task of one's own that has no other chart of it."""
    score = scored[0][1].headline_spec()
    found = [(group, value) for group, values in group_values(scored).items() for value in values]
    if known_task(key.task) is not None or score is None or score.key == "accuracy" or not found:
        return None
    paths = [(f"by_{group}", value, *score.key.split(".")) for group, value in found]
    series = [Series(label, tuple(number(result.scores, *path) for path in paths)) for label, result in scored]
    return Chart(
        key=key.file_name("groups"),
        kind="bars",
        title=f"{key.title}: {score.label} by group",
        labels=tuple(value for _, value in found),
        series=tuple(series),
        unit=score.label,
        limits=(score.low, score.high),
    )


def description_dimensions(key: TaskKey, scored: Scored) -> Chart | None:
    """Mean score of each dimension of descriptions: Q-Bench, Table 3 and Fig. 11; AesBench, Table 5."""
    names = [name for name in DIMENSIONS if isinstance((scored[0][1].scores or {}).get(name), dict)]
    if not names:
        return None
    score = spec(f"{names[0]}.score")
    judges = sorted({str(result.scores.get("judge")) for _, result in scored if result.scores})
    figure = "As Q-Bench, Fig. 11, whose scores are normalised to [0, 1]. " if key.task == "q_bench/description" else ""
    series = [
        Series(
            label,
            tuple(number(result.scores, name, "score") for name in names),
            tuple(interval(result.scores, name, "score_ci95") for name in names),
        )
        for label, result in scored
    ]
    return Chart(
        key=key.file_name("dimensions"),
        kind="bars",
        title=f"{key.title}: dimensions of descriptions",
        labels=tuple(names),
        series=tuple(series),
        unit=f"mean score, {score.low:g} to {score.high:g}",
        note=f"{figure}Judged by {', '.join(judges)}. Whiskers are 95 % intervals.",
        limits=(score.low, score.high),
    )


def over_databases(key: TaskKey, scored: Scored) -> Chart | None:
    """The headline on each database: as Q-Bench, Fig. 14, which has the mean of SRCC and PLCC."""
    if key.dataset != AVERAGE:
        return None
    names, score = group_values(scored).get("database", []), headline(QUALITY)
    paths = [("by_database", name, score.key) for name in names]
    return _radar(
        key,
        "over databases",
        names,
        [Series(label, tuple(number(result.scores, *path) for path in paths)) for label, result in scored],
        score.label,
        "no correlation",
        (0, 1),
        figure="As Q-Bench, Fig. 14, which shows the mean of SRCC and PLCC.",
    )


def second_level_abilities(key: TaskKey, scored: Scored) -> Chart | None:
    """CircularEval accuracy of each L-2 ability: MMBench, Tables 3 and 8."""
    there = group_values(scored).get("l2_category", [])
    names = [name for name in L2_CODES if name in there]
    if not names:
        return None
    paths = [("by_l2_category", name, "circular_accuracy") for name in names]
    series = [Series(label, tuple(100 * number(result.scores, *path) for path in paths)) for label, result in scored]
    labels = [L2_CODES[name] for name in names]
    meaning = "; ".join(f"{L2_CODES[name]}: {name}" for name in names)
    chart = _radar(key, "L-2 abilities", labels, series, "CircularEval accuracy, in %", "no right answer", (0, 100))
    return replace(chart, note=f"{meaning}.")


def right_answers_and_refusals(key: TaskKey, scored: Scored) -> Chart | None:
    """Right answers and right refusals, on each other, by question type: QL-Bench, Tables I and II."""
    if "score_cc" not in (scored[0][1].scores or {}):
        return None
    names = group_values(scored).get("question_type", [])
    paths: list[tuple[str, ...]] = [*(("by_question_type", name) for name in names), ()]
    series = [
        Series(f"{label}: {spec(name).label}", tuple(number(result.scores, *path, name) for path in paths), stack=label)
        for label, result in scored
        for name in ("score_cc", "score_rc")
    ]
    return Chart(
        key=key.file_name("self_awareness"),
        kind="bars",
        title=f"{key.title}: self-awareness",
        labels=(*names, "total"),
        series=tuple(series),
        unit="share of questions, in %",
        limits=(0, 100),
    )


def pair_scores(key: TaskKey, scored: Scored) -> Chart | None:
    """Accuracy, consistency and which place is preferred, and correlation: 2AFC, Table II and Sec. III-B."""
    if "consistency" not in (scored[0][1].scores or {}):
        return None
    specs = [*(one for one in specs_of(PAIRS) if one.counts == ("n_pairs",)), spec("plcc_fitted", PAIRS)]
    series = [
        Series(
            label,
            tuple(number(result.scores, one.key) for one in specs),
            tuple(interval(result.scores, one.interval or "") for one in specs),
        )
        for label, result in scored
    ]
    values = finite(series)
    return Chart(
        key=key.file_name("measures"),
        kind="bars",
        title=f"{key.title}: accuracy, consistency, position bias, correlation",
        labels=tuple(one.label for one in specs),
        series=tuple(series),
        unit="share of pairs, or correlation",
        note="Without position bias, the first and the second image are preferred equally often. Whiskers are 95 % "
        "intervals, where there are any.",
        limits=(min([0.0, *values]) * 1.1, 1),
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
        title=f"{key.title}: convergence",
        labels=tuple(f"{point.get('rounds')}" for point in rounds),
        series=tuple(series),
        unit="correlation \N{GREEK SMALL LETTER RHO} (PLCC after the fit)" if measure == "plcc_fitted" else "SRCC",
        note="As 2AFC, Fig. 3. The upper bound is what the same pairs would give if all were answered as people rated "
        "them.",
        label_axis="rounds",
    )


_MAKERS: tuple[Callable[[TaskKey, Scored], Chart | None], ...] = (
    accuracy_above_chance,
    headline_by_group,
    description_dimensions,
    over_databases,
    second_level_abilities,
    choice_distribution,
    agreement_with_people,
    right_answers_and_refusals,
    pair_scores,
    convergence,
    reliability,
    risk_coverage,
)


def _radar(
    key: TaskKey,
    what: str,
    labels: Sequence[str],
    series: Sequence[Series],
    unit: str,
    zero: str,
    limits: tuple[float, float] | None = None,
    figure: str = "",
) -> Chart:
    """A radar chart, or bars where there are too few axes; `zero` is what a value of 0 means, `figure` the paper's."""
    place = "bold ring" if any(value < 0 for value in finite(series)) else "centre"
    zero_note = f"The {place} is {zero}." if len(labels) > 2 else f"0 is {zero}."
    return Chart(
        key=key.file_name(what),
        kind="radar" if len(labels) > 2 else "bars",
        title=f"{key.title}: {what}",
        labels=tuple(labels),
        series=tuple(series),
        unit=unit,
        note=f"{figure} {zero_note}".strip(),
        limits=limits,
    )


def _is_defined(curves: list[tuple[str, dict[str, Any]]], measure: str) -> bool:
    return any(not math.isnan(number(point, measure)) for _, curve in curves for point in curve["curve"])


def _along(points: Sequence[dict[str, Any]], measure: str, length: int) -> tuple[float, ...]:
    values = [number(point, measure) for point in points[:length]]
    return tuple(values + [math.nan] * (length - len(values)))


def _bounds(name: str, by_run: list[tuple[str, tuple[float, ...]]]) -> list[Series]:
    """A bound of each run, or one for all where it is the same."""
    defined = [(label, values) for label, values in by_run if any(map(math.isfinite, values))]
    # nan is unequal to itself, and its text is not.
    if len({repr(values) for _, values in defined}) == 1:
        return [Series(name, defined[0][1], is_bound=True)]
    return [Series(f"{label}: {name}", values, is_bound=True) for label, values in defined]
