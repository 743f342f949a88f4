"""Whether scores that were read from a file have the form that metrics give them."""

import sys
from collections.abc import Callable, Mapping
from typing import Any

from eyechart.evaluators.results.score_ranges import COUNTS, RANGES

_NUMBERS = frozenset({*RANGES, *COUNTS, "random", "unmatched"})
"""Scores, as the metrics call them, that are numbers wherever they stand."""
_HOLDS = {
    "yes_no": ("mean", "n_yes", "n_no"),
    "extraction": (),
    "choice_distribution": ("predicted", "correct"),
    **dict.fromkeys(("completeness", "preciseness", "precision", "relevance"), ("score",)),
}
"""Scores that are objects, and what each holds."""


def score_misfit(scores: dict[str, Any]) -> str:
    """Where a text or a list stands in place of a number, with which what reads results calculates; "" if nowhere.

    Args:
        scores: What a metric returned, undefined values as None.

    Returns:
        The path of the first such place, what is expected there and what there is.
    """
    for key, value in scores.items():
        misfit = _value_misfit(key, value)
        if misfit:
            return f".{key}{misfit}"
    return ""


def extras_misfit(extras: dict[str, Any]) -> str:
    """The same for what else the answers tell, as far as it is read.

    Args:
        extras: What an evaluator returned, undefined values as None.
    """
    found = ((name, check(extras[name])) for name, check in _EXTRAS.items() if name in extras)
    return next((f".{name}{misfit}" for name, misfit in found if misfit), "")


def _value_misfit(key: str, value: Any) -> str:
    if key in _NUMBERS:
        return "" if _is_number(value) else f": expected a number or null; it is {value!r:.60}"
    if key.endswith("_ci95"):
        return "" if _is_interval(value) else f": expected [low, high] or null; it is {value!r:.60}"
    if key in _HOLDS:
        lacking = [name for name in _HOLDS[key] if not isinstance(value, dict) or name not in value]
        if lacking or not isinstance(value, dict):
            return f": expected an object with {', '.join(_HOLDS[key]) or 'numbers'}; it is {value!r:.60}"
        return _shares_misfit(value) if key == "choice_distribution" else score_misfit(value)
    return _parts_misfit(value) if key.startswith("by_") and value is not None else ""


def _shares_misfit(value: dict[str, Any]) -> str:
    """The same for shares of letters, some of each kind."""
    for kind, shares in value.items():
        if not isinstance(shares, dict):
            return f".{kind}: expected an object; it is {shares!r:.60}"
        for letter, share in shares.items():
            if not _is_number(share):
                return f".{kind}.{letter}: expected a number or null; it is {share!r:.60}"
    return ""


def _parts_misfit(value: Any) -> str:
    """The same for scores by parts of the data."""
    if not isinstance(value, dict):
        return f": expected an object; it is {value!r:.60}"
    found = ((name, _part_misfit(part)) for name, part in value.items())
    return next((f".{name}{misfit}" for name, misfit in found if misfit), "")


def _rows_misfit(value: Any, check: Callable[[Any], str]) -> str:
    """The same for a list of scores."""
    if not isinstance(value, list):
        return f": expected a list; it is {value!r:.60}"
    found = ((place, check(row)) for place, row in enumerate(value))
    return next((f"[{place}]{misfit}" for place, misfit in found if misfit), "")


def _part_misfit(value: Any) -> str:
    return score_misfit(value) if isinstance(value, dict) else f": expected an object; it is {value!r:.60}"


def _average_misfit(value: Any) -> str:
    """The same for an average of some parts, which it names."""
    misfit = _part_misfit(value)
    if misfit:
        return misfit
    over, weights = value.get("over"), value.get("weights")
    if not isinstance(over, list) or not all(isinstance(name, str) for name in over):
        return f".over: expected a list of texts; it is {over!r:.60}"
    return "" if isinstance(weights, str) else f".weights: expected a text; it is {weights!r:.60}"


def _convergence_misfit(value: Any) -> str:
    """The same for curves, each of which has scores at each of its points."""
    if not isinstance(value, dict):
        return f": expected an object; it is {value!r:.60}"
    for name in ("curve", "upper_bound"):
        misfit = _rows_misfit(value.get(name), _part_misfit)
        if misfit:
            return f".{name}{misfit}"
    misfit = _part_misfit(value.get("limit", {}))
    return f".limit{misfit}" if misfit else ""


def _agreement_misfit(value: Any) -> str:
    """The same for agreement with people, on all replies and on some, of which there may be none."""
    if not isinstance(value, dict):
        return f": expected an object; it is {value!r:.60}"
    lacking = [name for name in ("all", "after_exact") if name not in value]
    if lacking:
        return f": expected an object with all, after_exact; it is {value!r:.60}"
    found = ((name, _part_misfit(value[name] or {})) for name in ("all", "after_exact"))
    return next((f".{name}{misfit}" for name, misfit in found if misfit), "")


_EXTRAS: Mapping[str, Callable[[Any], str]] = {
    "table": _parts_misfit,
    "averages": lambda value: _rows_misfit(value, _average_misfit),
    "convergence": _convergence_misfit,
    "extractor_agreement": _agreement_misfit,
    "exclude_blind_solved": _part_misfit,
}
"""What else than scores is read from a file."""


def _is_number(value: Any) -> bool:
    # A whole number of JSON can be larger than any float, with which no score can be calculated.
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value is None or (is_number and abs(value) <= sys.float_info.max)


def _is_interval(value: Any) -> bool:
    return value is None or (isinstance(value, list) and len(value) == 2 and all(map(_is_number, value)))
