"""The top of a report: one card per paper with the headline score of each task."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from eyechart.evaluators.published import best_in_paper
from eyechart.evaluators.report.scores import BY_WORDS, title_of_data
from eyechart.evaluators.results.finished_runs import Run, TaskKey, merged_keys
from eyechart.evaluators.results.results_file import AVERAGE
from eyechart.evaluators.results.score_rows import chance_note, is_above_chance, unparsed_note
from eyechart.evaluators.tasks import Paper, paper_of, task_title
from eyechart.metrics.score_spec import ScoreSpec, Unit
from eyechart.metrics.scoring.judging.lexical import LEXICAL


class Strip(NamedTuple):
    """Where a score is on its scale; places are percentages of the strip's width."""

    place: float
    interval: tuple[float, float] | None
    """Left end and width."""
    chance: float | None
    published: float | None


@dataclass(frozen=True)
class CardValue:
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


@dataclass(frozen=True)
class CardScore:
    """One task on a card."""

    title: str
    data: str
    values: list[CardValue]
    label: str = ""
    chance: str = ""
    published: str = ""
    """The best value in the paper with its source; "" if missing, or if none is comparable without a judge."""
    note: str = ""
    """That words were compared, not judged; "" if a run had a judge or needs none."""
    ticks: Sequence[tuple[float, str]] = ()
    """Places and labels of the ticks of all strips."""


@dataclass(frozen=True)
class Card:
    """One paper."""

    paper: Paper
    scores: list[CardScore]


def cards(runs: Sequence[Run]) -> list[Card]:
    """One card per paper that has scores, in the order of the runs; an average replaces its databases."""
    by_paper: dict[Paper, list[CardScore]] = {}
    keys = merged_keys(runs)
    averaged = {key.task for key in keys if key.dataset == AVERAGE}
    for key in keys:
        if key.task not in averaged or key.dataset == AVERAGE:
            score = _card_score(key, runs)
            if score.values:
                by_paper.setdefault(paper_of(key.task), []).append(score)
    return [Card(paper, scores) for paper, scores in by_paper.items()]


def _card_score(key: TaskKey, runs: Sequence[Run]) -> CardScore:
    results = [(run.label, run.tasks[key]) for run in runs if key in run.tasks]
    spec = next((spec for _, result in results if (spec := result.headline_spec()) is not None), None)
    notes = {label: unparsed_note(result.scores or {}, result.diagnostics) for label, result in results}
    unparsed = {label: note.text if note else "" for label, note in notes.items()}
    values = []
    if spec is None:
        # Without a single rating there is no score.
        values = [CardValue(label, "no score", unparsed=text) for label, text in unparsed.items() if text]
        return CardScore(task_title(key.task), title_of_data(key), values)
    scores = [(label, result.scores) for label, result in results if result.scores is not None]
    levels = (spec.chance_level(of_run) for _, of_run in scores)
    chance = next((level for level in levels if isinstance(level, int | float)), None)
    # Comparing words is on another scale than a judge's scores.
    judged = {label: of_run.get("judge") != LEXICAL for label, of_run in scores}
    best = best_in_paper(key.task, key.dataset, key.split, spec) if any(judged.values()) else None
    own = {label: (spec.value(of_run), _finite_ends(spec.bounds(of_run))) for label, of_run in scores}
    limits = spec.limits(scores[0][1])
    marks = [*(value for value, _ in own.values()), *(end for _, ends in own.values() for end in ends), chance]
    scale = _Scale.of(limits, [*marks, best and best.value])
    for label, of_run in scores:
        value, ends = own[label]
        if isinstance(value, int | float):
            between = f"{spec.number(ends[0])} to {spec.shown(ends[1])}" if ends else ""
            strip = scale.strip(value, ends, chance, best.value if best and judged[label] else None)
            above = is_above_chance(spec, of_run)
            values.append(CardValue(label, spec.shown(value), between, strip, above, unparsed[label]))
    published = [spec.shown(best.value) + f", {best.model}, {best.table}", best.remark] if best else []
    return CardScore(
        task_title(key.task),
        title_of_data(key),
        values,
        spec.label,
        spec.shown(chance),
        "; ".join(filter(None, published)),
        "" if any(judged.values()) else BY_WORDS,
        scale.ticks(spec, limits),
    )


def _finite_ends(bounds: Sequence[float] | None) -> tuple[float, ...]:
    return tuple(bounds) if bounds and all(map(math.isfinite, bounds)) else ()


def against_chance(head: Sequence[Card]) -> list[str]:
    """Which headline scores are better than chance, for each run."""
    by_run: dict[str, list[tuple[str, bool]]] = {}
    for card in head:
        titles = Counter(score.title for score in card.scores)
        for score in card.scores:
            data = f"({score.data})" if titles[score.title] > 1 else ""
            name = " ".join(filter(None, (card.paper.name, score.title, data)))
            for value in score.values:
                if value.above_chance is not None:
                    by_run.setdefault(value.run, []).append((name, value.above_chance))
    texts = {run: chance_note(scores).text for run, scores in by_run.items()}
    return [f"{run}: {text}" if len(texts) > 1 else text for run, text in texts.items()]


class _Scale(NamedTuple):
    """The scale of the strips of one task."""

    low: float
    high: float

    @classmethod
    def of(cls, limits: tuple[float, float], marks: Sequence[float | None]) -> "_Scale":
        """The range of a score, widened to all marks. Correlations are seldom negative, so theirs begins at 0."""
        numbers = [mark for mark in (max(0.0, limits[0]), limits[1], *marks) if isinstance(mark, int | float)]
        ends = [*filter(math.isfinite, numbers)]
        return cls(min(ends), max(ends))

    def place(self, mark: float) -> float:
        """A place in percent of the strip's width."""
        return round(100 * (mark - self.low) / (self.high - self.low), 2) if self.high > self.low else 50.0

    def strip(self, value: float, ends: Sequence[float], chance: float | None, published: float | None) -> Strip | None:
        """The strip of one run; None if its score is undefined."""
        if not math.isfinite(value):
            return None
        left, right = map(self.place, ends) if ends else (0.0, 0.0)
        places = (None if mark is None else self.place(mark) for mark in (chance, published))
        return Strip(self.place(value), (left, round(right - left, 2)) if ends else None, *places)

    def ticks(self, spec: ScoreSpec, limits: tuple[float, float]) -> list[tuple[float, str]]:
        """Both ends of the score's range and its middle."""
        low, high = max(0.0, limits[0]), limits[1] if math.isfinite(limits[1]) else self.high
        factor = 100 if spec.unit is Unit.FRACTION else 1
        unit = " %" if spec.unit in (Unit.FRACTION, Unit.PERCENT) else ""
        marks = ((low, ""), ((low + high) / 2, ""), (high, unit))
        return [(self.place(mark), f"{factor * mark:.3g}{text}") for mark, text in marks]
