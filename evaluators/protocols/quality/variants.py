"""Variants of the scores of the same logits: other word pairs, argmax, another rule for ties."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators.protocols.quality.word_pairs import WordPair, words_of
from eyechart.evaluators.results.items import Item
from eyechart.evaluators.results.results_file import VARIANT_WARNING
from eyechart.metrics.scoring.errors import InputError, ScoringWarning
from eyechart.metrics.scoring.quality.pooling import PoolingSettings, Ties, ensemble_logits, read_logits
from eyechart.metrics.scoring.quality.scores import QualitySettings, quality_scores

VARIANT_RESAMPLES = 200
"""Bootstrap resamples for each variant, given in its result; with the usual 1,000, seven variants would take six times
as long as the score itself."""
TieRule = Literal["exact", "paper-code"]
METRIC_TIES: dict[TieRule, Ties] = {"exact": "exact", "paper-code": "released"}
"""The rules for ties: the setting's value to the metric's argument."""


@dataclass(frozen=True)
class QualityItem(Item):
    """What the response for one image gave."""

    quality: float | None = None
    """The opinion score; None if private."""
    logits: Mapping[str, float] | None = None
    """Next-token logits of words."""
    upper_bound_words: list[str] | None = None
    """Words whose logit is only an upper bound."""
    quality_score: float | None = None
    """The predicted score: from the logits, the rating in the reply, or precomputed."""
    rank_score: float | None = None
    """The same with the ties that rank correlations use."""
    step: str | None = None
    """Why a reply gives no rating; None if it does."""


def have_scores(items: Sequence[QualityItem]) -> bool:
    """Whether the items have precomputed scores instead of logits."""
    return all(item.logits is None and item.quality_score is not None for item in items)


def missing_words(items: Sequence[QualityItem], pairs: Sequence[WordPair]) -> dict[str, int]:
    """Number of images without a logit for a word, by word; words with a logit for every image are left out."""
    counts = {word: sum(word not in (item.logits or {}) for item in items) for word in words_of(pairs)}
    return {word: count for word, count in counts.items() if count}


def pooled_logits(items: Sequence[QualityItem], pair: WordPair) -> list[list[float]]:
    """The summed logits of the pair's two sets of words, positive first: Q-Bench, Eq. 4.

    Raises:
        DataError: Some items have scores and others have logits.
    """
    for item in items:
        if item.logits is None:
            raise DataError(
                f"item '{item.id}' has a score, but other items have logits; give scores or logits for all items"
            )
    logits = {word: np.array([(item.logits or {})[word] for item in items]) for word in pair.words}
    return ensemble_logits(logits, pair.positive, pair.negative).tolist()


def variant_ways(
    items: Sequence[QualityItem], chosen: WordPair, pairs: Sequence[WordPair], pooling: PoolingSettings
) -> dict[str, tuple[list[list[float]], PoolingSettings]]:
    """The logits and pooling of each variant of the scores.

    Args:
        items: Items with logits.
        chosen: The word pair of the scores themselves.
        pairs: All word pairs; a pair is left out if a word has no logit for some image.
        pooling: Pooling of the scores themselves.

    Returns:
        Pairs of logits and their pooling, by the variant's name: every other word pair, and for the chosen pair
        "argmax" (Table 9) and the other rule for ties.
    """
    missing = missing_words(items, pairs)
    others = [pair for pair in pairs if pair != chosen and not missing.keys() & set(pair.words)]
    ways = {pair.name: (pooled_logits(items, pair), pooling) for pair in others}
    own = pooled_logits(items, chosen)
    other_ties = {f"ties={rule}": ties for rule, ties in METRIC_TIES.items() if ties != pooling.ties}
    return {
        **ways,
        "argmax": (own, replace(pooling, strategy="argmax")),
        **{name: (own, replace(pooling, ties=ties)) for name, ties in other_ties.items()},
    }


def score_variants(
    ways: Mapping[str, tuple[list[list[float]], PoolingSettings]],
    references: Sequence[float],
    averaged: Mapping[str, Sequence[str]],
    *,
    seed: int,
) -> dict[str, dict[str, Any]]:
    """Score every variant.

    Args:
        ways: From `variant_ways`.
        references: Opinion scores.
        averaged: The group whose scores are averaged, by its name; empty for none.
        seed: Seed of the bootstrap.

    Returns:
        The result of `softmax_iqa` by the variant's name; undefined scores, such as those of a constant argmax, are
        nan. Warnings are not repeated for each variant.

    Warns:
        UserWarning: A variant is left out because its arithmetic overflows.
    """
    found = {}
    for name, (logits, pooling) in ways.items():
        settings = QualitySettings(
            average_over=next(iter(averaged), None), resamples=VARIANT_RESAMPLES, seed=seed, pooling=pooling
        )
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ScoringWarning)
                found[name] = quality_scores(read_logits(logits, pooling), references, averaged, settings)
        # The released arithmetic overflows at small temperatures.
        except InputError as error:
            warnings.warn(f"{VARIANT_WARNING}{name} left out: {error}", stacklevel=2)
    return found
