"""Agreement of predicted image quality with opinion scores, as an `evaluate` module.

Protocol: Q-Bench, Sec. 2.4, Eq. 1 (https://arxiv.org/abs/2309.14181). Departures: the temperature of 100 and the choice
of ties, see `eyechart.metrics.scoring.quality.pooling`; the correlations after a logistic fit are an addition.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import datasets
import evaluate

try:
    from eyechart.metrics.cards import module_texts
    from eyechart.metrics.columns import CheckedColumns
    from eyechart.metrics.scoring.errors import InputError
    from eyechart.metrics.scoring.inputs import check_groups, check_member
    from eyechart.metrics.scoring.quality.correlation import FitName
    from eyechart.metrics.scoring.quality.pooling import PoolingSettings, Strategy, Ties, read_logits, read_scores
    from eyechart.metrics.scoring.quality.scores import QualitySettings, quality_scores
except ModuleNotFoundError as error:
    raise ImportError(f"{error}; in a checkout of eyechart, run: pip install -c constraints.txt .") from error

_CONFIGURATIONS = ("logits", "scores")


class SoftmaxIqa(CheckedColumns, evaluate.Metric):
    """Correlations of predicted quality with opinion scores."""

    def _info(self) -> evaluate.MetricInfo:
        number = datasets.Value("float64")
        predictions = number if self._configuration() == "scores" else datasets.Sequence(number)
        return evaluate.MetricInfo(
            **module_texts("softmax_iqa"),
            features=datasets.Features({"predictions": predictions, "references": number}),
            reference_urls=["https://arxiv.org/abs/2309.14181"],
        )

    def _configuration(self) -> str:
        name = "logits" if self.config_name == "default" else self.config_name
        check_member("config_name", name, _CONFIGURATIONS)
        return name

    def _compute(
        self,
        predictions: Sequence[Any],
        references: Sequence[float],
        temperature: float = 100.0,
        strategy: Strategy = "softmax",
        ties: Ties = "exact",
        fit: FitName = "logistic4",
        groups: Mapping[str, Sequence[Any]] | None = None,
        average_over: str | None = None,
        resamples: int = 1000,
        seed: int = 0,
        return_items: bool = False,
    ) -> dict[str, Any]:
        checked = check_groups(groups, len(references))
        pooling = PoolingSettings(strategy, temperature, ties)
        is_logits = self._configuration() == "logits"
        if not is_logits and pooling != PoolingSettings():
            given = {"temperature": temperature, "strategy": strategy, "ties": ties}
            name = next(name for name, value in given.items() if value != getattr(PoolingSettings, name))
            raise InputError(f"{name} is {given[name]!r}; it can be set only with the configuration 'logits'")
        settings = QualitySettings(fit, average_over, resamples, seed, pooling if is_logits else None)
        items = read_logits(predictions, pooling) if is_logits else read_scores(predictions)
        scores = quality_scores(items, references, checked, settings)
        return scores | ({"items": items} if return_items else {})
