"""Scores of a judge over several rounds: asking the judge, frequencies and means.

Protocol: Q-Bench, Sec. 2.3.2, Table 3 and Appendix A.2.2 (https://arxiv.org/abs/2309.14181): an item's score is the
mean over its rounds, and the score is the mean over items. P_i is the frequency of score i, averaged in the same way,
so the score is the sum of i * P_i. Failed rounds do not count, so an item is not scored if all its rounds failed.
Departure: an empty text is not sent to the judge; it gets the lowest score.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from eyechart.metrics.scoring.errors import UndefinedScoreError
from eyechart.metrics.scoring.inputs import FloatArray, check_count
from eyechart.metrics.scoring.judging.prompts import render
from eyechart.metrics.scoring.judging.replies import Judge, ask_all, check_judge, parse_score
from eyechart.metrics.scoring.statistics.bootstrap import bootstrap_ratios
from eyechart.metrics.scoring.statistics.intervals import Interval
from eyechart.metrics.scoring.statistics.means import bounded_mean_interval
from eyechart.metrics.scoring.statistics.shares import Clusters

Rounds = Sequence[float | None]
"""Scores of one item in each round; None for a failed round."""


@dataclass(frozen=True)
class JudgeSettings:
    """The judge and its number of rounds.

    Attributes:
        judge: The judge's name.
        rounds: Number of judge replies per item.

    Raises:
        InputError: A setting is not allowed.
    """

    judge: str
    rounds: int = 5

    def __post_init__(self) -> None:
        """Check the settings before a judge is asked, which may cost money."""
        check_count("rounds", self.rounds)


def ask_scores(
    template: str,
    fields: Sequence[Mapping[str, str] | None],
    scale: Sequence[int],
    judge: Judge,
    rounds: int,
) -> list[Rounds]:
    """Scores of every item in every round.

    Args:
        template: Name of the judge's template.
        fields: Fields of the template for each item; None for an item without a text to judge.
        scale: The possible scores, lowest first.
        judge: `judge(messages, n)`, which returns n replies.
        rounds: Number of judge replies per item.

    Returns:
        `rounds` scores for each item, None for a failed round. An item without a text gets the lowest score in every
        round.

    Examples:
        >>> judge = lambda messages, n: ["Score: 2", "two"]
        >>> ask_scores("q_bench_relevance", [{"description": "Dark and blurry."}, None], (0, 1, 2), judge, 2)
        [[2, None], [0, 0]]
    """
    check_judge(judge)
    conversations = [render(template, of_item) for of_item in fields if of_item is not None]
    replies = iter(ask_all(judge, conversations, rounds))
    return [
        [scale[0]] * rounds if of_item is None else [parse_score(reply, scale) for reply in next(replies)]
        for of_item in fields
    ]


def mean_score(rounds: Rounds) -> float | None:
    """Mean over the rounds with a score; None if missing.

    Examples:
        >>> mean_score([2, None, 1]), mean_score([None])
        (1.5, None)
    """
    given = [score for score in rounds if score is not None]
    return sum(given) / len(given) if given else None


def score_frequencies(items: Sequence[Rounds], scale: Sequence[float]) -> dict[float, float]:
    """Frequency of each score: the mean over items of its share of the item's rounds that did not fail.

    Args:
        items: Scores of each item in each round.
        scale: The possible scores.

    Returns:
        Each score's share, in [0, 1]; they sum to 1.

    Raises:
        UndefinedScoreError: Every round failed.

    Examples:
        >>> score_frequencies([[2, 2], [1, None], [0, 2], [0, 0]], (0, 1, 2))
        {0: 0.375, 1: 0.25, 2: 0.375}
    """
    given = [[score for score in rounds if score is not None] for rounds in items if is_scored(rounds)]
    if not given:
        raise UndefinedScoreError("the judge gave no score in any round")
    return {score: math.fsum(of.count(score) / len(of) for of in given) / len(given) for score in scale}


def mean_of_frequencies(frequencies: Mapping[float, float]) -> float:
    """The mean score from frequencies: P_1 + 2 P_2 on the scale 0, 1, 2 (Q-Bench, Table 3).

    Examples:
        >>> round(mean_of_frequencies({0: 0.2748, 1: 0.5474, 2: 0.1778}), 2)
        0.9
    """
    return math.fsum(score * share for score, share in frequencies.items())


def summed_score(columns: Sequence[Sequence[Rounds]]) -> float:
    """The sum of the mean scores for k questions to the judge.

    Args:
        columns: For each question to the judge, the scores of the same items in each round.

    Raises:
        UndefinedScoreError: All rounds of a question failed.

    Examples:
        >>> summed_score([[[2, 2], [1, None]], [[0, 1], [0, 1]]])
        2.0
    """
    given = [[mean for rounds in items if (mean := mean_score(rounds)) is not None] for items in columns]
    if not all(given):
        raise UndefinedScoreError("the judge gave no score in any round")
    return sum(math.fsum(means) / len(means) for means in given)


def count_failed(items: Sequence[Rounds]) -> int:
    """Number of failed rounds.

    Examples:
        >>> count_failed([[1, None], [None, None]])
        3
    """
    return sum(rounds.count(None) for rounds in items)


def is_scored(rounds: Rounds) -> bool:
    """Whether at least one round of an item gave a score."""
    return any(score is not None for score in rounds)


def bootstrap_scores(
    columns: Sequence[Sequence[Rounds]], resamples: int, rng: np.random.Generator, clusters: Clusters | None = None
) -> tuple[FloatArray, list[int]]:
    """Bootstrap replicates of mean scores. Items are resampled, because the rounds of one item are not independent.

    Args:
        columns: For each of k questions to the judge, the scores of the same n items in each round.
        resamples: Number of resamples.
        rng: Random generator.
        clusters: Which items belong together and are resampled together; None if they are independent.

    Returns:
        Replicates, shape (resamples, k), one row per resample; nan if a resample contains no score. Also the number of
        resampled units (items or clusters) with a score in each column, length k.
    """
    sums = [[mean_score(rounds) or 0 for rounds in items] for items in columns]
    counts = [[is_scored(rounds) for rounds in items] for items in columns]
    numbers = np.arange(len(columns[0])) if clusters is None else np.unique(clusters.numbers, return_inverse=True)[1]
    n_units = 1 + int(numbers.max(initial=-1))
    above, below = (np.array([np.bincount(numbers, of, n_units) for of in side]).T for side in (sums, counts))
    return bootstrap_ratios(above, below, rng, resamples), np.count_nonzero(below, axis=0).tolist()


def score_interval(columns: Sequence[Sequence[Rounds]], limits: tuple[float, float], clusters: Clusters) -> Interval:
    """Interval of the sum of the mean scores for k questions to the judge.

    Args:
        columns: For each question to the judge, the scores of the same n items in each round.
        limits: The lowest and the highest possible score of one question.
        clusters: Which items belong together.

    Returns:
        The interval from `bounded_mean_interval`. It is of kind "constant-part" if all items have the same score for
        one of several questions.
    """
    scores = np.array([[math.nan if (mean := mean_score(one)) is None else mean for one in of] for of in columns])
    known = ~np.isnan(scores)
    rows = known.any(axis=0)
    if not known.any(axis=1).all():
        return Interval.undefined(clusters.select(rows).n_clusters)
    means = np.nanmean(scores, axis=1, keepdims=True)
    # What each item adds to the mean of each question.
    added = np.where(known, scores - means, 0) * rows.sum() / known.sum(axis=1, keepdims=True)
    low, high = (len(columns) * limit for limit in limits)
    values = np.clip(means.sum() + added.sum(axis=0)[rows], low, high)
    found = bounded_mean_interval(values, (low, high), clusters.select(rows))
    is_constant = np.nanmax(scores, axis=1) == np.nanmin(scores, axis=1)
    if len(columns) > 1 and not math.isnan(found.low) and is_constant.any():
        # The constant question would count as certain.
        return Interval(math.nan, math.nan, "constant-part", found.units)
    return found
