"""Agreement of predicted image quality with opinion scores, as an `evaluate` module.

Protocol: Q-Bench, Sec. 2.4, Eq. 1 (https://arxiv.org/abs/2309.14181). Departures: the temperature of 100 and the choice
of ties, see `eyechart.metrics.scoring.quality.pooling`; the correlations after a logistic fit are an addition.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import datasets
import evaluate

try:
    from eyechart.metrics.columns import CheckedColumns
    from eyechart.metrics.scoring.errors import InputError
    from eyechart.metrics.scoring.inputs import check_gathered, check_groups, check_member
    from eyechart.metrics.scoring.quality.correlation import FitName
    from eyechart.metrics.scoring.quality.pooling import PoolingSettings, Strategy, Ties, read_logits, read_scores
    from eyechart.metrics.scoring.quality.scores import QualitySettings, quality_scores
except ModuleNotFoundError as error:
    raise ImportError(f"{error}; in a checkout of eyechart, run: pip install -c constraints.txt .") from error

_DESCRIPTION = """
Correlations (SRCC, PLCC, KRCC) of a model's quality scores with human opinion scores. The quality scores are pooled
from the next-token logits of a positive and a negative word (configuration "logits") or given directly ("scores").
"""

_CITATION = """
@inproceedings{wu2024qbench,
  title={Q-Bench: A Benchmark for General-Purpose Foundation Models on Low-level Vision},
  author={Wu, Haoning and Zhang, Zicheng and Zhang, Erli and Chen, Chaofeng and Liao, Liang and others},
  booktitle={International Conference on Learning Representations},
  year={2024}
}
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: Configuration "logits" (default): pairs of logits, positive word first. "scores": numbers.
    references (`list` of `float`): Opinion scores, higher is better.
    temperature (`float`): Divisor of the logits before the softmax. Default 100. "logits" only.
    strategy (`str`): "softmax" (default) or "argmax" (1 if positive > negative, else 0). "logits" only.
    ties (`str`): "exact" (default) ranks by the difference of the logits; "released" reproduces the rounding of the
        released code, which splits ties. "logits" only.
    fit (`str`): "logistic4" (default) or "logistic5", the mapping before `plcc_fitted` and `rmse_fitted`.
    groups (`dict` of `str` to `list`, optional): Group name to one value per image; adds `by_<group name>`.
    average_over (`str`, optional): Name of one of the `groups`; the overall scores are then plain means over its
        values.
    resamples (`int`): Bootstrap resamples of the interval of `srcc`. Default 1000.
    seed (`int`): Seed of the bootstrap. Default 0.
    return_items (`bool`): Whether to add `items`. Default False.

Returns:
    srcc, plcc, krcc (`float`): Spearman, Pearson and Kendall correlation, from -1 to 1; higher is better.
    plcc_fitted, rmse_fitted (`float`): Pearson correlation (with the sign of `plcc`) and root mean squared error after
        the fit.
    srcc_ci95, plcc_ci95 (`list` of two `float`): Their 95 % intervals.
    fit_parameters (`list` of `float`): Parameters b1, b2, ... of the fitted logistic; `None` if there is no fit, and
        for the means of `average_over`. "logistic4" is b2 + (b1 - b2) / (1 + exp(-(x - b3) / |b4|)).
    n (`int`): Number of images.
    intervals (`dict`): For each score with an interval, its `kind` and its number of independent `units`.
    by_<group name> (`dict`): The same scores for each group value.
    temperature, strategy, ties ("logits" only), fit, average_over, resamples, seed: The settings.
    items (`dict` of `list`, with `return_items`): For each image, `quality_score` and `rank_score`, which has the same
        order and the ties that rank correlations use.
    A score is nan, with a warning, if all predictions or all references are equal, or if there are too few of them.

Examples:
    >>> from eyechart.metrics import load
    >>> metric = load("softmax_iqa", "scores")
    >>> quality = [float(level) for level in range(40)]
    >>> scores = metric.compute(predictions=[value**2 for value in quality], references=quality)
    >>> round(scores["srcc"], 4), round(scores["plcc"], 4), round(scores["krcc"], 4), scores["n"]
    (1.0, 0.9668, 1.0, 40)
    >>> metric = load("softmax_iqa")
    >>> scores = metric.compute(predictions=[[level, -level] for level in range(40)], references=quality)
    >>> round(scores["srcc"], 4), scores["temperature"], scores["ties"]
    (1.0, 100.0, 'exact')
"""

_CONFIGURATIONS = ("logits", "scores")


class SoftmaxIqa(CheckedColumns, evaluate.Metric):
    """Correlations of predicted quality with opinion scores."""

    def _info(self) -> evaluate.MetricInfo:
        number = datasets.Value("float64")
        predictions = number if self._configuration() == "scores" else datasets.Sequence(number)
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
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
        check_gathered(self.num_process, list(self.features), groups=groups)
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
