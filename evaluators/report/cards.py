"""The top of a report: one card per paper with the headline score of each task."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from eyechart.evaluators.published import best_in_paper
from eyechart.evaluators.published.rendering import interval
from eyechart.evaluators.report.reported_task import BY_WORDS, ReportedTask
from eyechart.evaluators.results.score_rows import chance_note, is_above_chance, unparsed_note
from eyechart.evaluators.tasks import Paper, paper_of
from eyechart.metrics.score_spec import Unit
from eyechart.metrics.scoring.judging.lexical import LEXICAL


class Strip(NamedTuple):
    """Where a score is on its scale, in percent of the strip's width; an interval has a left end and a width."""

    value: float
    interval: tuple[float, float] | None
    chance: float | None
    published: float | None


class CardValue(NamedTuple):
    """One run's headline score of a task."""

    run: str
    value: str
    between: str = ""
    """The 95 % interval; "" if missing."""
    strip: Strip | None = None
    """None if the score is undefined."""
    above_chance: bool | None = None
    """Whether the interval is above the chance level; None if either is unknown."""
    unparsed: str = ""
    """That too many replies could not be parsed; "" if not."""


class CardScore(NamedTuple):
    """One task on a card."""

    task: ReportedTask
    values: list[CardValue]
    label: str = ""
    chance: str = ""
    published: str = ""
    """The best value in the paper with its source; "" if missing, or if none is comparable without a judge."""
    note: str = ""
    """That words were compared, not judged; "" if a run had a judge or needs none."""
    ticks: Sequence[tuple[float, str]] = ()
    """Positions and labels of the ticks of all strips."""


Cards = Mapping[Paper, Sequence[CardScore]]
"""The scores of each paper."""


def cards(tasks: Sequence[ReportedTask]) -> Cards:
    """One card per paper that has scores, in the order of the runs; an average replaces its databases."""
    by_paper: dict[Paper, list[CardScore]] = {}
    averaged = {task.key.task for task in tasks if task.is_average and task.results}
    for task in tasks:
        if task.is_average or task.key.task not in averaged:
            score = _card_score(task)
            if score.values:
                by_paper.setdefault(paper_of(task.key.task), []).append(score)
    return by_paper


def _card_score(task: ReportedTask) -> CardScore:
    spec = task.headline
    notes = {label: unparsed_note(result.scores or {}, result.diagnostics) for label, result in task.results.items()}
    unparsed = {label: note.text if note else "" for label, note in notes.items()}
    if spec is None:
        # Without a single rating there is no score.
        return CardScore(
            task, [CardValue(label, "no score", unparsed=text) for label, text in unparsed.items() if text]
        )
    scores = {label: result.scores for label, result in task.results.items() if result.scores is not None}
    levels = (spec.chance_level(of_run) for of_run in scores.values())
    chance = next((level for level in levels if isinstance(level, int | float)), None)
    # Comparing words is on another scale than a judge's scores.
    judged = {label: of_run.get("judge") != LEXICAL for label, of_run in scores.items()}
    best = best_in_paper(*task.key, spec) if any(judged.values()) else None
    values = {label: value for label, of_run in scores.items() if isinstance(value := spec.value(of_run), int | float)}
    ends = {label: interval(scores[label], *spec.key.split(".")) for label in values}
    bottom, top = spec.limits(next(iter(scores.values())))
    # Correlations are seldom negative, so their scale begins at 0 if it can.
    bottom = 0.0 if (bottom, top) == (-1, 1) else bottom
    marks = [bottom, top, *values.values(), *(end for pair in ends.values() for end in pair or ()), chance]
    numbers = [*filter(math.isfinite, (mark for mark in (*marks, best and best.value) if mark is not None))]
    low, high = min(numbers), max(numbers)

    def position(mark: float) -> float:
        return round(100 * (mark - low) / (high - low), 2) if high > low else 50.0

    def strip(label: str) -> Strip | None:
        if not math.isfinite(values[label]):
            return None
        left, right = map(position, ends[label] or (low, low))
        between = (left, round(right - left, 2)) if ends[label] else None
        published = position(best.value) if best and judged[label] else None
        return Strip(position(values[label]), between, None if chance is None else position(chance), published)

    is_fraction, unit = spec.unit is Unit.FRACTION, " %" if spec.unit in (Unit.FRACTION, Unit.PERCENT) else ""
    top = top if math.isfinite(top) else high
    ticks = ((bottom, ""), ((bottom + top) / 2, ""), (top, unit))
    return CardScore(
        task,
        [
            CardValue(
                label,
                spec.shown(value),
                f"{spec.number(pair[0])} to {spec.shown(pair[1])}" if (pair := ends[label]) else "",
                strip(label),
                is_above_chance(spec, scores[label]),
                unparsed[label],
            )
            for label, value in values.items()
        ],
        spec.label,
        spec.shown(chance),
        "; ".join(filter(None, (f"{spec.shown(best.value)}, {best.model}, {best.table}", best.remark))) if best else "",
        "" if any(judged.values()) else BY_WORDS,
        [(position(mark), f"{100 * mark if is_fraction else mark:.3g}{text}") for mark, text in ticks],
    )


def against_chance(head: Cards) -> list[str]:
    """Which headline scores are better than chance, for each run."""
    by_run: dict[str, list[tuple[str, bool]]] = {}
    for paper, scores in head.items():
        titles = Counter(score.task.title for score in scores)
        for score in scores:
            data = f"({score.task.data})" if titles[score.task.title] > 1 else ""
            name = " ".join(filter(None, (paper.name, score.task.title, data)))
            for value in score.values:
                if value.above_chance is not None:
                    by_run.setdefault(value.run, []).append((name, value.above_chance))
    texts = {run: chance_note(scores).text for run, scores in by_run.items()}
    return [f"{run}: {text}" if len(texts) > 1 else text for run, text in texts.items()]
