"""The charts of each task. What a chart shows follows from the declarations of the scores."""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from eyechart.evaluators.published import BY_DATABASE
from eyechart.evaluators.report.charts import Chart, Series, finite
from eyechart.evaluators.report.scores import Results, at, group_values, interval, number, scored_results, texts_of
from eyechart.evaluators.results.finished_runs import Run, TaskKey
from eyechart.evaluators.results.results_file import AVERAGE
from eyechart.evaluators.tasks import dataset_title, known_task
from eyechart.metrics.score_spec import ScoreSpec, Unit
from eyechart.metrics.scores import PAIRS, correlations_of, specs_in

_DATABASE = BY_DATABASE.removeprefix("by_")
_WHISKERS = "Whiskers are 95 % intervals."
_MOST = 30
"""Most labels that stay legible in a dot plot; groups with more values are in the tables only."""
_MOST_SPOKES = 12
_FEWEST = 3
"""Fewest scores, or spokes of a radar chart, that make a chart."""
_AGREEMENT = {"after_exact": "not parsed by exact matching", "all": "all replies"}
"""Groups of the replies that human annotators labelled."""


def charts_of(key: TaskKey, runs: Sequence[Run]) -> Iterator[Chart]:
    """All charts of a task; those under "More figures" come last.

    Args:
        key: The task.
        runs: Runs to show side by side; runs without scores of the task are left out.
    """
    results = scored_results(key, runs)
    if results:
        charts = [chart for make in _MAKERS if (chart := make(key, results)) is not None and finite(chart.series)]
        yield from sorted(charts, key=lambda chart: chart.is_extra)


def _headline_by_group(key: TaskKey, results: Results) -> Chart | None:
    """The headline score of all items and of each group, with chance levels."""
    score, groups = results[0][1].headline_spec(), _groups(key, results, _MOST)
    if score is None or not groups:
        return None
    values = [("average" if key.dataset == AVERAGE else "all items", ()), *_parts(groups)]
    breaks = itertools.accumulate((len(names) for names in groups.values()), initial=1)
    by = next(iter(groups)).replace("_", " ") if len(groups) == 1 else "group"
    cells = [(label, part, score) for label, part in values]
    return _dots(key, "groups", f"{score.label} by {by}", cells, results, breaks=tuple(breaks)[:-1])


def _scores_of_one_scale(key: TaskKey, results: Results) -> Chart | None:
    """All scores of a task that have the same scale, if there are several."""
    by_scale: dict[tuple[float, float], list[ScoreSpec]] = {}
    for score in specs_in(results[0][1].scores or {}):
        if score.in_table and score.unit not in (Unit.COUNT, Unit.CORRELATION):
            by_scale.setdefault(_limits(score, results), []).append(score)
    scores = max(by_scale.values(), key=len, default=[])
    if len(scores) < _FEWEST:
        return None
    return _dots(key, "scores", "scores", [(score.label, (), score) for score in scores], results)


def _above_chance(key: TaskKey, results: Results) -> Chart | None:
    """The headline score minus its chance level by group, as the papers' radars."""
    score, groups = results[0][1].headline_spec(), _groups(key, results, _MOST_SPOKES)
    parts = list(_parts(groups))
    if score is None or len(parts) < _FEWEST:
        return None
    levels = {label: _levels(score, part, results) for label, part in parts}
    if not any(math.isfinite(level) for of_part in levels.values() for level in of_part):
        return None
    factor, path = _factor(score), score.key.split(".")
    series = [
        Series(
            label,
            tuple(factor * (number(result.scores, *part, *path) - levels[name][run]) for name, part in parts),
        )
        for run, (label, result) in enumerate(results)
    ]
    is_zero = not any(level for of_part in levels.values() for level in of_part)
    unit = ", in percentage points" if factor == 100 else ""
    place = "bold ring" if any(value < 0 for value in finite(series)) else "centre"
    return Chart(
        key=key.file_name("radar"),
        kind="radar",
        title=f"{score.label} over {'databases' if key.dataset == AVERAGE else 'groups'}",
        labels=tuple(label for label, _ in parts),
        series=tuple(series),
        unit=score.label if is_zero else f"{score.label} minus chance level{unit}",
        note=f"As in Q-Bench, Fig. 9 and 14. The {place} marks {'zero' if is_zero else 'the chance level'}.",
        limits=(0, factor * score.high) if is_zero else None,
        is_extra=True,
    )


def _choice_distribution(key: TaskKey, results: Results) -> Chart | None:
    """How often each letter is chosen, and how often it is right: MMBench, Fig. 4."""
    name = "choice_distribution"
    shares = {label: result.scores[name] for label, result in results if result.scores and name in result.scores}
    if not shares:
        return None
    letters = sorted({letter for share in shares.values() for letter in share["correct"]})
    letters += ["none"] if any(number(share, "predicted", "none") > 0 for share in shares.values()) else []

    def along(share: Mapping[str, Any]) -> tuple[float, ...]:
        # A run may lack some letters; "none" is never a correct answer.
        return tuple(100 * number({letter: 0, **share}, letter) for letter in letters)

    truths = {label: along(share["correct"]) for label, share in shares.items()}
    # Runs on the same questions have the same correct answers.
    is_shared = len(set(truths.values())) == 1
    series = [
        Series("right answers" if is_shared else f"{label}: right answers", values)
        for label, values in list(truths.items())[: 1 if is_shared else None]
    ]
    series += [Series(label, along(share["predicted"])) for label, share in shares.items()]
    over = " or ".join(texts_of(results, "distribution_over"))
    return Chart(
        key=key.file_name("choices"),
        kind="dots",
        title="choice distribution",
        labels=tuple(letters),
        series=tuple(series),
        unit="share of replies, in %",
        note=f"As in MMBench, Fig. 4.{f' Computed over {over}.' if over else ''}",
        is_extra=True,
    )


def _agreement_with_people(key: TaskKey, results: Results) -> Chart | None:
    """How often the parsed letter agrees with that of human annotators: MMBench, Fig. 5."""
    name = "extractor_agreement"
    labelled = [(label, result, result.diagnostics[name]) for label, result in results if name in result.diagnostics]
    if not labelled:
        return None
    series = [
        Series(
            f"{(result.scores or {}).get('judge') or 'no judge'} on {label}",
            tuple(100 * number(agreement, group, "agreement") for group in _AGREEMENT),
            tuple(interval(agreement, group, "agreement", factor=100) for group in _AGREEMENT),
        )
        for label, result, agreement in labelled
    ]
    counts = [" and ".join(f"{at(agreement, (group, 'n')) or 0}" for group in _AGREEMENT) for *_, agreement in labelled]
    return Chart(
        key=key.file_name("agreement"),
        kind="dots",
        title="agreement with human annotators",
        labels=tuple(_AGREEMENT.values()),
        series=tuple(series),
        unit="same choice, in % of replies",
        note="As in MMBench, Fig. 5, which has only the first group. "
        f"{'; '.join(dict.fromkeys(counts))} replies were labelled by human annotators. {_WHISKERS}",
        limits=(0, 100),
        is_extra=True,
    )


def _convergence(key: TaskKey, results: Results) -> Chart | None:
    """Correlation with the opinion scores over the rounds of pairs: 2AFC, Fig. 3."""
    name = "convergence"
    curves = [(label, result.diagnostics[name]) for label, result in results if name in result.diagnostics]
    points = [point for _, curve in curves for point in curve["curve"]]
    score = next((s for s in correlations_of(PAIRS) if any(not math.isnan(number(p, s.key)) for p in points)), None)
    if score is None:
        return None
    rounds = max((curve["curve"] for _, curve in curves), key=len)

    def along(points: Sequence[Mapping[str, Any]]) -> tuple[float, ...]:
        values = [number(point, score.key) for point in points[: len(rounds)]]
        return tuple(values + [math.nan] * (len(rounds) - len(values)))

    series = [Series(label, along(curve["curve"])) for label, curve in curves]
    series += _bounds("upper bound", [(label, along(curve["upper_bound"])) for label, curve in curves])
    limits = [(label, (number(curve.get("limit"), score.key),) * len(rounds)) for label, curve in curves]
    return Chart(
        key=key.file_name(name),
        kind="lines",
        title=name,
        labels=tuple(f"{point.get('rounds')}" for point in rounds),
        series=(*series, *_bounds("limit of the scores", limits)),
        unit=score.label,
        note="As in 2AFC, Fig. 3. The upper bound is the correlation if every pair were answered in agreement with the "
        "human ratings.",
        label_axis="rounds",
        is_extra=True,
    )


_MAKERS: tuple[Callable[[TaskKey, Results], Chart | None], ...] = (
    _headline_by_group,
    _scores_of_one_scale,
    _above_chance,
    _choice_distribution,
    _agreement_with_people,
    _convergence,
)


def _groups(key: TaskKey, results: Results, most: int) -> dict[str, list[str]]:
    """The groups of a task with their values, as long as there are not too many values."""
    task, chosen = known_task(key.task), dict[str, list[str]]()
    for group, values in group_values(results).items():
        is_group = task is None or group in (*task.groups, _DATABASE)
        if is_group and sum(map(len, chosen.values())) + len(values) <= most:
            chosen[group] = values
    return chosen


def _parts(groups: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The label of each value of a group, and where its scores are."""
    for group, values in groups.items():
        for value in values:
            yield dataset_title(value) if group == _DATABASE else value, (f"by_{group}", value)


def _dots(
    key: TaskKey,
    what: str,
    title: str,
    cells: Sequence[tuple[str, tuple[str, ...], ScoreSpec]],
    results: Results,
    breaks: tuple[int, ...] = (),
) -> Chart:
    """Scores of one scale, each with its label and the part that it is of, with intervals and chance levels."""
    places = [(_factor(score), (*part, *score.key.split("."))) for _, part, score in cells]
    series = [
        Series(
            label,
            tuple(factor * number(result.scores, *path) for factor, path in places),
            tuple(interval(result.scores, *path, factor=factor) for factor, path in places),
        )
        for label, result in results
    ]
    known = [filter(math.isfinite, _levels(score, part, results)) for _, part, score in cells]
    levels = [_factor(score) * next(level, math.nan) for level, (*_, score) in zip(known, cells, strict=True)]
    score = cells[0][2]
    low, high = _limits(score, results)
    label = score.label if len({score.key for *_, score in cells}) == 1 else "score"
    is_percentage = score.unit in (Unit.FRACTION, Unit.PERCENT)
    return Chart(
        key=key.file_name(what),
        kind="dots",
        title=title,
        labels=tuple(label for label, *_ in cells),
        series=tuple(series),
        unit=f"{label}, in %" if is_percentage else label,
        note=_WHISKERS,
        limits=(max(0, low), high),
        chance=tuple(levels) if any(map(math.isfinite, levels)) else (),
        breaks=breaks,
    )


def _factor(score: ScoreSpec) -> int:
    return 100 if score.unit is Unit.FRACTION else 1


def _limits(score: ScoreSpec, results: Results) -> tuple[float, float]:
    low, high = score.limits(results[0][1].scores or {})
    return _factor(score) * low, _factor(score) * high


def _levels(score: ScoreSpec, part: tuple[str, ...], results: Results) -> list[float]:
    """The chance level of a part in each result; nan if unknown."""
    scores = [at(result.scores, part) for _, result in results]
    levels = [score.chance_level(values) if isinstance(values, Mapping) else None for values in scores]
    return [float(level) if isinstance(level, int | float) else math.nan for level in levels]


def _bounds(name: str, by_run: Sequence[tuple[str, tuple[float, ...]]]) -> list[Series]:
    """One bound per run, or a single bound if all are equal."""
    defined = [(label, values) for label, values in by_run if any(map(math.isfinite, values))]
    # Compare texts, because nan is not equal to itself.
    if len({repr(values) for _, values in defined}) == 1:
        return [Series(name, defined[0][1], is_bound=True)]
    return [Series(f"{label}: {name}", values, is_bound=True) for label, values in defined]
