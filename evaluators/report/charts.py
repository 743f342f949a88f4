"""The charts of each task, as tables with a kind. What a chart shows follows from the declarations of the scores."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import Any, Literal

from eyechart.evaluators.comparison.history import History
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


@dataclass(frozen=True)
class Chart:
    """Values of several runs along the same labels."""

    key: str
    """File name without extension, unique in a report."""
    kind: Literal["dot plot", "radar chart", "line chart"]
    title: str
    """The title, without the task."""
    labels: tuple[str, ...]
    rows: tuple[Row, ...]
    """A row of values per run; chance levels and bounds, which have no colour of their own, are no models."""
    unit: str
    """Label of the axis of values."""
    note: str = ""
    limits: tuple[float, float] | None = None
    """Range of the axis of values; None fits it to the values and 0."""
    breaks: tuple[int, ...] = ()
    """Indices of labels that begin a group; dot plots leave a gap there."""
    is_extra: bool = True
    """Whether the page shows it only under "More figures"."""
    places: tuple[float, ...] = ()
    """Where the labels of a line chart, which are steps, are on their axis; without places, they are rounds."""

    @property
    def table(self) -> Table:
        """The values, with a row for each label."""
        heads = tuple(Head("", label) for label in self.labels)
        return Table(self.title, ("",), heads, self.rows).across()


def charts_of(task: ReportedTask) -> list[Chart]:
    """All charts of a task that have values; those under "More figures" come last."""
    if not (task.results and task.scored):
        return []
    first = (_headline_by_group, _scores_of_one_scale)
    more = (_above_chance, _choice_distribution, _agreement_with_people, _convergence)
    charts = [chart for make in (*first, *more) if (chart := make(task))]
    return [chart for chart in charts if any(math.isfinite(cell.value) for row in chart.rows for cell in row.cells)]


def history_chart(history: History) -> Chart:
    """The headline score of a task over the steps of a model, with its chance level."""
    column, results = TableColumn.of(history.score), list(history.results.values())
    scores = [result.scores or {} for result in results]
    guesses = tuple(chance_cell(column, each) for each in scores)
    has_chance = any(math.isfinite(guess.value) for guess in guesses)
    return Chart(
        history.key.file_name("history"),
        "line chart",
        f"{history.key.title}: {history.score.label} over steps",
        tuple(map(str, history.results)),
        (
            Row((history.key.title,), tuple(cell(column, each) for each in scores)),
            *([Row((CHANCE,), guesses, is_model=False)] if has_chance else []),
        ),
        f"{history.score.label}, in %" if column.is_percent else history.score.label,
        _WHISKERS,
        places=tuple(map(float, history.results)),
    )


def _headline_by_group(task: ReportedTask) -> Chart | None:
    """The headline score of all items and of each group."""
    score, groups = task.headline, _group_columns(task, _MOST)
    if score is None or not groups:
        return None
    columns = [TableColumn.of(score, (), "average" if task.is_average else "all items")]
    columns += chain.from_iterable(groups.values())
    breaks = tuple(accumulate(map(len, groups.values()), initial=1))[:-1]
    by = next(iter(groups)).replace("_", " ") if len(groups) == 1 else "group"
    return _dots(task, "groups", f"{score.label} by {by}", score, columns, breaks)


def _scores_of_one_scale(task: ReportedTask) -> Chart | None:
    """All scores of a task that have the same scale, such as the dimensions of descriptions: Q-Bench, Fig. 11."""
    scores = next(iter(task.scored.values())).scores or {}
    by_scale: dict[tuple[float, ...], list[ScoreSpec]] = {}
    for score in specs_in(scores):
        if score.in_table and score.unit not in (Unit.COUNT, Unit.CORRELATION):
            factor = TableColumn.of(score).factor
            by_scale.setdefault(tuple(factor * limit for limit in score.limits(scores)), []).append(score)
    shared = max(by_scale.values(), key=len, default=[])
    if len(shared) < _FEWEST:
        return None
    return _dots(task, "scores", "scores", shared[0], [TableColumn.of(score) for score in shared])


def _dots(
    task: ReportedTask,
    name: str,
    title: str,
    score: ScoreSpec,
    columns: Sequence[TableColumn],
    breaks: tuple[int, ...] = (),
) -> Chart:
    """Scores on the scale of one of them, with intervals, and the chance level of each that any run knows."""
    results = list(task.scored.values())
    levels = [[chance_cell(column, result.scores or {}) for result in results] for column in columns]
    guesses = tuple(next((c for c in level if math.isfinite(c.value)), level[0]) for level in levels)
    has_chance = any(math.isfinite(cell.value) for cell in guesses)
    low, high = (columns[0].factor * limit for limit in score.limits(results[0].scores or {}))
    unit = score.label if len({column.spec for column in columns}) == 1 else "score"
    return Chart(
        task.key.file_name(name),
        "dot plot",
        title,
        tuple(column.label for column in columns),
        (*_rows(task, columns), *([Row((CHANCE,), guesses, is_model=False)] if has_chance else [])),
        f"{unit}, in %" if columns[0].is_percent else unit,
        _WHISKERS,
        (max(0, low), high),
        breaks=breaks,
        is_extra=False,
    )


def _above_chance(task: ReportedTask) -> Chart | None:
    """The headline score minus its chance level by group, as the papers' radars."""
    score, columns = task.headline, [*chain.from_iterable(_group_columns(task, _MOST_SPOKES).values())]
    if score is None or len(columns) < _FEWEST:
        return None
    rows = []
    for row, result in zip(_rows(task, columns), task.scored.values(), strict=True):
        levels = [chance_cell(column, result.scores or {}).value for column in columns]
        values = [cell.value - level for cell, level in zip(row.cells, levels, strict=True)]
        rows.append(Row(row.labels, tuple(Cell(value, columns[0].digits) for value in values)))
    unit = ", in percentage points" if columns[0].factor == 100 else ""
    return Chart(
        task.key.file_name("radar"),
        "radar chart",
        f"{score.label} over {'databases' if task.is_average else 'groups'}",
        tuple(column.label for column in columns),
        tuple(rows),
        f"{score.label} minus chance level{unit}",
        "As in Q-Bench, Fig. 9 and 14. The bold ring, or the centre, marks the chance level.",
    )


def _choice_distribution(task: ReportedTask) -> Chart | None:
    """How often each letter is chosen, and how often it is right: MMBench, Fig. 4."""
    shares = {run: share for run, r in task.scored.items() if (share := (r.scores or {}).get("choice_distribution"))}
    if not shares:
        return None
    letters = sorted({letter for share in shares.values() for letter in share["correct"]})
    letters += ["none"] if any(number(share, "predicted", "none") > 0 for share in shares.values()) else []

    def row(label: str, share: Mapping[str, Any]) -> Row:
        # A run may lack some letters; "none" is never a correct answer.
        return Row((label,), tuple(Cell(100 * number({letter: 0, **share}, letter), 2) for letter in letters))

    # Runs on the same questions have the same correct answers.
    truths = [row(f"{run}: right answers", share["correct"]) for run, share in shares.items()]
    over = " or ".join(texts_of(task.scored, "distribution_over"))
    return Chart(
        task.key.file_name("choices"),
        "dot plot",
        "choice distribution",
        tuple(letters),
        (
            *_merged(truths, "right answers"),
            *(row(run, share["predicted"]) for run, share in shares.items()),
        ),
        "share of replies, in %",
        f"As in MMBench, Fig. 4.{f' Computed over {over}.' if over else ''}",
    )


def _agreement_with_people(task: ReportedTask) -> Chart | None:
    """How often the parsed letter agrees with that of human annotators: MMBench, Fig. 5."""
    rows, counts = [], []
    for run, result in task.scored.items():
        if agreement := result.diagnostics.get("extractor_agreement"):
            paths = [(group, "agreement") for group in _AGREEMENT]
            cells = (Cell(100 * number(agreement, *p), 2, "", interval(agreement, *p, factor=100)) for p in paths)
            rows.append(Row((f"{(result.scores or {}).get('judge') or 'no judge'} on {run}",), tuple(cells)))
            counts.append(" and ".join(f"{(agreement[group] or {'n': 0})['n']}" for group in _AGREEMENT))
    if not rows:
        return None
    return Chart(
        task.key.file_name("agreement"),
        "dot plot",
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
    curves = {run: curve for run, r in task.scored.items() if (curve := r.diagnostics.get("convergence"))}
    points = [point for curve in curves.values() for point in curve["curve"]]
    score = next((s for s in correlations_of(PAIRS) if any(not math.isnan(number(p, s.key)) for p in points)), None)
    if score is None:
        return None
    rounds = max((curve["curve"] for curve in curves.values()), key=len)

    def rows(suffix: str, points_of: Callable[[Mapping[str, Any]], Sequence[Any]]) -> list[Row]:
        rows = []
        for run, curve in curves.items():
            points = [*points_of(curve), *[None] * len(rounds)][: len(rounds)]
            cells = tuple(Cell(number(point, score.key), 3) for point in points)
            if any(math.isfinite(cell.value) for cell in cells):
                rows.append(Row((f"{run}{suffix}",), cells, is_model=not suffix))
        return rows

    bounds = rows(": upper bound", lambda curve: curve["upper_bound"])
    limits = rows(": limit of the scores", lambda curve: [curve.get("limit")] * len(rounds))
    return Chart(
        task.key.file_name("convergence"),
        "line chart",
        "convergence",
        tuple(f"{point.get('rounds')}" for point in rounds),
        (
            *rows("", lambda curve: curve["curve"]),
            *_merged(bounds, "upper bound"),
            *_merged(limits, "limit of the scores"),
        ),
        score.label,
        "As in 2AFC, Fig. 3. The upper bound is the correlation if every pair were answered in agreement with the "
        "human ratings.",
    )


def _merged(rows: list[Row], label: str) -> list[Row]:
    """The rows, or a single one with this label if all show the same."""
    are_equal = len({tuple(cell.text for cell in row.cells) for row in rows}) == 1
    return [rows[0]._replace(labels=(label,))] if are_equal else rows


def _group_columns(task: ReportedTask, most: int) -> dict[str, list[TableColumn]]:
    """The columns of the headline by the values of each group, as long as there are not too many."""
    known, columns = known_task(task.key.task), dict[str, list[TableColumn]]()
    for group, values in task.groups.items():
        is_database = f"by_{group}" == BY_DATABASE
        is_group = known is None or group in known.groups or is_database
        if task.headline and is_group and sum(map(len, columns.values())) + len(values) <= most:
            columns[group] = [
                TableColumn.of(task.headline, (f"by_{group}", value), dataset_title(value) if is_database else value)
                for value in values
            ]
    return columns


def _rows(task: ReportedTask, columns: Sequence[TableColumn]) -> list[Row]:
    return [Row((run,), tuple(cell(c, result.scores or {}) for c in columns)) for run, result in task.scored.items()]
