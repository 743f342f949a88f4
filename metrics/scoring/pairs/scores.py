"""All scores of paired comparisons: preferences, and correlations of the images' ranking with their quality.

Protocol: 2AFC, Sec. II-C and III (https://arxiv.org/abs/2402.01162). Images are ranked only within their pool, and rho
is averaged over pools. An undefined score becomes nan, with a warning. Departure: if a model is consistent on no pair
of a pool, the ranking of the pool is undefined. The paper's Table IV then has a rho of 0.000, which enters the average
(IDEFICS-Instruct, AWGN). Here such a pool is left out and counted, unless `undefined_pools="zero"`.
"""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from eyechart.metrics.scoring.errors import SmallSampleWarning, UndefinedScoreError, UndefinedScoreWarning
from eyechart.metrics.scoring.inputs import FloatArray, ItemColumns, select_rows
from eyechart.metrics.scoring.pairs.pools import ImagePool, Pairs, PairSettings, WinnerArray, rank_pool, split_pools
from eyechart.metrics.scoring.pairs.preferences import preference_scores, winners
from eyechart.metrics.scoring.quality.pooling import Pooled
from eyechart.metrics.scoring.quality.scores import SCORES, SMALL_SAMPLE, Correlations, correlate
from eyechart.metrics.scoring.statistics.bootstrap import part_generator
from eyechart.metrics.scoring.statistics.intervals import FEW_UNITS

CORRELATIONS = ("srcc", "plcc", "krcc", "plcc_fitted")

_Ranked = tuple[dict[str, float], Correlations]
"""Scores of a pool's images by image id, and their correlations with the references."""


def pair_scores(items: ItemColumns, pairs: Pairs, settings: PairSettings | None = None) -> dict[str, Any]:
    """Everything that `paired_comparison` returns, from the items of `read_pairs`; the metric's card explains it."""
    settings = settings or PairSettings()
    pools = split_pools(pairs)
    preferred = winners(items)
    ranked = {name: _rank(name, pool, preferred[pool.rows], settings) for name, pool in pools.items()}
    parts = [correlations for _, correlations in ranked.values()]
    whole = _listed(items, pairs, parts[0] if pairs.pool_ids is None else _average(parts, settings))
    _warn(whole, ranked, settings)
    if pairs.pool_ids is None:
        return {**whole, "scores": ranked["overall"][0], **settings.applying(pools=False)}
    undefined = [part for part in parts if np.isnan([part.scores["srcc"], part.scores["plcc"]]).any()]
    return {
        **whole,
        "n_pools": len(pools),
        "n_undefined_pools": len(undefined),
        "scores": {name: scores for name, (scores, _) in ranked.items()},
        "by_pool": {
            name: _listed(select_rows(items, pool.rows), pairs.select(pool.rows), correlations)
            for (name, pool), correlations in zip(pools.items(), parts, strict=True)
        },
        **settings.applying(pools=True),
    }


def _listed(items: ItemColumns, pairs: Pairs, correlations: Correlations) -> dict[str, Any]:
    """Scores of replies and correlations, with the intervals of both."""
    replies, listed = preference_scores(items, pairs), correlations.listed(CORRELATIONS)
    intervals = {**replies["intervals"], **listed["intervals"]}
    return {**replies, **listed, "intervals": intervals, "n_images": correlations.n}


def _rank(name: str, pool: ImagePool, winner: WinnerArray, settings: PairSettings) -> _Ranked:
    n = len(pool.image_ids)
    scores, reasons = np.full(n, np.nan), dict[str, tuple[str, ...]]()
    try:
        scores = rank_pool(pool, winner, settings)
        if np.isnan(pool.references).any():
            reasons = {"the data name the better image of each pair, not the quality of each image": CORRELATIONS}
    except UndefinedScoreError as error:
        reasons = {str(error): ("scores", *CORRELATIONS)}
    if reasons:
        nothing = np.full((2, settings.resamples), np.nan)
        correlations = Correlations(dict.fromkeys(SCORES, float("nan")), nothing, n, reasons)
    else:
        # Of fewer images, nothing would read the replicates.
        kinds = ("spearman", "pearson") if n >= FEW_UNITS else ()
        correlations = correlate(name, Pooled(scores, scores), pool.references, settings.quality(), kinds)
    return dict(zip(pool.image_ids, scores.tolist(), strict=True)), correlations


def _average(parts: Sequence[Correlations], settings: PairSettings) -> Correlations:
    """Means over pools."""
    sizes, scores = [part.n for part in parts], [part.scores for part in parts]
    (_, srcc, units), (_, plcc, _) = (
        resampled_mean([part[name] for part in scores], [part.replicates[side] for part in parts], sizes, settings)
        for side, name in enumerate(("srcc", "plcc"))
    )
    return Correlations(pool_means(scores, sizes, settings), np.stack([srcc, plcc]), sum(sizes), {}, units=units)


def pool_means(scores: Sequence[Mapping[str, float]], sizes: Sequence[int], settings: PairSettings) -> dict[str, float]:
    """Means of the pools' correlations by name; nan if a correlation is undefined for all pools."""
    return {name: float(mean_over_pools([part[name] for part in scores], sizes, settings)) for name in scores[0]}


def resampled_mean(
    scores: Sequence[float], replicates: Sequence[FloatArray], sizes: Sequence[int], settings: PairSettings
) -> tuple[float, FloatArray, int]:
    """The mean of a correlation over pools, its bootstrap replicates, and the number of resampled units.

    Images are resampled within their pool, as in `replicates`; if a pool is small, complete pools are resampled. The
    same settings give the same draws of pools.
    """
    mean = float(mean_over_pools(scores, sizes, settings))
    if min(sizes) >= FEW_UNITS:
        return mean, mean_over_pools(replicates, sizes, settings), sum(sizes)
    n = len(sizes)
    drawn = part_generator(settings.seed, "pools").integers(0, n, (settings.resamples, n)).T
    return mean, mean_over_pools(np.array(scores)[drawn], np.array(sizes)[drawn], settings), n


def mean_over_pools(scores: ArrayLike, sizes: ArrayLike, settings: PairSettings) -> FloatArray:
    """Means over the first axis, the pools, whose `sizes` have the same shape or one number per pool.

    A nan is left out or counts as 0, as the settings say; the mean of only nan is nan.
    """
    values, weights = np.asarray(scores, dtype=np.float64), np.asarray(sizes, dtype=np.float64)
    if settings.undefined_pools == "zero":
        values = np.nan_to_num(values)
    if settings.pool_weights == "equal":
        weights = np.ones_like(weights)
    weights = np.where(np.isfinite(values.T), weights.T, 0).T
    totals = weights.sum(axis=0)
    sums = (np.nan_to_num(values) * weights).sum(axis=0)
    return np.divide(sums, totals, out=np.full_like(totals, np.nan), where=totals > 0)


def _warn(whole: Mapping[str, Any], ranked: Mapping[str, _Ranked], settings: PairSettings) -> None:
    """One warning per cause, however many pools it concerns."""
    warned: list[tuple[type[Warning], str]] = [
        (UndefinedScoreWarning, f"overall: nan for {name}: no {what} of unequal quality")
        for name, what in (("accuracy_consistent", "consistent pair"), ("accuracy_all", "pair"))
        if np.isnan(whole[name])
    ]
    causes: dict[str, list[str]] = {}
    for pool, (_, part) in ranked.items():
        for reason, names in part.undefined.items():
            shown = ", ".join(name for name in names if name in (*CORRELATIONS, "scores"))
            causes.setdefault(shown, []).append(f"{pool}: nan for {shown}: {reason}")
    use = "left out of the mean" if settings.undefined_pools == "leave_out" else "counted as 0 in the mean"
    for messages in causes.values():
        pools = "" if len(ranked) == 1 else f"{len(messages)} of {len(ranked)} pools {use}; "
        warned.append((UndefinedScoreWarning, f"{pools}{messages[0]}"))
    sizes = [part.n for _, part in ranked.values() if not np.isnan(part.scores["plcc_fitted"])]
    if small := [n for n in sizes if n < SMALL_SAMPLE]:
        where = next(iter(ranked)) if len(ranked) == 1 else f"{len(small)} of {len(ranked)} pools"
        message = f"{where}: with n={min(small)} images, the fit inflates plcc_fitted; compare it with plcc and srcc"
        warned.append((SmallSampleWarning, message))
    for category, message in warned:
        warnings.warn(message, category, stacklevel=3)
