"""Variants of the scores of the same logits: other word pairs, argmax, another rule for ties."""

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators.protocols.quality.word_pairs import WordPair, words_of
from eyechart.evaluators.requests.types import RowResponses
from eyechart.evaluators.results.evaluation import VARIANT_WARNING
from eyechart.metrics.scoring.errors import InputError, ScoringWarning
from eyechart.metrics.scoring.quality.pooling import PoolingSettings, Ties, ensemble_logits, read_logits
from eyechart.metrics.scoring.quality.scores import SMALL_SAMPLE, QualitySettings, quality_scores

VARIANT_RESAMPLES = 200
"""Bootstrap resamples for each variant, given in its result; with the usual 1,000, seven variants would take six times
as long as the score itself."""
TieRule = Literal["exact", "paper-code"]
METRIC_TIES: dict[TieRule, Ties] = {"exact": "exact", "paper-code": "released"}
"""The rules for ties: the setting's value to the metric's argument."""


def have_scores(answered: Sequence[RowResponses]) -> bool:
    """Whether the responses are precomputed scores."""
    return all(item.responses[0].score is not None for item in answered)


def missing_words(answered: Sequence[RowResponses], pairs: Sequence[WordPair]) -> dict[str, int]:
    """Number of images without a logit for a word, by word; words with a logit for every image are left out."""
    counts = {word: sum(word not in _logits(item) for item in answered) for word in words_of(pairs)}
    return {word: count for word, count in counts.items() if count}


def large_groups(groups: Mapping[str, Sequence[str]], average_over: str) -> dict[str, Sequence[str]]:
    """The groups in which every value has enough images for a correlation, and always the group of `average_over`."""
    return {
        name: values
        for name, values in groups.items()
        if name == average_over or min(Counter(values).values()) >= SMALL_SAMPLE
    }


def pooled_logits(answered: Sequence[RowResponses], pair: WordPair) -> list[list[float]]:
    """The summed logits of the pair's two sets of words, positive first: Q-Bench, Eq. 4.

    Raises:
        DataError: Some responses are scores and others are logits.
    """
    for item in answered:
        if item.responses[0].logits is None:
            raise DataError(
                f"item '{item.row['id']}' has a score, but other items have logits; give scores or logits for all items"
            )
    logits = {word: np.array([_logits(item)[word] for item in answered]) for word in pair.words}
    return ensemble_logits(logits, pair.positive, pair.negative).tolist()


def variant_ways(
    answered: Sequence[RowResponses], chosen: WordPair, pairs: Sequence[WordPair], pooling: PoolingSettings
) -> dict[str, tuple[list[list[float]], PoolingSettings]]:
    """The logits and pooling of each variant of the scores.

    Args:
        answered: Rows with logits.
        chosen: The word pair of the scores themselves.
        pairs: All word pairs; a pair is left out if a word has no logit for some image.
        pooling: Pooling of the scores themselves.

    Returns:
        Pairs of logits and their pooling, by the variant's name: every other word pair, and for the chosen pair
        "argmax" (Table 9) and the other rule for ties.
    """
    missing = missing_words(answered, pairs)
    others = [pair for pair in pairs if pair != chosen and not missing.keys() & set(pair.words)]
    ways = {pair.name: (pooled_logits(answered, pair), pooling) for pair in others}
    own = pooled_logits(answered, chosen)
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


def _logits(answered: RowResponses) -> Mapping[str, float]:
    return answered.responses[0].logits or {}
