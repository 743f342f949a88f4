"""Quality comparison of image pairs shown in both orders, as an `evaluate` module.

Protocol: 2AFC, Sec. II and III (https://arxiv.org/abs/2402.01162). Departures: see `replies`, `preferences` and
`scores` in `eyechart.metrics.scoring.pairs`, and `eyechart.metrics.scoring.pair_ranking`.
"""

from collections.abc import Sequence
from typing import Any

import datasets
import evaluate

try:
    from eyechart.metrics.cards import module_texts
    from eyechart.metrics.columns import CheckedColumns
    from eyechart.metrics.scoring.errors import InputError
    from eyechart.metrics.scoring.pairs.pools import RIDGE, PairSettings, check_pairs
    from eyechart.metrics.scoring.pairs.preferences import read_pairs
    from eyechart.metrics.scoring.pairs.scores import pair_scores
    from eyechart.metrics.scoring.quality.correlation import FitName
except ModuleNotFoundError as error:
    raise ImportError(f"{error}; in a checkout of eyechart, run: pip install -c constraints.txt .") from error


class PairedComparison(CheckedColumns, evaluate.Metric):
    """Consistency, accuracy and correlation of paired comparisons."""

    def _info(self) -> evaluate.MetricInfo:
        text, number = datasets.Value("string"), datasets.Value("float64")
        return evaluate.MetricInfo(
            **module_texts("paired_comparison"),
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
        settings = PairSettings(aggregator, order_seed, pool_weights, undefined_pools, fit, resamples, seed, ridge)
        for name in ("pool_weights", "undefined_pools"):
            if pool_ids is None and getattr(settings, name) != getattr(PairSettings, name):
                raise InputError(f"{name} is {getattr(settings, name)!r}; it needs pool_ids")
        pairs = check_pairs(first_ids, second_ids, first_references, second_references, pool_ids)
        items = read_pairs(predictions, reversed_predictions, pairs, **ends)
        scores = pair_scores(items, pairs, settings)
        return scores | ({"items": items} if return_items else {})
