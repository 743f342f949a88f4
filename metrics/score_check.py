"""Checks that scores, for example from a file, are ones that a metric can return, by the table in `scores`."""

import sys
from collections.abc import Iterator, Mapping
from typing import Any

from eyechart.metrics.score_spec import ScoreSpec, Unit, value_at
from eyechart.metrics.scores import DIMENSIONS, FIT_PARAMETERS, INFINITY, INTERVALS, NAMED, OWN_RANGE, SCORES
from eyechart.metrics.scoring.statistics.intervals import KINDS, wilson_of_share

# Allows for rounding, as in a Kendall correlation of 1.0000000000000002.
_TOLERANCE = 1e-9
# Scores may have been rounded to six digits.
_ROUNDING = 2e-6

_SPECS = {found.key: found for found in SCORES}
_INTERVALS = {found.interval_key: found for found in SCORES if found.has_interval}
_STEPS = ("exact", "declared", "judge", "random", "unmatched")
_WHOLES = (
    *(tuple(f"{mapping}.{step}" for step in _STEPS) for mapping in ("extraction", "forced_extraction")),
    *(tuple(f"{name}.p{score}" for score in range(3)) for name in DIMENSIONS),
    ("first_rate", "second_rate", "draw_rate"),
)
"""Shares that must add up to 1."""
_TOTALS = (
    (("yes_no.yes", "yes_no.no"), "mean", "yes_no.mean"),
    (("score_cc", "score_rc"), "sum", "score_sa"),
    (tuple(f"{name}.score" for name in DIMENSIONS), "sum", "sum"),
    (tuple(f"{name}.score" for name in DIMENSIONS), "mean", "mean"),
)
"""Scores with their sum or mean. A template of a judge has some of the dimensions."""
_MAPPINGS = {key.rpartition(".")[0] for key in (*_SPECS, *NAMED)} - {""}


def misfits(scores: Mapping[str, Any], where: str = "scores") -> Iterator[str]:
    r"""A message for each value that no metric returns; an undefined score is None or nan.

    Examples:
        >>> print(*misfits({"accuracy": 2, "n": 1.5, "accuracy_ci95": [0.1, 0.9]}), sep="\n")
        scores.accuracy is 2; expected a number from 0 to 1
        scores.n is 1.5; expected a whole number of at least 0
    """
    yield from _misfits(scores, where, "")


def contradictions(scores: Mapping[str, Any], where: str = "scores") -> Iterator[str]:
    """A message for each contradiction of scores without `misfits`, overall or within a group."""
    for keys in _WHOLES:
        shares = [value_at(scores, key) for key in keys]
        if all(map(_is_defined, shares)) and abs(sum(shares) - 1) > _TOLERANCE:
            names = f"{', '.join(keys[:-1])} and {keys[-1]}"
            yield f"{where}.{names} add up to {sum(shares):g}; expected 1"
    for all_parts, what, whole in _TOTALS:
        present = [key for key in all_parts if key.partition(".")[0] in scores]
        *parts, total = [value_at(scores, key) for key in (*present, whole)]
        if not parts or not all(map(_is_defined, (*parts, total))):
            continue
        expected = sum(parts) / (len(parts) if what == "mean" else 1)
        if abs(expected - total) > _ROUNDING:
            yield f"{where}.{whole} is {total!r:.60}; expected the {what} of {' and '.join(present)}, {expected:g}"
    for found in _SPECS.values():
        if _is_defined(found.value(scores)):
            yield from _count_contradictions(found, scores, where)
        elif (bounds := found.bounds(scores)) and all(map(_is_defined, bounds)):
            yield f"{where}.{found.key} is undefined, but {found.interval_key} is {bounds!r:.60}"
    for name, parts in scores.items():
        if name.startswith("by_") and _are_mappings(parts):
            for part, own in parts.items():
                yield from contradictions(own, f"{where}.{name}.{part}")


def _count_contradictions(found: ScoreSpec, scores: Mapping[str, Any], where: str) -> Iterator[str]:
    """How a score contradicts its number of items, its parts and its interval."""
    value, counts = found.value(scores), _right_and_wrong(found, scores)
    least = most = value
    if n := sum(counts):
        if abs(counts[0] - round(counts[0])) > _ROUNDING * n:
            yield f"{where}.{found.key} is {value!r:.60}; no number of right answers to {n:g} items gives it"
        for name, parts in scores.items():
            if name.startswith("by_") and _are_mappings(parts):
                sums = map(sum, zip(*(_right_and_wrong(found, part) for part in parts.values()), strict=True))
                if any(part > whole + _ROUNDING * n for part, whole in zip(sums, counts, strict=False)):
                    yield f"{where}.{name} has more right or wrong answers than {found.key} of {n:g} items"
        # Answers that depend on each other make the interval wider; nothing makes it narrower.
        least, most = (found.high * end for end in wilson_of_share(min(max(counts[0] / n, 0), 1), n))
    low, high = found.bounds(scores) or (None, None)
    # The rounds of a judge and a bootstrap can give an interval without the score in it.
    is_around = found.is_percentage or str(value_at(scores, f"{INTERVALS}.{found.key}.kind")).startswith("jackknife")
    is_given = is_around and _is_defined(low) and _is_defined(high)
    if is_given and max(low - least, most - high) > _ROUNDING * found.high:
        yield f"{where}.{found.interval_key} is {[low, high]!r:.60}; expected at least {least:g} to {most:g}"


def _right_and_wrong(found: ScoreSpec, scores: Mapping[str, Any]) -> tuple[float, float]:
    """The numbers of right and of wrong answers that a share of items states; 0 for another score."""
    n, value = found.n(scores), found.value(scores)
    # Pairs of equal quality are left out of one of the shares.
    if not (found.is_percentage and found.of and n and _is_defined(value)) or scores.get("equal_quality"):
        return 0.0, 0.0
    return value / found.high * n, (1 - value / found.high) * n


def _is_defined(value: Any) -> bool:
    return value is not None and value == value


def _misfits(scores: Mapping[str, Any], where: str, prefix: str) -> Iterator[str]:
    for name, value in scores.items():
        place, key = f"{where}.{name}", f"{prefix}{name}"
        if not prefix and name.startswith("by_"):
            if _are_mappings(value):
                for part, own in value.items():
                    yield from _misfits(own, f"{place}.{part}", "")
            else:
                yield f"{place} is {value!r:.60}; expected an object of objects"
        elif key == INTERVALS:
            yield from _kind_misfits(value, place)
        elif key == OWN_RANGE:
            are_ends = isinstance(value, list) and len(value) == 2 and all(map(_is_number, value))
            if not are_ends or not value[0] < value[1]:
                yield f"{place} is {value!r:.60}; expected [low, high]"
        elif key in NAMED:
            yield from _named_misfits(value, place, NAMED[key][1])
        elif key in _MAPPINGS:
            yield from _mapping_misfits(value, place, key)
        elif expected := _expected_instead(key, value):
            yield f"{place} is {value!r:.60}; expected {expected}"


def _are_mappings(parts: Any) -> bool:
    return isinstance(parts, Mapping) and all(isinstance(part, Mapping) for part in parts.values())


def _named_misfits(values: Any, place: str, high: float) -> Iterator[str]:
    """The misfits of a mapping of names to numbers, or of one such mapping per pool."""
    if not isinstance(values, Mapping):
        yield f"{place} is {values!r:.60}; expected an object"
        return
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _named_misfits(value, f"{place}.{name}", high)
        elif not _is_within(value, 0.0, high):
            yield f"{place}.{name} is {value!r:.60}; expected a number from 0 to {high:g}"


def _kind_misfits(found: Any, place: str) -> Iterator[str]:
    """The misfits of `intervals`, by key of the score."""
    if not isinstance(found, Mapping):
        yield f"{place} is {found!r:.60}; expected an object"
        return
    for key, value in found.items():
        if key not in _SPECS or not _SPECS[key].has_interval:
            yield f"{place} names {key!r:.60}; expected a score with an interval"
        elif not isinstance(value, Mapping) or value.get("kind") not in list(KINDS):
            yield f"{place}.{key} is {value!r:.60}; expected a kind, one of {', '.join(KINDS)}, and units"
        elif type(value.get("units")) is not int or not 0 <= value["units"] <= sys.maxsize:
            yield f"{place}.{key}.units is {value.get('units')!r:.60}; expected a whole number of at least 0"


def _mapping_misfits(value: Any, place: str, key: str) -> Iterator[str]:
    """The misfits of a mapping that must contain all its declared keys."""
    expected = [name for name in (*_SPECS, *NAMED) if name.rpartition(".")[0] == key]
    missing = [name for name in expected if not isinstance(value, Mapping) or name.rpartition(".")[2] not in value]
    if missing:
        names = ", ".join(name.rpartition(".")[2] for name in expected)
        yield f"{place} is {value!r:.60}; expected an object with {names}"
    else:
        yield from _misfits(value, place, f"{key}.")


def _expected_instead(key: str, value: Any) -> str:
    """What was expected of a number, an interval or a fit; "" if the value is valid or its key is not declared."""
    if key in _INTERVALS:
        found = _INTERVALS[key]
        if value is None:
            return ""
        if not isinstance(value, list) or len(value) != 2 or not all(_fits(found, end) for end in value):
            return f"[low, high], {_range(found)}"
        ends = [end for end in value if end is not None]
        return "the lower end first" if len(ends) == 2 and ends[0] > ends[1] else ""
    if key == FIT_PARAMETERS and value is not None:
        are_numbers = isinstance(value, list) and all(map(_is_number, value))
        return "" if are_numbers and len(value) in (4, 5) else "the four or five parameters of a logistic"
    if key in _SPECS and not _fits(_SPECS[key], value):
        return _range(_SPECS[key])
    return ""


def _is_number(value: Any) -> bool:
    """Whether a value is a finite number; a whole number in JSON can be larger than any float."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _fits(found: ScoreSpec, value: Any) -> bool:
    if found.unit is Unit.COUNT:
        return value is not None and _is_within(value, 0.0, INFINITY) and value % 1 == 0
    return _is_within(value, found.low, found.high)


def _is_within(value: Any, low: float, high: float) -> bool:
    """Whether a value is undefined, or a number in a range."""
    is_undefined = value is None or (isinstance(value, float) and value != value)
    return is_undefined or (_is_number(value) and low - _TOLERANCE <= value <= high + _TOLERANCE)


def _range(found: ScoreSpec) -> str:
    if found.unit is Unit.COUNT:
        return "a whole number of at least 0"
    if found.low == -INFINITY:
        return "a number"
    if found.high == INFINITY:
        return f"a number of at least {found.low:g}"
    return f"a number from {found.low:g} to {found.high:g}"
