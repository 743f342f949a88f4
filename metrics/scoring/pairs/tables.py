"""The paper's tables and convergence curves of paired comparisons.

Protocol: 2AFC, Sec. II-B and III (https://arxiv.org/abs/2402.01162). Table II has one row per database, and averages
weighted by the numbers of sampled images. Tables III and IV have one row per distortion type, level or interval of
scores, and plain averages. If a row has several pools, its rho is their mean. Departure: an undefined rho is left out
of the average, not 0 as in Table IV.

Fig. 3 shows how well the images' ranking agrees with their quality after 1, 2, ... rounds, each of which pairs all
images at random. The curve of the opinion scores is an upper bound for a model: its only error is due to the limited
number of rounds. The dashed lines are `score_limit`, which a ranking by a quality measure's scores approaches.
Departure: Fig. 3 shows only PLCC.
"""

import contextlib
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from eyechart.metrics.scoring.errors import ScoringWarning, UndefinedScoreError
from eyechart.metrics.scoring.inputs import FloatArray, ItemColumns, rows_by_value, select_rows
from eyechart.metrics.scoring.pairs.pools import ImagePool, Pairs, PairSettings, WinnerArray, rank_pool, split_pools
from eyechart.metrics.scoring.pairs.preferences import SHARES
from eyechart.metrics.scoring.pairs.scores import CORRELATIONS, pair_scores, pool_means
from eyechart.metrics.scoring.quality.correlation import fit_logistic, plcc, srcc
from eyechart.metrics.scoring.quality.scores import SMALL_SAMPLE

_COUNTS = ("n_pairs", "n_consistent", "n_images")
_RATES = (*SHARES, "first_rate")
_INTERVALS = (*(f"{name}_ci95" for name in (*_RATES, "srcc", "plcc")), "intervals")


def part_scores(
    items: ItemColumns, pairs: Pairs, parts: Sequence[str], settings: PairSettings
) -> dict[str, dict[str, Any]]:
    """The scores of each part of the data from `pair_scores`, without those of images and single pools, nor warnings.

    `parts` names the part of each pair; a part must contain complete pools.
    """
    table = {}
    for part, rows in rows_by_value(parts).items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ScoringWarning)
            scores = pair_scores(select_rows(items, rows), pairs.select(rows), settings)
        table[part] = {name: scores[name] for name in (*_RATES, *CORRELATIONS, *_INTERVALS, *_COUNTS)}
    return table


def average_rows(table: Mapping[str, Mapping[str, float]], weights: str = "equal") -> dict[str, Any]:
    """Averages of a table's rows, which are scores by part; `weights` are "equal" or "n_images".

    Returns `over`, the parts; `weights`; the mean of each of `SHARES` and `CORRELATIONS` that all rows have, nan if it
    is undefined in all rows; `undefined`, a dict from each score to the parts that are left out of its mean; and the
    sums of the rows' counts.
    """
    average: dict[str, Any] = {"over": list(table), "weights": weights}
    undefined = {}
    columns = [name for name in (*SHARES, *CORRELATIONS, *_COUNTS) if all(name in row for row in table.values())]
    for name in columns:
        if name in _COUNTS:
            average[name] = sum(row[name] for row in table.values())
            continue
        defined = [row for row in table.values() if math.isfinite(row[name])]
        sizes = [1 if weights == "equal" else row["n_images"] for row in defined]
        average[name] = float(np.average([row[name] for row in defined], weights=sizes)) if defined else math.nan
        if len(defined) < len(table):
            undefined[name] = [part for part, row in table.items() if not math.isfinite(row[name])]
    return average | {"undefined": undefined}


def convergence(
    winner: WinnerArray, pairs: Pairs, rounds: Sequence[int], settings: PairSettings
) -> list[dict[str, Any]]:
    """Correlations of the ranking from the first round, from the first two, and so on.

    `winner` is the preferred image of each pair, and `rounds` the round in which it was drawn; gaps are allowed. An
    undefined correlation is nan, and so is `plcc_fitted` of a pool of fewer than 30 images: such a fit says little.
    """
    curve = []
    for count, last in enumerate(np.unique(rounds), 1):
        rows = np.flatnonzero(np.asarray(rounds) <= last)

        def ranking(pool: ImagePool, preferred: WinnerArray = winner[rows]) -> FloatArray:
            return rank_pool(pool, preferred[pool.rows], settings)

        agreement = _agreement(pairs.select(rows), settings, ranking)
        curve.append({"rounds": count, "n_pairs": len(rows)} | agreement)
    return curve


def score_limit(scores: Mapping[str, float], pairs: Pairs, settings: PairSettings) -> dict[str, Any]:
    """Correlations of images' scores themselves, which a ranking by these scores approaches with more rounds."""
    return _agreement(pairs, settings, lambda pool: np.array([scores[image] for image in pool.image_ids]))


def _agreement(pairs: Pairs, settings: PairSettings, score: Callable[[ImagePool], FloatArray]) -> dict[str, Any]:
    """Correlations of the scores of each pool's images, averaged over pools; an undefined one is nan."""
    pools = split_pools(pairs).values()
    parts, sizes = [], [len(pool.image_ids) for pool in pools]
    for pool in pools:
        part = dict.fromkeys(("srcc", "plcc", "plcc_fitted"), math.nan)
        with contextlib.suppress(UndefinedScoreError):
            scores = score(pool)
            part["srcc"] = srcc(scores, pool.references)
            part["plcc"] = plcc(scores, pool.references)
            if len(scores) >= SMALL_SAMPLE:
                part["plcc_fitted"] = fit_logistic(scores, pool.references, settings.fit).plcc
        parts.append(part)
    return {"n_images": sum(sizes)} | pool_means(parts, sizes, settings)
