"""The top of a report: one card per paper with the headline score of each task."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from eyechart.evaluators.published import Best, best_in_paper
from eyechart.evaluators.published.rendering import interval
from eyechart.evaluators.report.reported_task import ReportedTask
from eyechart.evaluators.requests.values import is_number
from eyechart.evaluators.results.notes import note
from eyechart.evaluators.results.score_rows import headlines, is_above_chance, unparsed_note
from eyechart.evaluators.tasks import Paper, paper_of
from eyechart.metrics.scoring.judging.lexical import LEXICAL


class CardValue(NamedTuple):
    """One run's headline score of a task."""

    run: str
    text: str
    value: float = math.nan
    ends: tuple[float, float] | None = None
    """Its 95 % interval; None if missing."""
    between: str = ""
    """The interval as text."""
    above_chance: bool | None = None
    """Whether the interval is above the chance level; None if either is unknown."""
    unparsed: str = ""
    """That too many replies could not be parsed; "" if not."""
    is_judged: bool = True
    """Whether its scale is the paper's; that of a comparison of words is not."""


class CardScore(NamedTuple):
    """One task on a card."""

    task: ReportedTask
    values: list[CardValue]
    chance: float | None = None
    """The chance level; None if unknown."""
    best: Best | None = None
    """The best value in the paper; None if missing, or if none is comparable without a judge."""
    best_text: str = ""
    note: str = ""
    """That words were compared, not judged; "" if a run had a judge or needs none."""
    scale: tuple[float, float] = (0, 1)
    """Lowest and highest number that can be shown."""
    ticks: Sequence[tuple[float, str]] = ()
    """Numbers and labels of the ticks."""


def cards(tasks: Sequence[ReportedTask]) -> Mapping[Paper, Sequence[CardScore]]:
    """One card per paper that has scores, in the order of the runs; an average replaces its databases."""
    by_paper: dict[Paper, list[CardScore]] = {}
    shown = headlines([task.key for task in tasks if task.results])
    for score in (_card_score(task) for task in tasks if task.key in shown):
        if score.values:
            by_paper.setdefault(paper_of(score.task.key.task), []).append(score)
    return by_paper


def _card_score(task: ReportedTask) -> CardScore:
    spec = task.headline
    unparsed = {run: few.text if (few := unparsed_note(result)) else "" for run, result in task.results.items()}
    if spec is None:
        # Without a single rating there is no score.
        return CardScore(task, [CardValue(run, "no score", unparsed=text) for run, text in unparsed.items() if text])
    scores = {label: result.scores for label, result in task.results.items() if result.scores is not None}
    chance = next(filter(is_number, map(spec.chance_level, scores.values())), None)
    # Comparing words is on another scale than a judge's scores.
    is_judged = any(of_run.get("judge") != LEXICAL for of_run in scores.values())
    best = best_in_paper(*task.key, spec) if is_judged else None
    values = [
        CardValue(
            label,
            spec.shown(value),
            value,
            pair := interval(of_run, *spec.key.split(".")),
            f"{spec.number(pair[0])} to {spec.shown(pair[1])}" if pair else "",
            is_above_chance(task.results[label]),
            unparsed[label],
            of_run.get("judge") != LEXICAL,
        )
        for label, of_run in scores.items()
        if isinstance(value := spec.value(of_run), int | float)
    ]
    bottom, top = spec.limits(next(iter(scores.values())))
    # Correlations are seldom negative, so their scale begins at 0 if it can.
    bottom = 0.0 if (bottom, top) == (-1, 1) else bottom
    ends = [end for value in values for end in (value.value, *(value.ends or ()))]
    numbers = [*filter(is_number, (bottom, top, chance, best and best.value, *ends))]
    low, high = min(numbers), max(numbers)
    top = top if math.isfinite(top) else high
    unit = " %" if spec.is_percentage else ""
    return CardScore(
        task,
        values,
        chance,
        best,
        "; ".join(filter(None, (f"{spec.shown(best.value)}, {best.model}, {best.table}", best.remark))) if best else "",
        "" if is_judged else note("by_words").text,
        (low, high if high > low else low + 1),
        [(mark, f"{spec.scale * mark:.3g}{unit if mark == top else ''}") for mark in (bottom, (bottom + top) / 2, top)],
    )
