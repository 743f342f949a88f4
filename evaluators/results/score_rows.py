"""Scores as lines of a table, for printed tables, reports and cards."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from eyechart.metrics.score_spec import ScoreSpec, Unit
from eyechart.metrics.scores import INTERVALS, specs_in
from eyechart.metrics.scoring.statistics.intervals import KINDS, PLAIN

COLUMNS = ("score", "value", "95 % interval", "chance level", "n")


def score_rows(scores: Mapping[str, Any], group: str = "") -> Iterator[tuple[str, str, str, str, str]]:
    """What a metric returned as texts for `COLUMNS`.

    Args:
        scores: Undefined values are nan.
        group: The group that they are of; "" for all items.
    """
    for spec in specs_in(scores):
        # What stands within mappings would make the lines of groups too many.
        if _is_shown(spec, scores) and not (group and "." in spec.key):
            label = f"  {spec.label}" if spec.part_of else spec.label
            n = spec.n(scores)
            yield (
                f"  {group}: {label}" if group else label,
                spec.shown(spec.value(scores)),
                _interval(spec, spec.bounds(scores)),
                spec.shown(spec.chance_level(scores)),
                "" if n is None else "undefined" if math.isnan(n) else f"{n:,}",
            )


def repeat_rows(repeats: Mapping[str, Any], scores: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str, str]]:
    """What several repeats say together, likewise: mean and sample standard deviation, pass@K, majority vote.

    Args:
        repeats: The diagnostics of that name; empty where there are none.
        scores: Those of the first repeat.
    """
    means, deviations = repeats.get("mean", {}), repeats.get("standard_deviation", {})
    for spec in specs_in(scores):
        if spec.key in means and spec.key in deviations:
            shown = f"{spec.shown(means[spec.key])} ± {spec.shown(deviations[spec.key])}"
            yield f"{spec.label}, mean ± SD of {repeats['count']} repeats", shown, "", "", ""
    yield from score_rows(repeats.get("choices", {}))


def interval_notes(results: Iterable[tuple[str, Mapping[str, Any]]]) -> list[str]:
    """What 95 % intervals rest on where items have something in common, and why scores have none.

    Args:
        results: What names each result, "" where there is one alone, and its scores; undefined ones are nan.

    Returns:
        A line for each kind of interval that is not a plain one, and for each reason.

    Examples:
        >>> about = {"accuracy": {"kind": "wilson-unread", "units": 40}}
        >>> interval_notes([("own", {"accuracy": 0.5, "n": 40, "intervals": about})])[0][-27:]
        ': own: accuracy (40 items).'
    """
    found: dict[str, list[str]] = {}
    for name, scores in results:
        alike: dict[tuple[str, str], list[str]] = {}
        for spec in specs_in(scores):
            if _is_shown(spec, scores) and (note := _note(spec, scores)):
                alike.setdefault(note, []).append(spec.label)
        for (reason, units), labels in alike.items():
            place = f"{' / '.join(labels)}{units}"
            found.setdefault(reason, []).append(f"{name}: {place}" if name else place)
    return [f"{reason}: {'; '.join(places)}." for reason, places in found.items()]


def _is_shown(spec: ScoreSpec, scores: Mapping[str, Any]) -> bool:
    return spec.in_table or (spec.above_zero and spec.value(scores) > 0)


def _note(spec: ScoreSpec, scores: Mapping[str, Any]) -> tuple[str, str] | None:
    """In words, a score's kind of interval and its units, or why it has none; None where nothing is to be said."""
    if spec.no_interval:
        return f"No interval, as {spec.no_interval}", ""
    about = scores.get(INTERVALS, {}).get(spec.key)
    if not about or about["kind"] in PLAIN or math.isnan(spec.value(scores)):
        return None
    kind, words = about["kind"], KINDS[about["kind"]]
    is_share = kind.startswith(("wilson", "paired"))
    of = "images" if "dyadic" in kind else "clusters" if "cluster" in kind else "items" if is_share else "units"
    # Not `capitalize`, which would take the capitals of names away.
    return f"95 % {words}" if words.startswith(
        "Wilson"
    ) else f"{words[:1].upper()}{words[1:]}", f" ({about['units']:,} {of})"


def _interval(spec: ScoreSpec, value: Sequence[float] | None) -> str:
    if not value or not all(math.isfinite(end) for end in value):
        return ""
    scale = 100 if spec.unit is Unit.FRACTION else 1
    low, high = (scale * end for end in value)
    digits = 2 if spec.unit in (Unit.FRACTION, Unit.PERCENT) else 3
    return f"{low:.{digits}f} to {high:.{digits}f}"
