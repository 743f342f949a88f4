"""The same logits pooled and scored in several ways: pairs of words, argmax, ties."""

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators.protocols.quality.word_pairs import WordPair, words_of
from eyechart.evaluators.requests.types import RowResponses
from eyechart.metrics.scoring.errors import InputError, ScoringWarning
from eyechart.metrics.scoring.quality.pooling import PoolingSettings, Ties, ensemble_logits, read_logits
from eyechart.metrics.scoring.quality.scores import SMALL_SAMPLE, QualitySettings, quality_scores

VARIANT_RESAMPLES = 200
"""Bootstrap resamples of each variant, which its result tells; with all 1,000, seven variants of a score take six times
as long as the score itself."""
TieRule = Literal["exact", "paper-code"]
METRIC_TIES: dict[TieRule, Ties] = {"exact": "exact", "paper-code": "released"}
"""What the metric calls the ways to rank ties."""


def have_scores(answered: Sequence[RowResponses]) -> bool:
    """Whether the answers are precomputed scores."""
    return all(item.responses[0].score is not None for item in answered)


def missing_words(answered: Sequence[RowResponses], pairs: Sequence[WordPair]) -> dict[str, int]:
    """Of how many images a word has no logit, by word; those that all images have are left out."""
    counts = {word: sum(word not in _logits(item) for item in answered) for word in words_of(pairs)}
    return {word: count for word, count in counts.items() if count}


def large_groups(groups: Mapping[str, Sequence[str]], average_over: str) -> dict[str, Sequence[str]]:
    """The groups of which every value has enough images for a correlation, and the one whose scores are averaged."""
    return {
        name: values
        for name, values in groups.items()
        if name == average_over or min(Counter(values).values()) >= SMALL_SAMPLE
    }


def pooled_logits(answered: Sequence[RowResponses], pair: WordPair) -> list[list[float]]:
    """The summed logits of the pair's two sets of words, positive first: Q-Bench, Eq. 4.

    Raises:
        DataError: An answer is a score, unlike others.
    """
    for item in answered:
        if item.responses[0].logits is None:
            raise DataError(f"item '{item.row['id']}' has a score and others have logits; use answers of one kind")
    logits = {word: np.array([_logits(item)[word] for item in answered]) for word in pair.words}
    return ensemble_logits(logits, pair.positive, pair.negative).tolist()


def variant_ways(
    answered: Sequence[RowResponses], chosen: WordPair, pairs: Sequence[WordPair], pooling: PoolingSettings
) -> dict[str, tuple[list[list[float]], PoolingSettings]]:
    """Other ways to score logits than the chosen one.

    Args:
        answered: Rows with logits.
        chosen: The pair that makes the scores.
        pairs: All pairs; those with a word that some image has no logit of are left out.
        pooling: How the scores are pooled.

    Returns:
        Pairs of logits and how they are pooled, by the variant's name: every other pair, "argmax" (Table 9) and the
        other way with ties of the chosen one.
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
        averaged: The group whose scores are averaged, by its name; empty where there is none.
        seed: Of the bootstrap.

    Returns:
        What `softmax_iqa` returns, by the variant's name; nan where a score is undefined, as those of a constant
        argmax. Warnings are not repeated for each variant.

    Warns:
        UserWarning: A variant is left out as its arithmetic overflows.
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
        # A small temperature leaves the range of the released arithmetic.
        except InputError as error:
            warnings.warn(f"variant {name} is left out: {error}", stacklevel=2)
    return found


def _logits(answered: RowResponses) -> Mapping[str, float]:
    return answered.responses[0].logits or {}
