"""All scores of paired comparisons: preferences, and correlations of the images' ranking with their quality.

Protocol: 2AFC, Sec. II-C and III (https://arxiv.org/abs/2402.01162). Images are ranked only within their pool, and rho
is averaged over pools. An undefined score becomes nan, with a warning. Departure: if a model is consistent on no pair
of a pool, the ranking of the pool is undefined. The paper's Table IV then has a rho of 0.000, which enters the average
(IDEFICS-Instruct, AWGN). Here such a pool is left out and counted, unless `undefined_pools="zero"`.
"""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from eyechart.metrics.scoring.choices.reading import extraction_shares
from eyechart.metrics.scoring.errors import InputError, SmallSampleWarning, UndefinedScoreError, UndefinedScoreWarning
from eyechart.metrics.scoring.inputs import FloatArray, check_lengths, check_member
from eyechart.metrics.scoring.items import ItemColumns, select_rows
from eyechart.metrics.scoring.pairs.pools import AGGREGATORS, RIDGE, Pairs, Pool, WinnerArray, rank_pool, split_pools
from eyechart.metrics.scoring.pairs.preferences import preference_scores, winners
from eyechart.metrics.scoring.quality.correlation import FitName
from eyechart.metrics.scoring.quality.pooling import Pooled
from eyechart.metrics.scoring.quality.scores import SCORES, SMALL_SAMPLE, Correlations, QualitySettings, correlate
from eyechart.metrics.scoring.statistics.bootstrap import check_seed, part_generator
from eyechart.metrics.scoring.statistics.intervals import FEW_UNITS

CORRELATIONS = ("srcc", "plcc", "krcc", "plcc_fitted")


@dataclass(frozen=True)
class PairSettings:
    """Settings of the scores of paired comparisons.

    Attributes:
        aggregator: "map", "mle", "mle_ridge", "perron" or "trueskill".
        order_seed: Seed that shuffles the pairs for "trueskill"; None keeps the order of the rows.
        pool_weights: Weights of the pools in means: "equal", or "images", the number of images.
        undefined_pools: How a pool with an undefined correlation enters the mean: "leave_out", or "zero".
        fit: "logistic4" or "logistic5".
        resamples: Bootstrap resamples for the intervals of correlations.
        seed: Seed of the bootstrap.
        ridge: Size of the ridge of "mle_ridge", above 0.

    Raises:
        InputError: A setting is not allowed.
    """

    aggregator: str = "map"
    order_seed: int | None = None
    pool_weights: str = "equal"
    undefined_pools: str = "leave_out"
    fit: FitName = "logistic4"
    resamples: int = 1000
    seed: int = 0
    ridge: float = RIDGE

    def __post_init__(self) -> None:
        """Check the settings."""
        check_member("aggregator", self.aggregator, AGGREGATORS)
        check_member("pool_weights", self.pool_weights, ("equal", "images"))
        check_member("undefined_pools", self.undefined_pools, ("leave_out", "zero"))
        if self.order_seed is not None:
            if self.aggregator != "trueskill":
                raise InputError(f"order_seed is {self.order_seed!r}; it can be set only with aggregator='trueskill'")
            check_seed(self.order_seed, "order_seed")
        if not isinstance(self.ridge, int | float) or not 0 < self.ridge < math.inf:
            raise InputError(f"ridge is {self.ridge!r}; it must be a positive number")
        # Its checks run here, before anything is computed.
        self.quality()

    def quality(self) -> QualitySettings:
        """The settings of the correlations."""
        return QualitySettings(self.fit, None, self.resamples, self.seed)

    def applying(self, pools: bool) -> dict[str, Any]:
        """The settings that a result depends on; `pools` says whether there are pools."""
        every = asdict(self)
        idle = [] if pools else ["pool_weights", "undefined_pools"]
        idle += [] if self.aggregator == "trueskill" else ["order_seed"]
        idle += [] if self.aggregator == "mle_ridge" else ["ridge"]
        return {name: value for name, value in every.items() if name not in idle}


_Ranked = tuple[dict[str, float], Correlations]
"""Scores of a pool's images by image id, and their correlations with the references."""


def pair_scores(items: ItemColumns, pairs: Pairs, settings: PairSettings | None = None) -> dict[str, Any]:
    """Everything that `paired_comparison` returns.

    Args:
        items: Items of n pairs, from `read_pairs`.
        pairs: The pairs.
        settings: Ranking, averaging, fit and bootstrap.

    Returns:
        The scores of `preference_scores`; `extraction`, the result of `extraction_shares` for all replies; the
        correlations `srcc`, `plcc`, `krcc` and `plcc_fitted` of the images' scores with their references, in [-1, 1],
        with `srcc_ci95` and `plcc_ci95`; `n_images`; `scores`, image id to a score in [0, 100]; and the settings. With
        pools, correlations are means over pools, `scores` maps each pool to the scores of its images, and there are
        `n_pools`, `n_undefined_pools` (pools without SRCC or PLCC) and `by_pool`, the same scores for each pool.

    Raises:
        InputError: The lengths differ, an image has two references within a pool, or a setting needs pools.

    Warns:
        UndefinedScoreWarning: A score is nan, or a pool is left out of a mean.
        SmallSampleWarning: A fit is based on fewer than 30 images.

    Examples:
        >>> from eyechart.metrics.scoring.pairs.pools import check_pairs
        >>> from eyechart.metrics.scoring.pairs.preferences import read_pairs
        >>> number = list(range(30))
        >>> pairs = check_pairs(number, number[1:] + [99], number, number[1:] + [99])
        >>> found = pair_scores(read_pairs(["B"] * 30, ["A"] * 30, pairs), pairs)
        >>> found["accuracy_all"], found["n_images"], round(found["srcc"], 4), found["scores"][0], found["scores"][99]
        (1.0, 31, 1.0, 0.0, 100.0)
    """
    settings = settings or PairSettings()
    check_lengths(choice=items["choice"], first_ids=pairs.first_ids)
    for name in ("pool_weights", "undefined_pools"):
        if pairs.pool_ids is None and getattr(settings, name) != getattr(PairSettings, name):
            raise InputError(f"{name} is {getattr(settings, name)!r}; it needs pool_ids")
    pools = split_pools(pairs)
    whole, winner = _replies(items, pairs), winners(items)
    ranked = {pool: _rank(pool, members, winner[list(members.rows)], settings) for pool, members in pools.items()}
    _warn(whole, ranked, settings)
    if pairs.pool_ids is None:
        ((scores, found),) = ranked.values()
        of_images = {"n_images": found.n, "scores": scores}
        return _joined(whole, found) | of_images | settings.applying(pools=False)
    parts = [found for _, found in ranked.values()]
    undefined = [found for found in parts if np.isnan([found.scores["srcc"], found.scores["plcc"]]).any()]
    return {
        **_joined(whole, average_over_pools(parts, settings)),
        "n_images": sum(found.n for found in parts),
        "n_pools": len(pools),
        "n_undefined_pools": len(undefined),
        "scores": {pool: scores for pool, (scores, _) in ranked.items()},
        "by_pool": {
            pool: _joined(_replies(select_rows(items, members.rows), pairs.select(members.rows)), found)
            | {"n_images": found.n}
            for (pool, members), found in zip(pools.items(), parts, strict=True)
        },
        **settings.applying(pools=True),
    }


def _replies(items: ItemColumns, pairs: Pairs) -> dict[str, Any]:
    return {
        **preference_scores(items, pairs),
        "extraction": extraction_shares([*items["step"], *items["reversed_step"]]),
    }


def _joined(replies: Mapping[str, Any], found: Correlations) -> dict[str, Any]:
    """Scores of replies and correlations, with the intervals of both."""
    listed = found.listed(CORRELATIONS)
    return {**replies, **listed, "intervals": {**replies["intervals"], **listed["intervals"]}}


def _rank(name: str, pool: Pool, winner: WinnerArray, settings: PairSettings) -> _Ranked:
    try:
        scores = rank_pool(pool, winner, settings.aggregator, settings.order_seed, settings.ridge)
    except UndefinedScoreError as error:
        return dict.fromkeys(pool.image_ids, float("nan")), _undefined(
            pool, settings, {str(error): ("scores", *CORRELATIONS)}
        )
    if np.isnan(pool.references).any():
        reason = "the data name the better image of each pair, not the quality of each image"
        found = _undefined(pool, settings, {reason: CORRELATIONS})
    else:
        found = correlate(name, Pooled(scores, scores), pool.references, settings.quality())
    return dict(zip(pool.image_ids, scores.tolist(), strict=True)), found


def _undefined(pool: Pool, settings: PairSettings, reasons: Mapping[str, Sequence[str]]) -> Correlations:
    nothing = np.full(settings.resamples, np.nan)
    return Correlations(dict.fromkeys(SCORES, float("nan")), (nothing, nothing), len(pool.image_ids), reasons)


def pool_means(scores: Sequence[Mapping[str, float]], sizes: Sequence[int], settings: PairSettings) -> dict[str, float]:
    """Means of the pools' correlations.

    Args:
        scores: For each pool, its correlations by name; an undefined one is nan. All pools have the same names.
        sizes: Number of images of each pool.
        settings: The weights of the pools, and how undefined correlations count.

    Returns:
        The means by name; nan if the correlation is undefined for all pools.

    Examples:
        >>> pool_means([{"srcc": 0.5}, {"srcc": 0.8}, {"srcc": float("nan")}], [30, 160, 5], PairSettings())
        {'srcc': 0.65}
    """
    return {name: float(mean_over_pools([[part[name]] for part in scores], sizes, settings)[0]) for name in scores[0]}


def average_over_pools(parts: Sequence[Correlations], settings: PairSettings) -> Correlations:
    """Means over pools."""
    sizes, scores = [part.n for part in parts], [part.scores for part in parts]
    (_, srcc, units), (_, plcc, _) = (
        resampled_mean([part[name] for part in scores], [part.replicates[side] for part in parts], sizes, settings)
        for side, name in enumerate(("srcc", "plcc"))
    )
    return Correlations(pool_means(scores, sizes, settings), (srcc, plcc), sum(sizes), {}, units=units)


def resampled_mean(
    scores: Sequence[float], replicates: Sequence[FloatArray], sizes: Sequence[int], settings: PairSettings
) -> tuple[float, FloatArray, int]:
    """The mean of a correlation over pools, its bootstrap replicates, and the number of resampled units.

    Images are resampled within their pool; if a pool is small, complete pools are resampled.

    Args:
        scores: The correlation of each pool; nan if undefined.
        replicates: Its bootstrap replicates over images in each pool.
        sizes: Number of images of each pool.
        settings: The weights of the pools, how undefined correlations count, and the bootstrap.
    """
    mean = pool_means([{"": score} for score in scores], sizes, settings)[""]
    if min(sizes) >= FEW_UNITS:
        return mean, mean_over_pools(replicates, sizes, settings), sum(sizes)
    return mean, pool_replicates(scores, sizes, settings), len(scores)


def pool_replicates(values: Sequence[float], sizes: Sequence[int], settings: PairSettings) -> FloatArray:
    """Bootstrap replicates of the mean of a correlation over pools; complete pools are drawn.

    Args:
        values: The correlation of each pool; nan if undefined.
        sizes: Number of images of each pool.
        settings: The weights of the pools, how undefined correlations count, and the bootstrap. The same settings give
            the same draws.

    Returns:
        Shape (resamples,); nan if the correlation is undefined for all drawn pools.
    """
    rng = part_generator(settings.seed, "pools")
    drawn = rng.integers(0, len(sizes), (settings.resamples, len(sizes)))
    column, weights = np.array(values), np.array(sizes)
    return mean_over_pools(column[drawn].T, weights[drawn].T, settings)


def mean_over_pools(rows: ArrayLike, sizes: ArrayLike, settings: PairSettings) -> FloatArray:
    """Means of columns, shape (n_pools, k) to (k,). A nan is left out or counts as 0; a column of only nan gives nan.

    `sizes` has shape (n_pools,), or (n_pools, k) if the columns have different pools.
    """
    values = np.asarray(rows, dtype=np.float64)
    if settings.undefined_pools == "zero":
        values = np.nan_to_num(values)
    known = np.isfinite(values)
    weights = np.asarray(sizes, dtype=np.float64) if settings.pool_weights == "images" else np.ones_like(sizes, float)
    weights = np.where(known, weights.reshape(len(values), -1), 0)
    totals = weights.sum(axis=0)
    sums = (np.where(known, values, 0) * weights).sum(axis=0)
    return np.divide(sums, totals, out=np.full_like(totals, np.nan), where=totals > 0)


def _warn(whole: Mapping[str, Any], ranked: Mapping[str, _Ranked], settings: PairSettings) -> None:
    """One warning per cause, however many pools it concerns."""
    for name, what in (("accuracy_consistent", "consistent pair"), ("accuracy_all", "pair")):
        if np.isnan(whole[name]):
            message = f"overall: nan for {name}: no {what} of unequal quality"
            warnings.warn(message, UndefinedScoreWarning, stacklevel=3)
    causes: dict[str, list[tuple[str, str]]] = {}
    for pool, (_, part) in ranked.items():
        for reason, names in part.undefined.items():
            shown = ", ".join(name for name in names if name in (*CORRELATIONS, "scores"))
            causes.setdefault(shown, []).append((pool, reason))
    use = "are left out of its mean" if settings.undefined_pools == "leave_out" else "count as 0 in its mean"
    for names, found in causes.items():
        pool, reason = found[0]
        pools = f"{len(found)} of {len(ranked)} pools have nan for {names} and {use}; pool {pool!r}"
        where = f"{pool}: nan for {names}" if len(ranked) == 1 else pools
        warnings.warn(f"{where}: {reason}", UndefinedScoreWarning, stacklevel=3)
    sizes = [part.n for _, part in ranked.values() if not np.isnan(part.scores["plcc_fitted"])]
    if small := [n for n in sizes if n < SMALL_SAMPLE]:
        where = next(iter(ranked)) if len(ranked) == 1 else f"{len(small)} of {len(ranked)} pools"
        message = f"{where}: with n={min(small)} images, the fit inflates plcc_fitted; compare it with plcc and srcc"
        warnings.warn(message, SmallSampleWarning, stacklevel=3)
