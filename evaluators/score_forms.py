"""Whether scores that were read from a file have the form that metrics give them."""

import sys
from typing import Any

_NUMBERS = frozenset(
    {
        *("accuracy", "random_guess", "n", "circular_accuracy", "vanilla_accuracy", "n_questions"),
        *("score_cc", "score_rc", "score_sa", "answer_rate", "answer_accuracy", "score", "p0", "p1", "p2"),
        *("sum", "mean", "mean_score", "exact_match", "srcc", "plcc", "krcc", "plcc_fitted", "rmse_fitted"),
        *("consistency", "accuracy_all", "accuracy_consistent", "first_rate", "second_rate", "draw_rate"),
        *("exact", "random", "unmatched", "n_pairs", "n_images", "n_consistent", "n_vanilla"),
    }
)
"""Scores, as the metrics call them, that are numbers wherever they stand."""
_HOLDS = {
    "yes_no": ("mean", "n_yes", "n_no"),
    "extraction": (),
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


def _value_misfit(key: str, value: Any) -> str:
    if key in _NUMBERS:
        return "" if _is_number(value) else f": expected a number or null; it is {value!r:.60}"
    if key.endswith("_ci95"):
        return "" if _is_interval(value) else f": expected [low, high] or null; it is {value!r:.60}"
    if key in _HOLDS:
        lacking = [name for name in _HOLDS[key] if not isinstance(value, dict) or name not in value]
        if lacking or not isinstance(value, dict):
            return f": expected an object with {', '.join(_HOLDS[key]) or 'numbers'}; it is {value!r:.60}"
        return score_misfit(value)
    if key.startswith("by_") and value is not None:
        if not isinstance(value, dict):
            return f": expected an object; it is {value!r:.60}"
        for name, part in value.items():
            misfit = score_misfit(part) if isinstance(part, dict) else f": expected an object; it is {part!r:.60}"
            if misfit:
                return f".{name}{misfit}"
    return ""


def _is_number(value: Any) -> bool:
    # A whole number of JSON can be larger than any float, with which no score can be calculated.
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value is None or (is_number and abs(value) <= sys.float_info.max)


def _is_interval(value: Any) -> bool:
    return value is None or (isinstance(value, list) and len(value) == 2 and all(map(_is_number, value)))
