"""Quality comparison of image pairs shown in both orders, as an `evaluate` module.

Protocol: 2AFC, Sec. II and III (https://arxiv.org/abs/2402.01162). Departures: see `replies`, `preferences` and
`scores` in `eyechart.metrics.scoring.pairs`, and `eyechart.metrics.scoring.pair_ranking`.
"""

from collections.abc import Sequence
from typing import Any

import datasets
import evaluate

try:
    from eyechart.metrics.columns import CheckedColumns
    from eyechart.metrics.scoring.inputs import check_gathered
    from eyechart.metrics.scoring.pairs.pools import RIDGE, check_pairs
    from eyechart.metrics.scoring.pairs.preferences import read_pairs
    from eyechart.metrics.scoring.pairs.scores import PairSettings, pair_scores
    from eyechart.metrics.scoring.quality.correlation import FitName
except ModuleNotFoundError as error:
    raise ImportError(f"{error}; in a checkout of eyechart, run: pip install -c constraints.txt .") from error

_DESCRIPTION = """
Consistency, accuracy and correlation of a model's answers to "Which image has better visual quality?" (2AFC). Every
pair is shown in both orders; consistent answers are aggregated into one score per image, which is correlated with
opinion scores.
"""

_CITATION = """
@article{zhu2024twoafc,
  title={2AFC Prompting of Large Multimodal Models for Image Quality Assessment},
  author={Zhu, Hanwei and Sui, Xiangjie and Chen, Baoliang and Liu, Xuelin and Chen, Peilin and Fang, Yuming and
    Wang, Shiqi},
  journal={IEEE Transactions on Circuits and Systems for Video Technology},
  year={2024}
}
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions (`list` of `str`): Raw replies to the pairs as given; "" for a failed or empty response.
    reversed_predictions (`list` of `str`): Raw replies to the same pairs with the two images swapped.
    first_ids, second_ids (`list` of `str`): Ids of each pair's first and second image.
    first_references, second_references (`list` of `float`): Opinion scores of the first and the second image, higher is
        better.
    finish_reasons, reversed_finish_reasons (`list` of `str`, optional): How each reply ended: "stop", "length" (cut
        off), "reasoning" (ended before an answer), "refusal" or "content_filter" (both count as refused), or `None`
        (not known).
    pool_ids (`list`, optional): The pool of each pair. Images are ranked within their pool, and correlations are means
        over pools. By default, all images are ranked together.
    aggregator (`str`): "map" (default), "mle", "mle_ridge" (always finite, unlike "mle"), "perron" or "trueskill".
    ridge (`float`): Size of the ridge of "mle_ridge". Default 0.01.
    order_seed (`int`, optional): Seed that shuffles the pairs for "trueskill", whose scores depend on the order of the
        pairs; by default, the given order is kept.
    pool_weights (`str`): Weights of the pools in the means: "equal" (default), or "images", the number of images.
    undefined_pools (`str`): How a pool with an undefined correlation enters the mean: "leave_out" (default), or "zero",
        as in the paper's Table IV.
    fit (`str`): "logistic4" (default) or "logistic5", the mapping before `plcc_fitted`.
    resamples (`int`): Bootstrap resamples of the correlations' intervals. Default 1000.
    seed (`int`): Seed of the bootstrap. Default 0.
    return_items (`bool`): Whether to add `items`. Default False.

Returns:
    consistency (`float`): Share of pairs whose two replies prefer the same image, from 0 to 1; higher is better.
    accuracy_consistent, accuracy_all (`float`): Share of correctly ordered pairs among the consistent pairs (Eq. 4 of
        the paper) and among all pairs (its tables), from 0 to 1; higher is better. Pairs of equal quality are left out.
    consistency_ci95, accuracy_consistent_ci95, accuracy_all_ci95 (`list` of two `float`): Their 95 % intervals.
    first_rate, second_rate, draw_rate (`float`): Shares of replies that prefer the first image shown, the second image
        shown, and neither. `first_rate_ci95` is the 95 % interval of `first_rate`.
    intervals (`dict`): For each score with an interval, its `kind` and its number of independent `units`.
    extraction (`dict`): Shares of replies that prefer an image (`exact`) and that state no preference (`unmatched`,
        divided into `cut_off`, `unfinished_reasoning`, `refused` and `unparseable`). The other steps of choice
        extraction are always 0.
    unmatched, equal_quality, n_consistent, n_pairs, n_images (`int`): Number of pairs with a reply that states no
        preference, pairs of equal quality, consistent pairs, all pairs, and images.
    srcc, plcc, krcc (`float`): Correlations of the images' scores with references, from -1 to 1; higher is better.
    plcc_fitted (`float`): The paper's rho: PLCC after the fit, with the sign of `plcc`.
    srcc_ci95, plcc_ci95 (`list` of two `float`): Their 95 % intervals.
    scores (`dict`): Image id to score, from 0 to 100; with pools, pool id to a dict of image id to score.
    n_pools, n_undefined_pools (`int`), by_pool (`dict`, with pools): Number of pools, number of pools without SRCC or
        PLCC, and the same scores for each pool.
    aggregator, fit, resamples, seed, order_seed ("trueskill"), ridge ("mle_ridge"), pool_weights, undefined_pools
        (pools): The settings.
    items (`dict` of `list`, with `return_items`): For each pair, `choice` and `reversed_choice`, "first" or "second" as
        the pair was shown, or `None`; `step` and `reversed_step`, "exact" or the reason why no preference was found;
        `consistent`, whether both replies prefer the same image; `correct`, whether both prefer the image of higher
        quality, `None` if both images have equal quality.
    An undefined score is nan, with a warning: no consistent pair, equal references, or no finite optimum.

Examples:
    >>> from eyechart.metrics import load
    >>> metric = load("paired_comparison")
    >>> quality = {f"image {level}": float(level) for level in range(40)}
    >>> pairs = [(one, other) for one in quality for other in list(quality)[::7] if one != other]
    >>> scores = metric.compute(
    ...     predictions=["A" if quality[one] > quality[other] else "B" for one, other in pairs],
    ...     reversed_predictions=["B" if quality[one] > quality[other] else "A" for one, other in pairs],
    ...     first_ids=[one for one, other in pairs],
    ...     second_ids=[other for one, other in pairs],
    ...     first_references=[quality[one] for one, other in pairs],
    ...     second_references=[quality[other] for one, other in pairs],
    ... )
    >>> scores["consistency"], scores["accuracy_all"], scores["first_rate"], scores["n_pairs"], scores["n_images"]
    (1.0, 1.0, 0.5, 234, 40)
    >>> round(scores["srcc"], 2), round(scores["plcc"], 2), scores["aggregator"]
    (0.99, 0.98, 'map')
"""


class PairedComparison(CheckedColumns, evaluate.Metric):
    """Consistency, accuracy and correlation of paired comparisons."""

    def _info(self) -> evaluate.MetricInfo:
        text, number = datasets.Value("string"), datasets.Value("float64")
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features(
                {
                    "predictions": text,
                    "reversed_predictions": text,
                    "first_ids": text,
                    "second_ids": text,
                    "first_references": number,
                    "second_references": number,
                }
            ),
            reference_urls=["https://arxiv.org/abs/2402.01162"],
        )

    def _compute(
        self,
        predictions: Sequence[str],
        reversed_predictions: Sequence[str],
        first_ids: Sequence[str],
        second_ids: Sequence[str],
        first_references: Sequence[float],
        second_references: Sequence[float],
        finish_reasons: Sequence[str | None] | None = None,
        reversed_finish_reasons: Sequence[str | None] | None = None,
        pool_ids: Sequence[Any] | None = None,
        aggregator: str = "map",
        ridge: float = RIDGE,
        order_seed: int | None = None,
        pool_weights: str = "equal",
        undefined_pools: str = "leave_out",
        fit: FitName = "logistic4",
        resamples: int = 1000,
        seed: int = 0,
        return_items: bool = False,
    ) -> dict[str, Any]:
        ends = {"finish_reasons": finish_reasons, "reversed_finish_reasons": reversed_finish_reasons}
        check_gathered(self.num_process, list(self.features), pool_ids=pool_ids, **ends)
        settings = PairSettings(aggregator, order_seed, pool_weights, undefined_pools, fit, resamples, seed, ridge)
        pairs = check_pairs(first_ids, second_ids, first_references, second_references, pool_ids)
        items = read_pairs(predictions, reversed_predictions, pairs, **ends)
        scores = pair_scores(items, pairs, settings)
        return scores | ({"items": items} if return_items else {})
