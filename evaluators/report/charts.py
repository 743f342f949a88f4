"""The charts of each task, as tables with a kind. What a chart shows follows from the declarations of the scores."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal

from eyechart.evaluators.published import BY_DATABASE, TableColumn
from eyechart.evaluators.published.rendering import CHANCE, Cell, Head, Row, Table, cell, chance_cell, interval, number
from eyechart.evaluators.report.reported_task import ReportedTask, texts_of
from eyechart.evaluators.tasks import dataset_title, known_task
from eyechart.metrics.score_spec import ScoreSpec, Unit
from eyechart.metrics.scores import PAIRS, correlations_of, specs_in

_WHISKERS = "Whiskers are 95 % intervals."
_MOST = 30
"""Most labels that stay legible in a dot plot; groups with more values are in the tables only."""
_MOST_SPOKES = 12
_FEWEST = 3
"""Fewest scores, or spokes of a radar chart, that make a chart."""
_AGREEMENT = {"after_exact": "not parsed by exact matching", "all": "all replies"}
"""Groups of the replies that human annotators labelled."""
_SHAPES = {"dots": "Dot plot", "radar": "Radar chart", "lines": "Line chart"}


@dataclass(frozen=True)
class Chart:
    """Values of several runs along the same labels."""

    key: str
    """File name without extension, unique in a report."""
    kind: Literal["dots", "radar", "lines"]
    title: str
    """The title, without the task."""
    labels: tuple[str, ...]
    rows: tuple[Row, ...]
    """A row of values per run; chance levels and bounds, which have no colour of their own, are no models."""
    unit: str
    """Label of the axis of values."""
    note: str = ""
    limits: tuple[float, float] | None = None
    """Range of the axis of values; None fits it to the values."""
    label_axis: str = ""
    """Label of the other axis; used in line charts."""
    breaks: tuple[int, ...] = ()
    """Indices of labels that begin a group; dot plots leave a gap there."""
    is_extra: bool = True
    """Whether the page shows it only under "More figures"."""

    @property
    def description(self) -> str:
        """The chart in words, for screen readers."""
        parts = [f"{_SHAPES[self.kind]} of {self.unit}."]
        for row in self.rows:
            texts = (cell.text if math.isfinite(cell.value) else "undefined" for cell in row.cells)
            values = (" ".join(pair) for pair in zip(self.labels, texts, strict=True))
            parts.append(f"{row.labels[0]}: {', '.join(values)}.")
        return " ".join(parts)

    @property
    def table(self) -> Table:
        """The values, with a row for each label."""
        heads = tuple(Head("", label) for label in self.labels)
        return Table(self.title, (self.label_axis,), heads, self.rows).across()


def charts_of(task: ReportedTask) -> list[Chart]:
    """All charts of a task that have values; those under "More figures" come last."""
    if not (task.results and task.scored):
        return []
    charts = [chart for make in _MAKERS if (chart := make(task)) is not None]
    drawable = [chart for chart in charts if any(math.isfinite(cell.value) for row in chart.rows for cell in row.cells)]
    return sorted(drawable, key=lambda chart: chart.is_extra)


def _headline_by_group(task: ReportedTask) -> Chart | None:
    """The headline score of all items and of each group, with chance levels."""
    score, groups = task.headline, _groups(task, _MOST)
    if score is None or not groups:
        return None
    columns = [TableColumn.of(score, (), "average" if task.is_average else "all items"), *_columns(score, groups)]
    breaks = tuple(accumulate((len(names) for names in groups.values()), initial=1))[:-1]
    by = next(iter(groups)).replace("_", " ") if len(groups) == 1 else "group"
    return _dots(task, "groups", f"{score.label} by {by}", [score] * len(columns), columns, breaks)


def _scores_of_one_scale(task: ReportedTask) -> Chart | None:
    """All scores of a task that have the same scale, if there are several."""
    by_scale: dict[tuple[float, float], list[ScoreSpec]] = {}
    for score in specs_in(_first_scores(task)):
        if score.in_table and score.unit not in (Unit.COUNT, Unit.CORRELATION):
            by_scale.setdefault(_limits(score, task), []).append(score)
    scores = max(by_scale.values(), key=len, default=[])
    if len(scores) < _FEWEST:
        return None
    return _dots(task, "scores", "scores", scores, [TableColumn.of(score) for score in scores])


def _above_chance(task: ReportedTask) -> Chart | None:
    """The headline score minus its chance level by group, as the papers' radars."""
    score, groups = task.headline, _groups(task, _MOST_SPOKES)
    columns = [*_columns(score, groups)] if score is not None else []
    levels = [[chance_cell(column, result.scores or {}).value for column in columns] for result in task.scored.values()]
    if score is None or len(columns) < _FEWEST or all(math.isnan(level) for of_run in levels for level in of_run):
        return None
    rows = []
    for row, of_run in zip(_rows(task, columns), levels, strict=True):
        values = [cell.value - level for cell, level in zip(row.cells, of_run, strict=True)]
        rows.append(Row(row.labels, tuple(Cell(value, columns[0].digits) for value in values)))
    factor, is_zero = columns[0].factor, not any(level for of_run in levels for level in of_run)
    unit = ", in percentage points" if factor == 100 else ""
    ring = "bold ring" if any(cell.value < 0 for row in rows for cell in row.cells) else "centre"
    return Chart(
        task.key.file_name("radar"),
        "radar",
        f"{score.label} over {'databases' if task.is_average else 'groups'}",
        tuple(column.label for column in columns),
        tuple(rows),
        score.label if is_zero else f"{score.label} minus chance level{unit}",
        f"As in Q-Bench, Fig. 9 and 14. The {ring} marks {'zero' if is_zero else 'the chance level'}.",
        (0, factor * score.high) if is_zero else None,
    )


def _choice_distribution(task: ReportedTask) -> Chart | None:
    """How often each letter is chosen, and how often it is right: MMBench, Fig. 4."""
    name = "choice_distribution"
    shares = {run: share for run, result in task.scored.items() if (share := (result.scores or {}).get(name))}
    if not shares:
        return None
    letters = sorted({letter for share in shares.values() for letter in share["correct"]})
    letters += ["none"] if any(number(share, "predicted", "none") > 0 for share in shares.values()) else []

    def row(label: str, share: Mapping[str, Any]) -> Row:
        # A run may lack some letters; "none" is never a correct answer.
        return Row((label,), tuple(Cell(100 * number({letter: 0, **share}, letter), 2) for letter in letters))

    truths = [row(f"{run}: right answers", share["correct"]) for run, share in shares.items()]
    # Runs on the same questions have the same correct answers.
    truths = _merged(truths, "right answers")
    over = " or ".join(texts_of(task.scored, "distribution_over"))
    return Chart(
        task.key.file_name("choices"),
        "dots",
        "choice distribution",
        tuple(letters),
        (*truths, *(row(run, share["predicted"]) for run, share in shares.items())),
        "share of replies, in %",
        f"As in MMBench, Fig. 4.{f' Computed over {over}.' if over else ''}",
    )


def _agreement_with_people(task: ReportedTask) -> Chart | None:
    """How often the parsed letter agrees with that of human annotators: MMBench, Fig. 5."""
    name = "extractor_agreement"
    labelled = {run: result for run, result in task.scored.items() if name in result.diagnostics}
    rows, counts = [], []
    for run, result in labelled.items():
        agreement = result.diagnostics[name]
        paths = [(group, "agreement") for group in _AGREEMENT]
        cells = (Cell(100 * number(agreement, *p), 2, "", interval(agreement, *p, factor=100)) for p in paths)
        rows.append(Row((f"{(result.scores or {}).get('judge') or 'no judge'} on {run}",), tuple(cells)))
        counts.append(" and ".join(f"{(agreement[group] or {'n': 0})['n']}" for group in _AGREEMENT))
    if not rows:
        return None
    return Chart(
        task.key.file_name("agreement"),
        "dots",
        "agreement with human annotators",
        tuple(_AGREEMENT.values()),
        tuple(rows),
        "same choice, in % of replies",
        "As in MMBench, Fig. 5, which has only the first group. "
        f"{'; '.join(dict.fromkeys(counts))} replies were labelled by human annotators. {_WHISKERS}",
        (0, 100),
    )


def _convergence(task: ReportedTask) -> Chart | None:
    """Correlation with the opinion scores over the rounds of pairs: 2AFC, Fig. 3."""
    name = "convergence"
    curves = {label: r.diagnostics[name] for label, r in task.scored.items() if name in r.diagnostics}
    points = [point for curve in curves.values() for point in curve["curve"]]
    score = next((s for s in correlations_of(PAIRS) if any(not math.isnan(number(p, s.key)) for p in points)), None)
    if score is None:
        return None
    rounds = max((curve["curve"] for curve in curves.values()), key=len)

    def row(label: str, points: Sequence[Any], *, is_model: bool = False) -> Row:
        values = [number(point, score.key) for point in points[: len(rounds)]]
        values += [math.nan] * (len(rounds) - len(values))
        return Row((label,), tuple(Cell(value, 3) for value in values), is_model=is_model)

    def bounds(name: str, points_of: Callable[[Mapping[str, Any]], Sequence[Any]]) -> list[Row]:
        rows = [row(f"{label}: {name}", points_of(curve)) for label, curve in curves.items()]
        return _merged([bound for bound in rows if any(math.isfinite(cell.value) for cell in bound.cells)], name)

    return Chart(
        task.key.file_name(name),
        "lines",
        name,
        tuple(f"{point.get('rounds')}" for point in rounds),
        (
            *(row(run, curve["curve"], is_model=True) for run, curve in curves.items()),
            *bounds("upper bound", lambda curve: curve["upper_bound"]),
            *bounds("limit of the scores", lambda curve: [curve.get("limit")] * len(rounds)),
        ),
        score.label,
        "As in 2AFC, Fig. 3. The upper bound is the correlation if every pair were answered in agreement with the "
        "human ratings.",
        label_axis="rounds",
    )


_MAKERS: tuple[Callable[[ReportedTask], Chart | None], ...] = (
    *(_headline_by_group, _scores_of_one_scale),
    *(_above_chance, _choice_distribution, _agreement_with_people, _convergence),
)


def _merged(rows: list[Row], label: str) -> list[Row]:
    """The rows, or a single one with this label if all show the same."""
    are_equal = len({tuple(cell.text for cell in row.cells) for row in rows}) == 1
    return [rows[0]._replace(labels=(label,))] if are_equal else rows


def _groups(task: ReportedTask, most: int) -> dict[str, list[str]]:
    """The groups of a task with their values, as long as there are not too many values."""
    known, chosen = known_task(task.key.task), dict[str, list[str]]()
    for group, values in task.groups.items():
        is_group = known is None or group in known.groups or f"by_{group}" == BY_DATABASE
        if is_group and sum(map(len, chosen.values())) + len(values) <= most:
            chosen[group] = values
    return chosen


def _columns(score: ScoreSpec, groups: Mapping[str, Sequence[str]]) -> Iterator[TableColumn]:
    for group, values in groups.items():
        for value in values:
            label = dataset_title(value) if f"by_{group}" == BY_DATABASE else value
            yield TableColumn.of(score, (f"by_{group}", value), label)


def _rows(task: ReportedTask, columns: Sequence[TableColumn]) -> list[Row]:
    return [Row((run,), tuple(cell(c, result.scores or {}) for c in columns)) for run, result in task.scored.items()]


def _first_scores(task: ReportedTask) -> Mapping[str, Any]:
    return next(iter(task.scored.values())).scores or {}


def _limits(score: ScoreSpec, task: ReportedTask) -> tuple[float, float]:
    low, high = score.limits(_first_scores(task))
    factor = TableColumn.of(score).factor
    return factor * low, factor * high


def _dots(
    task: ReportedTask,
    name: str,
    title: str,
    scores: Sequence[ScoreSpec],
    columns: Sequence[TableColumn],
    breaks: tuple[int, ...] = (),
) -> Chart:
    """Scores of one scale with intervals, and the chance level of each that any run knows."""
    levels = [[chance_cell(column, result.scores or {}) for result in task.scored.values()] for column in columns]
    guesses = tuple(next((c for c in level if math.isfinite(c.value)), level[0]) for level in levels)
    has_chance = any(math.isfinite(cell.value) for cell in guesses)
    label = scores[0].label if len(set(scores)) == 1 else "score"
    low, high = _limits(scores[0], task)
    return Chart(
        task.key.file_name(name),
        "dots",
        title,
        tuple(column.label for column in columns),
        (*_rows(task, columns), *([Row((CHANCE,), guesses, is_model=False)] if has_chance else [])),
        f"{label}, in %" if columns[0].is_percent else label,
        _WHISKERS,
        (max(0, low), high),
        breaks=breaks,
        is_extra=False,
    )
