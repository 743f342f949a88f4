"""Scores as lines of a table, and notes about their intervals, for printed tables, reports and cards."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from eyechart.evaluators.results.notes import Note, note
from eyechart.metrics.reply_counts import unparsed_replies
from eyechart.metrics.score_spec import ScoreSpec
from eyechart.metrics.scores import INTERVALS, specs_in
from eyechart.metrics.scoring.statistics.intervals import PLAIN

_MOST_UNPARSED = 0.2
"""Above this share of replies that could not be parsed, a run has no verdict."""
COLUMNS = ("score", "value", "95 % interval", "chance level", "n")
Scores = Mapping[str, Any]
_Kind = tuple[str, str]
"""Code of the note about an interval, and the kind of interval or the reason for none."""


def score_rows(scores: Scores, group: str = "") -> Iterator[tuple[str, str, str, str, str]]:
    """The scores of a metric as texts for `COLUMNS`, of all items or of a group."""
    for spec in _shown_specs(scores, is_group=bool(group)):
        label = f"  {spec.label}" if spec.part_of else spec.label
        n = spec.n(scores)
        yield (
            f"  {group}: {label}" if group else label,
            spec.shown(spec.value(scores)),
            _interval(spec, spec.bounds(scores)),
            spec.shown(spec.chance_level(scores)),
            "" if n is None else "undefined" if math.isnan(n) else f"{n:,}",
        )


def is_above_chance(spec: ScoreSpec, scores: Scores) -> bool | None:
    """Whether a score's 95 % interval is above its chance level; None without them, or with few parsed replies."""
    bounds, chance = spec.bounds(scores), spec.chance_level(scores)
    if not bounds or chance is None or not spec.higher_is_better or math.isnan(bounds[0] + chance):
        return None
    return None if unparsed_note(scores) else bounds[0] > chance


def unparsed_note(scores: Scores, diagnostics: Mapping[str, Any] | None = None) -> Note | None:
    """That too many replies could not be parsed for the scores to describe the model; None if they do."""
    count, total = unparsed_replies(scores)
    # Without any rating there is no score, and only the diagnostics count the replies.
    if diagnostics and "unread" in diagnostics:
        count, total = diagnostics["unread"], diagnostics["replies"]
    if count <= _MOST_UNPARSED * total:
        return None
    return note("mostly_unparsed", unparsed=count, of=total, are_texts="outcomes" in scores)


def chance_note(scores: Sequence[tuple[str, bool]]) -> Note:
    """Which scores are better than chance, from their names and whether each is; at least one."""
    below = [name for name, is_above in scores if not is_above]
    return note("chance", above=[name for name, is_above in scores if is_above], below=below)


def repeat_rows(repeats: Mapping[str, Any], scores: Scores) -> Iterator[tuple[str, str, str, str, str]]:
    """Rows about the diagnostics of repeats: mean and sample standard deviation."""
    means, deviations = repeats.get("mean", {}), repeats.get("standard_deviation", {})
    for spec in specs_in(scores):
        if spec.key in means and spec.key in deviations:
            shown = f"{spec.shown(means[spec.key])} ± {spec.shown(deviations[spec.key])}"
            yield f"{spec.label}, mean ± SD of {repeats['count']} repeats", shown, "", "", ""


def interval_notes(
    results: Iterable[tuple[str, Scores]], groups: Iterable[tuple[str, Mapping[str, Scores]]] = ()
) -> list[Note]:
    """A note for each kind of 95 % interval other than plain ones, and for each reason why a score has none.

    Results are given by name, "" if there is only one; `groups` has the scores of each shown group of them.
    """
    texts: list[tuple[_Kind, str]] = []
    for lead, scores in ((name and f"{name}: ", scores) for name, scores in results):
        specs = [(spec, kind) for spec in _shown_specs(scores) if (kind := _kind(spec, scores))]
        alike = _grouped(((kind, _units(spec, scores)), spec.label) for spec, kind in specs)
        texts += [(kind, f"{lead}{' / '.join(labels)}{units}") for (kind, units), labels in alike.items()]
    for lead, parts in ((name and f"{name}: ", parts) for name, parts in groups):
        shown = [(spec, group) for group, scores in parts.items() for spec in _shown_specs(scores, is_group=True)]
        kinds = [(spec.label, group, kind) for spec, group in shown if (kind := _kind(spec, parts[group]))]
        all_groups = _grouped((spec.label, group) for spec, group in shown)
        of_label = _grouped(((kind, label), group) for label, group, kind in kinds)
        # Scores share a text if they have an interval of one kind in the same groups.
        alike = _grouped(
            ((kind, "all groups" if of == all_groups[label] and len(of) > 1 else ", ".join(of)), label)
            for (kind, label), of in of_label.items()
        )
        texts += [(kind, f"{lead}{' / '.join(labels)} in {where}") for (kind, where), labels in alike.items()]
    return [note(code, kind=kind, scores=scores) for (code, kind), scores in _grouped(texts).items()]


def _grouped(pairs: Iterable[tuple[Any, str]]) -> dict[Any, list[str]]:
    """The texts of each key, each once, in the order given."""
    groups: dict[Any, dict[str, None]] = {}
    for key, text in pairs:
        groups.setdefault(key, {})[text] = None
    return {key: list(texts) for key, texts in groups.items()}


def plain_interval_note(
    results: Iterable[tuple[str, Scores]], groups: Iterable[tuple[str, Mapping[str, Scores]]]
) -> Note | None:
    """How the intervals that `interval_notes` does not mention were computed; None if there are none."""
    parts = [(scores, False) for _, scores in results]
    parts += [(scores, True) for _, of_groups in groups for scores in of_groups.values()]
    kinds = {_about(spec, scores).get("kind") for scores, is_group in parts for spec in _shown_specs(scores, is_group)}
    plain = [kind for kind in PLAIN if kind in kinds]
    return note("plain_intervals", kinds=plain) if plain else None


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
    """A score's kind of interval or why it has none; None for plain intervals."""
    if spec.no_interval:
        return "no_interval", spec.no_interval
    kind = _about(spec, scores).get("kind")
    return None if kind is None or kind in PLAIN or math.isnan(spec.value(scores)) else ("interval", kind)


def _units(spec: ScoreSpec, scores: Scores) -> str:
    """The number of units of a score's interval, such as " (12 clusters)"."""
    if spec.no_interval:
        return ""
    kind, units = _about(spec, scores)["kind"], _about(spec, scores)["units"]
    is_of_items = kind.startswith(("wilson", "paired")) or "unread" in kind
    of = "image" if "dyadic" in kind else "cluster" if "cluster" in kind else "item" if is_of_items else "unit"
    return f" ({units:,} {of}{'' if units == 1 else 's'})"


def _interval(spec: ScoreSpec, bounds: Sequence[float] | None) -> str:
    return " to ".join(map(spec.number, bounds)) if bounds and all(map(math.isfinite, bounds)) else ""
