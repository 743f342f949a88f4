"""The charts of each task."""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from eyechart.evaluators.report.charts import WHISKERS, Chart, Scatter, Series, finite, readable
from eyechart.evaluators.report.extraction_charts import agreement_with_people, choice_distribution
from eyechart.evaluators.report.pair_charts import convergence, pair_shares
from eyechart.evaluators.report.quality import quality_scatter
from eyechart.evaluators.report.scores import (
    Scored,
    group_values,
    interval,
    judged_by,
    level_of,
    number,
    parts_at,
    times,
)
from eyechart.evaluators.results.evaluation import AVERAGE
from eyechart.evaluators.results.finished_runs import Run, TaskKey
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.evaluators.tasks import known_task
from eyechart.evaluators.tasks.q_bench import DATABASES
from eyechart.metrics.score_spec import ScoreSpec, Unit
from eyechart.metrics.scores import DIMENSIONS, QUALITY, headline, spec


def charts_of(key: TaskKey, runs: Sequence[Run]) -> Iterator[Chart | Scatter]:
    """All charts of a task; those under "More figures" come last.

    Args:
        key: The task.
        runs: Runs to show side by side; runs without the task are left out.
    """
    scored = [(run.label, _with_databases(run, key)) for run in runs if key in run.tasks and run.tasks[key].scores]
    if not scored:
        return
    charts = [chart for make in _MAKERS if (chart := make(key, scored)) is not None and finite(chart.series)]
    yield from (readable(chart) for chart in sorted(charts, key=lambda chart: chart.is_extra))
    for place, run in enumerate(runs):
        scatter = quality_scatter(run, key, place if len(runs) > 1 else None)
        if scatter is not None:
            yield scatter


def accuracy_by_group(key: TaskKey, scored: Scored) -> Chart | None:
    """Accuracy of all items and of each group, with chance levels."""
    if "accuracy" not in (scored[0][1].scores or {}):
        return None
    # "response" says whether a reply was explicit; it is not a group of questions.
    groups = {name: values for name, values in group_values(scored).items() if name != "response"}
    return _dots(key, "accuracy", "accuracy by group", groups, spec("accuracy"), scored)


def accuracy_above_chance(key: TaskKey, scored: Scored) -> Chart | None:
    """Accuracy minus chance level by each group, in percentage points: Q-Bench, Fig. 9."""
    groups = group_values(scored)
    found = [(group, value) for group, values in groups.items() for value in values if group != "response"]
    if len(found) < 3 or "accuracy" not in (scored[0][1].scores or {}):
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
        "the chance level",
        figure="As in Q-Bench, Fig. 9." if key.task == "q_bench/perception" else "",
    )


def headline_by_group(key: TaskKey, scored: Scored) -> Chart | None:
    """The headline score by group, for a user-defined task without another chart of it."""
    score = scored[0][1].headline_spec()
    groups = group_values(scored)
    if known_task(key.task) is not None or score is None or score.key == "accuracy" or not groups:
        return None
    return _dots(key, "groups", f"{score.label} by group", groups, score, scored)


def description_dimensions(key: TaskKey, scored: Scored) -> Chart | None:
    """Mean score of each dimension of descriptions: Q-Bench, Table 3 and Fig. 11; AesBench, Table 5."""
    names = [name for name in DIMENSIONS if isinstance((scored[0][1].scores or {}).get(name), dict)]
    if not names:
        return None
    score = spec(f"{names[0]}.score")
    figure = "As in Q-Bench, Fig. 11, there scaled to 0 to 1. " if key.task == "q_bench/description" else ""
    series = [
        Series(
            label,
            tuple(number(result.scores, name, "score") for name in names),
            tuple(interval(result.scores, name, "score") for name in names),
        )
        for label, result in scored
    ]
    return Chart(
        key=key.file_name("dimensions"),
        kind="dots",
        title="dimensions of descriptions",
        labels=tuple(names),
        series=tuple(series),
        unit=f"mean score, {score.low:g} to {score.high:g}",
        note=f"{figure}{judged_by(scored)} {WHISKERS}",
        limits=(score.low, score.high),
    )


def correlation_by_database(key: TaskKey, scored: Scored) -> Chart | None:
    """The headline on each database and on average."""
    if key.dataset != AVERAGE:
        return None
    return _dots(key, "databases", "SRCC by database", _databases(scored), headline(QUALITY), scored)


def over_databases(key: TaskKey, scored: Scored) -> Chart | None:
    """The headline on each database: as Q-Bench, Fig. 14, which has the mean of SRCC and PLCC."""
    names, score = _databases(scored).get("database", []), headline(QUALITY)
    if key.dataset != AVERAGE or len(names) < 3:
        return None
    paths = [("by_database", name, score.key) for name in names]
    return _radar(
        key,
        "over databases",
        [DATABASES.get(name, name) for name in names],
        [Series(label, tuple(number(result.scores, *path) for path in paths)) for label, result in scored],
        score.label,
        "zero correlation",
        (0, 1),
        figure="As in Q-Bench, Fig. 14, which has the mean of SRCC and PLCC.",
    )


def circular_by_ability(key: TaskKey, scored: Scored) -> Chart | None:
    """CircularEval accuracy of all questions and of each ability, with chance levels."""
    if known_task(key.task) is None or "circular_accuracy" not in (scored[0][1].scores or {}):
        return None
    groups = group_values(scored)
    name = "l2_category" if "l2_category" in groups else "category"
    return _dots(
        key,
        "abilities",
        "CircularEval by ability",
        {name: groups[name]} if name in groups else {},
        spec("circular_accuracy"),
        scored,
    )


def right_answers_and_refusals(key: TaskKey, scored: Scored) -> Chart | None:
    """Right answers and right refusals as stacked bars, by question type: QL-Bench, Tables I and II."""
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
        title="self-awareness",
        labels=(*names, "total"),
        series=tuple(series),
        unit="share of questions, in %",
        limits=(0, 100),
    )


_MAKERS: tuple[Callable[[TaskKey, Scored], Chart | None], ...] = (
    accuracy_by_group,
    headline_by_group,
    description_dimensions,
    correlation_by_database,
    circular_by_ability,
    right_answers_and_refusals,
    pair_shares,
    accuracy_above_chance,
    over_databases,
    choice_distribution,
    agreement_with_people,
    convergence,
)


def _dots(
    key: TaskKey, what: str, title: str, groups: Mapping[str, Sequence[str]], score: ScoreSpec, scored: Scored
) -> Chart:
    """A score of all items, then of each group value, with intervals and chance levels."""
    paths: list[tuple[str, ...]] = [
        (),
        *((f"by_{group}", value) for group, values in groups.items() for value in values),
    ]
    labels = [
        "average" if key.dataset == AVERAGE else "all items",
        *(DATABASES.get(value, value) for values in groups.values() for value in values),
    ]
    factor = 100 if score.unit is Unit.FRACTION else 1
    name = score.key.split(".")
    series = [
        Series(
            label,
            tuple(factor * number(result.scores, *path, *name) for path in paths),
            tuple(times(factor, interval(result.scores, *path, *name)) for path in paths),
        )
        for label, result in scored
    ]
    of_parts = [parts_at(scored, path) for path in paths]
    levels = [level_of(score.chance_level(part), factor) for part in of_parts]
    starts = itertools.accumulate((len(values) for values in groups.values()), initial=1)
    is_percentage = score.unit in (Unit.FRACTION, Unit.PERCENT)
    low, high = score.limits(scored[0][1].scores or {})
    return Chart(
        key=key.file_name(what),
        kind="dots",
        title=title,
        labels=tuple(labels),
        series=tuple(series),
        unit=f"{score.label}, in %" if is_percentage else score.label,
        note=WHISKERS,
        limits=(max(0, factor * low), factor * high),
        chance=tuple(levels) if any(map(math.isfinite, levels)) else (),
        breaks=tuple(starts)[:-1],
    )


def _with_databases(run: Run, key: TaskKey) -> TaskResult:
    """A result; for an average, with the full scores of its databases, which include intervals."""
    result = run.tasks[key]
    if key.dataset != AVERAGE or not isinstance(parts := (result.scores or {}).get("by_database"), Mapping):
        return result
    own = {name: run.tasks.get(key._replace(dataset=name)) for name in parts}
    whole = {name: part if (found := own[name]) is None else found.scores or part for name, part in parts.items()}
    return result.model_copy(update={"scores": {**(result.scores or {}), "by_database": whole}})


def _databases(scored: Scored) -> dict[str, list[str]]:
    return {name: values for name, values in group_values(scored).items() if name == "database"}


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
    """A radar chart as in the papers; `zero` is what a value of 0 means, `figure` names the paper's figure."""
    place = "bold ring" if any(value < 0 for value in finite(series)) else "centre"
    return Chart(
        key=key.file_name(what),
        kind="radar",
        title=what,
        labels=tuple(labels),
        series=tuple(series),
        unit=unit,
        note=f"{figure} The {place} marks {zero}.".strip(),
        limits=limits,
        is_extra=True,
    )
