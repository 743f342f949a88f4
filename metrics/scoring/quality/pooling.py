"""Quality scores from next-token logits of two words.

Protocol: Q-Bench, Eq. 1 and Eq. 4 (https://arxiv.org/abs/2309.14181). There are two departures from the printed
equations. Both follow the released code and were checked on the released logits: the logits are first divided by a
temperature of 100, and `ties="released"` reproduces the released arithmetic bit by bit.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, softmax

from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.inputs import FloatArray, Items, check_lengths, check_member, check_numbers

Strategy = Literal["softmax", "argmax"]
Ties = Literal["exact", "released"]


@dataclass(frozen=True)
class Pooled:
    """Quality scores of n images, higher is better."""

    values: FloatArray
    """For Pearson correlations and fits, shape (n,); pooled logits are in [0, 1]."""
    ranking: FloatArray
    """Numbers in the same order, shape (n,), with the ties that rank correlations should use."""


@dataclass(frozen=True)
class PoolingSettings:
    """How two logits become a quality score; see `pool`."""

    strategy: Strategy = "softmax"
    temperature: float = 100.0
    ties: Ties = "exact"


def read_logits(logits: ArrayLike, settings: PoolingSettings | None = None) -> Items:
    """Items of n images from pairs of logits: the values of `pool` as `quality_score`, its ranking as `rank_score`."""
    settings = settings or PoolingSettings()
    pooled = pool(logits, settings.strategy, settings.temperature, settings.ties)
    return {"quality_score": pooled.values.tolist(), "rank_score": pooled.ranking.tolist()}


def read_levels(logits: ArrayLike, n_levels: int) -> Items:
    """Items of n images from logits of the names of levels, best first, shape (n, n_levels): the expected level.

    Protocol: Q-Align, Sec. 3 (https://arxiv.org/abs/2312.17090): the softmax over the logits weighs the levels, which
    its released scorer counts from 1 (the best) down to 0, in equal steps.

    Examples:
        >>> read_levels([[0.0, 0.0, 0.0], [-1e3, 0.0, -1e3]], 3)["rank_score"]
        [0.5, 0.5]
    """
    weights = softmax(check_numbers("predictions", logits, columns=n_levels), axis=1)
    return read_scores(weights @ np.linspace(1.0, 0.0, n_levels))


def read_scores(scores: ArrayLike) -> Items:
    """Items of n images from given quality scores, as for `read_logits`."""
    given = check_numbers("predictions", scores).tolist()
    return {"quality_score": given, "rank_score": given}


def pool(logits: ArrayLike, strategy: Strategy = "softmax", temperature: float = 100.0, ties: Ties = "exact") -> Pooled:
    """Quality scores from pairs of logits, Eq. 1 of Q-Bench.

    Args:
        logits: Shape (n, 2): the logit of the positive word, then of the negative one.
        strategy: "softmax", or "argmax" for the baseline of Table 9 (1 if positive > negative, else 0).
        temperature: Positive divisor of the logits before the softmax, which Eq. 1 does not have. It does not change
            rank correlations with `ties="exact"`.
        ties: "exact" ranks by positive - negative, which keeps equal differences tied. "released" ranks by
            exp(p/T) / (exp(p/T) + exp(n/T)) in float64 scalar arithmetic, whose rounding splits such ties.

    Examples:
        >>> pool([[17.5, 17.5], [19.0, 17.0]]).values.tolist()
        [0.5, 0.5049998333399998]
    """
    check_member("strategy", strategy, ("softmax", "argmax"))
    check_member("ties", ties, ("exact", "released"))
    if not (isinstance(temperature, int | float) and math.isfinite(temperature) and temperature > 0):
        raise InputError(f"temperature is {temperature!r}; it must be a positive number")
    pairs = check_numbers("predictions", logits, columns=2)
    if strategy == "argmax":
        chosen = (pairs[:, 0] > pairs[:, 1]).astype(np.float64)
        return Pooled(chosen, chosen)
    if ties == "released":
        values = _released_softmax(pairs, temperature)
        return Pooled(values, values)
    with np.errstate(over="ignore"):
        difference = pairs[:, 0] - pairs[:, 1]
    if not np.isfinite(difference).all():
        row = int(np.argmin(np.isfinite(difference)))
        raise InputError(f"predictions[{row}] is {pairs[row].tolist()}; the difference is too large for a float")
    return Pooled(expit(difference / temperature), difference)


def _released_softmax(pairs: FloatArray, temperature: float) -> FloatArray:
    """The released arithmetic. `math.exp`, not `np.exp`: their last bits differ, and ranks depend on them."""
    values = np.empty(len(pairs))
    for row, (positive, negative) in enumerate(pairs.tolist()):
        try:
            top = math.exp(positive / temperature)
            values[row] = top / (top + math.exp(negative / temperature))
        except (OverflowError, ZeroDivisionError):
            raise InputError(
                f"predictions[{row}] is {[positive, negative]}, which is out of the range of exp at temperature="
                f'{temperature}; use a higher temperature or ties="exact"'
            ) from None
    return values


def ensemble_logits(logits: Mapping[str, ArrayLike], positive: Sequence[str], negative: Sequence[str]) -> FloatArray:
    """Pairs of logits of a synonym ensemble, shape (n, 2), ready for `pool`: the sums in Eq. 4 of Q-Bench.

    `logits` maps words to logits, shape (n,) each.

    Examples:
        >>> ensemble_logits({"good": [2.0], "fine": [1.0], "poor": [0.5]}, ["good", "fine"], ["poor"]).tolist()
        [[3.0, 0.5]]
    """
    for argument, words in (("positive", positive), ("negative", negative)):
        if isinstance(words, str) or not words or len(set(words)) < len(words):
            raise InputError(f"{argument} is {words!r}; it must be a non-empty list of different words")
        for word in words:
            check_member(f"a word of {argument}", word, list(logits))
    columns = {word: np.asarray(logits[word], dtype=np.float64) for word in (*positive, *negative)}
    check_lengths(**columns)
    return np.column_stack([np.sum([columns[word] for word in words], axis=0) for words in (positive, negative)])
