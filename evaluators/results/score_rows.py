"""Scores as lines of a table, for printed tables, reports and cards."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from eyechart.metrics.reply_counts import unparsed_replies
from eyechart.metrics.score_spec import ScoreSpec, Unit
from eyechart.metrics.scores import INTERVALS, specs_in
from eyechart.metrics.scoring.statistics.intervals import KINDS, PLAIN

_NONE = "no interval, as "
_MOST_UNPARSED = 0.2
"""Above this share of replies that could not be parsed, a run has no verdict."""
SPREAD_NOTE = "No interval for mean ± SD, which describes how repeats of the same items differ"
"""Why `repeat_rows` have no intervals."""
COLUMNS = ("score", "value", "95 % interval", "chance level", "n")


def score_rows(scores: Mapping[str, Any], group: str = "") -> Iterator[tuple[str, str, str, str, str]]:
    """The scores of a metric as texts for `COLUMNS`.

    Args:
        scores: Undefined values are nan.
        group: The group of the scores; "" for all items.
    """
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


def is_above_chance(spec: ScoreSpec, scores: Mapping[str, Any]) -> bool | None:
    """Whether the 95 % interval of a score is above its chance level.

    None without interval or chance level, and if too few replies could be parsed for a verdict.
    """
    bounds, chance = spec.bounds(scores), spec.chance_level(scores)
    if not bounds or chance is None or not spec.higher_is_better or math.isnan(bounds[0] + chance):
        return None
    return None if unparsed_line(scores) else bounds[0] > chance


def unparsed_line(scores: Mapping[str, Any], diagnostics: Mapping[str, Any] | None = None) -> str:
    """That too many replies could not be parsed for the scores to describe the model; "" if they do.

    Args:
        scores: What a metric returned.
        diagnostics: Those of the result; without any rating there is no score, and only these count the replies.
    """
    count, total = unparsed_replies(scores)
    if diagnostics and "unread" in diagnostics:
        count, total = diagnostics["unread"], diagnostics["replies"]
    if count <= _MOST_UNPARSED * total:
        return ""
    incomplete = "are cut off or empty" if "outcomes" in scores else "could not be parsed"
    return f"{count:,} of {total:,} replies {incomplete}: the score does not describe the model"


def verdict(found: Sequence[tuple[str, bool]]) -> str:
    """Which scores are better than chance, in one or two sentences.

    Args:
        found: Name of each score that has an interval and a chance level, and whether it is above; at least one.

    Examples:
        >>> verdict([("q_bench/perception", True), ("two_afc/coarse", False)])
        'Better than chance: 1 of 2 scores with a chance level. Not better: two_afc/coarse.'
    """
    below = [name for name, is_above in found if not is_above]
    if len(found) == 1:
        return f"{'Not better' if below else 'Better'} than chance: {found[0][0]}."
    count = f"{len(found) - len(below)} of {len(found)}" if below else f"all {len(found)}"
    others = f" Not better: {', '.join(below)}." if below else ""
    return f"Better than chance: {count} scores with a chance level.{others}"


def repeat_rows(repeats: Mapping[str, Any], scores: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str, str]]:
    """The same for several repeats: mean and sample standard deviation, pass@K, majority vote.

    Args:
        repeats: The diagnostics of that name; empty if missing.
        scores: The scores of the first repeat.
    """
    means, deviations = repeats.get("mean", {}), repeats.get("standard_deviation", {})
    for spec in specs_in(scores):
        if spec.key in means and spec.key in deviations:
            shown = f"{spec.shown(means[spec.key])} ± {spec.shown(deviations[spec.key])}"
            yield f"{spec.label}, mean ± SD of {repeats['count']} repeats", shown, "", "", ""
    yield from score_rows(repeats.get("choices", {}))


def interval_notes(
    results: Iterable[tuple[str, Mapping[str, Any]]],
    groups: Iterable[tuple[str, Mapping[str, Mapping[str, Any]]]] = (),
) -> list[str]:
    """How 95 % intervals were computed if items are not independent, and why scores have none.

    Args:
        results: Name of each result ("" if there is only one) and its scores; undefined scores are nan.
        groups: The same, with the scores of each shown group.

    Returns:
        A line for each kind of interval other than plain ones, and for each reason without interval.

    Examples:
        >>> about = {"accuracy": {"kind": "wilson-unread", "units": 40}}
        >>> interval_notes([("own", {"accuracy": 0.5, "n": 40, "intervals": about})])[0][-27:]
        ': own: accuracy (40 items).'
    """
    found = _places(results, groups)
    return [f"{_sentence(kind)}: {'; '.join(places)}." for kind, places in found.items()]


def _sentence(kind: str) -> str:
    return f"95 % {kind}" if kind.startswith("Wilson") else kind[0].upper() + kind[1:]


def _places(
    results: Iterable[tuple[str, Mapping[str, Any]]], groups: Iterable[tuple[str, Mapping[str, Mapping[str, Any]]]]
) -> Mapping[str, Iterable[str]]:
    """The scores with each kind of interval or reason without interval; those with plain intervals are left out."""
    found: dict[str, dict[str, None]] = {}
    for name, scores in results:
        alike: dict[tuple[str, str], list[str]] = {}
        for spec in _shown_specs(scores):
            if note := _note(spec, scores):
                alike.setdefault(note, []).append(spec.label)
        for (reason, units), labels in alike.items():
            found.setdefault(reason, {})[_named(name, f"{' / '.join(labels)}{units}")] = None
    for name, parts in groups:
        for reason, place in _group_notes(parts):
            found.setdefault(reason, {})[_named(name, place)] = None
    return found


def _named(name: str, place: str) -> str:
    return f"{name}: {place}" if name else place


def _group_notes(parts: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Kinds of intervals and reasons for none, with their scores and groups."""
    having: dict[str, list[str]] = {}
    noted: dict[str, dict[str, list[str]]] = {}
    for group, scores in parts.items():
        for spec in _shown_specs(scores, is_group=True):
            having.setdefault(spec.label, []).append(group)
            if note := _note(spec, scores):
                noted.setdefault(note[0], {}).setdefault(spec.label, []).append(group)
    for reason, by_label in noted.items():
        alike: dict[str, list[str]] = {}
        for label, of in by_label.items():
            alike.setdefault(_among(of, having[label]), []).append(label)
        yield from ((reason, f"{' / '.join(labels)} in {of}") for of, labels in alike.items())


def _among(groups: Sequence[str], everything: Sequence[str]) -> str:
    """Name some groups, or the groups that are excluded, whichever is shorter."""
    others = [group for group in everything if group not in groups]
    if not others:
        return "all groups" if len(groups) > 1 else groups[0]
    return ", ".join(groups) if len(groups) <= len(others) else f"all groups but {', '.join(others)}"


def plain_interval_note(results: Iterable[Mapping[str, Any]], groups: Iterable[Mapping[str, Any]]) -> str:
    """How the intervals that `interval_notes` does not mention were computed; "" if missing.

    Args:
        results: Scores of the shown results.
        groups: Scores of the shown groups.
    """
    shown = [
        (spec, scores)
        for parts, is_group in ((results, False), (groups, True))
        for scores in parts
        for spec in _shown_specs(scores, is_group=is_group)
    ]
    kinds = {scores.get(INTERVALS, {}).get(spec.key, {}).get("kind") for spec, scores in shown}
    words = [KINDS[kind] for kind in PLAIN if kind in kinds]
    return "; ".join(words)


def _shown_specs(scores: Mapping[str, Any], is_group: bool = False) -> Iterator[ScoreSpec]:
    """The scores that have a line."""
    for spec in specs_in(scores):
        # With nested scores, groups would have too many lines.
        if _is_shown(spec, scores) and not (is_group and "." in spec.key):
            yield spec


def _is_shown(spec: ScoreSpec, scores: Mapping[str, Any]) -> bool:
    return spec.in_table or (spec.above_zero and spec.value(scores) > 0)


def _note(spec: ScoreSpec, scores: Mapping[str, Any]) -> tuple[str, str] | None:
    """A score's kind of interval or why it has none, and its units; None for plain intervals."""
    if spec.no_interval:
        return f"{_NONE}{spec.no_interval}", ""
    about = scores.get(INTERVALS, {}).get(spec.key)
    if not about or about["kind"] in PLAIN or math.isnan(spec.value(scores)):
        return None
    kind, words = about["kind"], KINDS[about["kind"]]
    is_of_items = kind.startswith(("wilson", "paired")) or "unread" in kind
    of = "image" if "dyadic" in kind else "cluster" if "cluster" in kind else "item" if is_of_items else "unit"
    units = f" ({about['units']:,} {of}{'' if about['units'] == 1 else 's'})"
    return words, units


def _interval(spec: ScoreSpec, value: Sequence[float] | None) -> str:
    if not value or not all(math.isfinite(end) for end in value):
        return ""
    scale = 100 if spec.unit is Unit.FRACTION else 1
    low, high = (scale * end for end in value)
    digits = 2 if spec.unit in (Unit.FRACTION, Unit.PERCENT) else 3
    return f"{low:.{digits}f} to {high:.{digits}f}"
