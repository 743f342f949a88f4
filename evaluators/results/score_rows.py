"""Scores as lines of a table, and notes about their intervals, for printed tables, reports and cards."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from eyechart.evaluators.results.finished_runs import TaskKey
from eyechart.evaluators.results.notes import Note, grouped, note
from eyechart.evaluators.results.results_file import AVERAGE, TaskResult
from eyechart.metrics.reply_counts import are_texts, unparsed_replies
from eyechart.metrics.score_spec import ScoreSpec
from eyechart.metrics.scores import INTERVALS, specs_in
from eyechart.metrics.scoring.statistics.intervals import PLAIN

COLUMNS = ("score", "value", "95 % interval", "chance level", "n")
_Result = TypeVar("_Result", TaskResult, TaskKey)
ScoreRow = tuple[str, ...]
Scores = Mapping[str, Any]
_PLAIN = "plain_intervals"
_Kind = tuple[str, str]
"""Code of the note about an interval, and the kind of interval or the reason for none."""


def headlines(results: Sequence[_Result]) -> list[_Result]:
    """The results whose headline scores represent a run: an average replaces its databases."""
    averaged = {result.task for result in results if result.dataset == AVERAGE}
    return [result for result in results if result.dataset == AVERAGE or result.task not in averaged]


def headline_row(result: TaskResult) -> ScoreRow | None:
    """The headline score as texts for `COLUMNS`; None if there is none."""
    spec = result.headline_spec()
    return None if spec is None else _row(spec, result.scores or {})


def named_headlines(results: Sequence[TaskResult]) -> list[ScoreRow]:
    """The headline scores that represent a run, each behind its task and data."""
    shown = [(TaskKey(each.task, each.dataset, each.split).title, headline_row(each)) for each in headlines(results)]
    return [(title, *row) for title, row in shown if row is not None]


def score_rows(scores: Scores, group: str = "") -> Iterator[ScoreRow]:
    """The scores of a metric as texts for `COLUMNS`, of all items or of a group."""
    for spec in _shown_specs(scores, is_group=bool(group)):
        label, *texts = _row(spec, scores)
        label = f"  {label}" if spec.part_of else label
        yield (f"  {group}: {label}" if group else label, *texts)


def _row(spec: ScoreSpec, scores: Scores) -> ScoreRow:
    n, bounds = spec.n(scores), spec.bounds(scores)
    return (
        spec.label,
        spec.shown(spec.value(scores)),
        " to ".join(map(spec.number, bounds)) if bounds and all(map(math.isfinite, bounds)) else "",
        spec.shown(spec.chance_level(scores)),
        "" if n is None else "undefined" if math.isnan(n) else f"{n:,}",
    )


def is_above_chance(result: TaskResult) -> bool | None:
    """Whether the headline's 95 % interval is above its chance level; None without them, or with few parsed replies."""
    scores, spec = result.scores or {}, result.headline_spec()
    if spec is None or not spec.higher_is_better or unparsed_note(result):
        return None
    bounds, chance = spec.bounds(scores), spec.chance_level(scores)
    return bounds[0] > chance if bounds and chance is not None and not math.isnan(bounds[0] + chance) else None


def unparsed_note(result: TaskResult) -> Note | None:
    """That over 20 % of the replies could not be parsed, so the scores do not describe the model; None if they do."""
    scores = result.scores or {}
    count, total = unparsed_replies(scores, result.diagnostics)
    if count <= 0.2 * total:
        return None
    return note("mostly_unparsed", unparsed=count, of=total, are_texts=are_texts(scores))


def repeat_rows(repeats: Mapping[str, Any], scores: Scores) -> Iterator[ScoreRow]:
    """Rows about the diagnostics of repeats: mean and sample standard deviation."""
    means, deviations = repeats.get("mean", {}), repeats.get("standard_deviation", {})
    for spec in specs_in(scores):
        if spec.key in means and spec.key in deviations:
            shown = f"{spec.shown(means[spec.key])} ± {spec.shown(deviations[spec.key])}"
            yield f"{spec.label}, mean ± SD of {repeats['count']} repeats", shown, "", "", ""


def interval_notes(
    results: Iterable[tuple[str, Scores]], groups: Iterable[tuple[str, Mapping[str, Scores]]] = ()
) -> list[Note]:
    """A note for each kind of 95 % interval, the plain ones in one, and for each reason why a score has none.

    Results are given by name, "" if there is only one; `groups` has the scores of each shown group of them.
    """
    named = [*((name, {"": scores}) for name, scores in results), *groups]
    texts = grouped(
        (kind, f"{name}: {text}" if name else text) for name, parts in named for kind, text in _kinds(parts)
    )
    plain = [kind for kind in PLAIN if texts.pop((_PLAIN, kind), None)]
    notes = [note(code, kind=kind, scores=scores) for (code, kind), scores in texts.items()]
    return [*notes, *([note(_PLAIN, kinds=plain)] if plain else [])]


def headline_intervals(results: Iterable[tuple[str, TaskResult]]) -> list[Note]:
    """The same about headline scores alone, without the scores that never have an interval."""
    shown = []
    for name, result in results:
        scores, spec = result.scores or {}, result.headline_spec()
        kinds = {key: kind for key, kind in scores.get(INTERVALS, {}).items() if spec and key == spec.key}
        shown.append((name, {**scores, INTERVALS: kinds}))
    return [each for each in interval_notes(shown) if each.code == "interval"]


def _shown_specs(scores: Scores, is_group: bool = False) -> Iterator[ScoreSpec]:
    """The scores that have a line."""
    for spec in specs_in(scores):
        is_shown = spec.in_table or (spec.above_zero and spec.value(scores) > 0)
        # With nested scores, groups would have too many lines.
        if is_shown and not (is_group and "." in spec.key):
            yield spec


def _about(spec: ScoreSpec, scores: Scores) -> Mapping[str, Any]:
    """The kind and the units of a score's interval; empty if it has none."""
    about: Mapping[str, Any] = scores.get(INTERVALS, {}).get(spec.key, {})
    return about


def _kind(spec: ScoreSpec, scores: Scores) -> _Kind | None:
    """A score's kind of interval or why it has none; None if neither is known."""
    if spec.no_interval:
        return "no_interval", spec.no_interval
    kind = _about(spec, scores).get("kind")
    if kind is None or math.isnan(spec.value(scores)):
        return None
    return _PLAIN if kind in PLAIN else "interval", kind


def _kinds(parts: Mapping[str, Scores]) -> Iterator[tuple[_Kind, str]]:
    """Kinds of intervals, each with its scores and where: "CircularEval / accuracy in all groups"; "" is all items."""
    shown = [(spec, group) for group, scores in parts.items() for spec in _shown_specs(scores, is_group=bool(group))]
    all_groups = grouped((spec.label, group) for spec, group in shown)
    of_label = grouped(
        ((kind, spec.label, "" if group else _units(spec, parts[group])), group)
        for spec, group in shown
        if (kind := _kind(spec, parts[group]))
    )
    alike = []
    for (kind, label, units), names in of_label.items():
        is_everywhere = len(names) > 1 and names == all_groups[label]
        where = units if names == [""] else f" in {'all groups' if is_everywhere else ', '.join(names)}"
        alike.append(((kind, where), label))
    for (kind, where), labels in grouped(alike).items():
        yield kind, f"{' / '.join(labels)}{where}"


def _units(spec: ScoreSpec, scores: Scores) -> str:
    """The number of units of a score's interval, such as " (12 clusters)"."""
    if spec.no_interval:
        return ""
    kind, units = _about(spec, scores)["kind"], _about(spec, scores)["units"]
    shared = "image" if spec.images else "cluster"
    of = shared if kind == "wilson-clustered" else "item" if kind.startswith("wilson") else "unit"
    return f" ({units:,} {of}{'' if units == 1 else 's'})"
