"""The range in which each score can lie."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from eyechart.evaluators.requests.values import brief, is_number


@dataclass(frozen=True)
class Range:
    """Where a score can lie."""

    low: float
    high: float


_FRACTION = Range(0.0, 1.0)
_PERCENT = Range(0.0, 100.0)
_CORRELATION = Range(-1.0, 1.0)
_RATING = Range(0.0, 2.0)

RANGES: Mapping[str, Range] = {
    **dict.fromkeys(("accuracy", "random_guess", "yes", "no", "exact", "p0", "p1", "p2"), _FRACTION),
    **dict.fromkeys(("circular_accuracy", "vanilla_accuracy", "circular", "vanilla"), _FRACTION),
    **dict.fromkeys(("answer_rate", "answer_accuracy"), _FRACTION),
    **dict.fromkeys(("score_cc", "score_rc", "score_sa"), _PERCENT),
    "agreement": _FRACTION,
    **dict.fromkeys(("consistency", "accuracy_all", "accuracy_consistent"), _FRACTION),
    **dict.fromkeys(("first_rate", "second_rate", "draw_rate"), _FRACTION),
    **dict.fromkeys(("srcc", "plcc", "krcc", "plcc_fitted"), _CORRELATION),
    **dict.fromkeys(("score", "mean"), _RATING),
    "sum": Range(0.0, 6.0),
    "mean_score": Range(1.0, 5.0),
    "exact_match": _FRACTION,
    "rmse_fitted": Range(0.0, float("inf")),
}
"""The range of a score by its key, wherever it stands; `<key>_ci95` is an interval in the same range."""
COUNTS = frozenset(
    {
        *("n", "n_questions", "n_vanilla", "n_passes", "n_pairs", "n_images", "n_consistent", "n_refused"),
        *("n_yes", "n_no", "n_pools", "dropped", "equal_quality", "forced_unmatched", "failed_rounds", "unscored"),
    }
)
"""Keys of whole numbers from 0 on, wherever they stand."""
# Rounding, as in a Kendall correlation of 1.0000000000000002.
_TOLERANCE = 1e-9


def range_misfits(scores: Mapping[str, Any], where: str = "scores") -> Iterator[str]:
    """Every score that no metric returns.

    Args:
        scores: Of a result from `read_results`.
        where: Their place in the result.

    Yields:
        The place, the value and what was expected.
    """
    for key, value in scores.items():
        # The scores of single images have names as keys.
        if isinstance(value, Mapping) and key != "scores":
            yield from range_misfits(value, _place(where, key))
        elif expected := _expected_instead(key, value):
            yield f"{_place(where, key)} is {brief(value)}; expected {expected}"


def _place(where: str, key: str) -> str:
    return f"{where}.{brief(key)[1:-1]}"


def _expected_instead(key: str, value: Any) -> str:
    """What was expected of a score; "" if it is that."""
    if key in COUNTS:
        return "" if is_number(value) and value >= 0 and value == int(value) else "a whole number from 0 on"
    if isinstance(value, list) and key.endswith("_ci95"):
        score = key.removesuffix("_ci95")
        if not all(_is_within(score, bound) for bound in value):
            return _range(score)
        return "the lower bound first" if None not in value and value[0] > value[1] else ""
    return "" if isinstance(value, Mapping) or _is_within(key, value) else _range(key)


def _is_within(key: str, value: Any) -> bool:
    """Whether a value is undefined, of no known range, or within it."""
    expected = RANGES.get(key)
    if value is None or expected is None:
        return True
    return is_number(value) and expected.low - _TOLERANCE <= value <= expected.high + _TOLERANCE


def _range(key: str) -> str:
    return f"{RANGES[key].low:g} to {RANGES[key].high:g}"
