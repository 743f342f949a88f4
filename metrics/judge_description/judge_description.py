"""Completeness, preciseness and relevance of image descriptions, scored by a judge, as an `evaluate` module.

Protocols: Q-Bench, Sec. 2.3 and Appendix A.2.2 (https://arxiv.org/abs/2309.14181); AesBench, Sec. 3.4
(https://arxiv.org/abs/2401.08276). Departures: see `eyechart.metrics.scoring.judging.descriptions` and the templates.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import datasets
import evaluate

try:
    from eyechart.metrics.cards import module_texts
    from eyechart.metrics.columns import CheckedColumns
    from eyechart.metrics.scoring.inputs import check_groups, check_lengths, check_member
    from eyechart.metrics.scoring.judging.descriptions import DIMENSIONS, description_scores, read_descriptions
    from eyechart.metrics.scoring.judging.lexical import lexical
    from eyechart.metrics.scoring.judging.replies import Judge, JudgeSettings, judge_name
except ModuleNotFoundError as error:
    raise ImportError(f"{error}; in a checkout of eyechart, run: pip install -c constraints.txt .") from error


class JudgeDescription(CheckedColumns, evaluate.Metric):
    """Scores of image descriptions, given by a judge."""

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            **module_texts("judge_description"),
            features=datasets.Features(
                {"predictions": datasets.Value("string"), "references": datasets.Value("string")}
            ),
            reference_urls=["https://arxiv.org/abs/2309.14181", "https://arxiv.org/abs/2401.08276"],
        )

    def _compute(
        self,
        predictions: Sequence[str],
        references: Sequence[str],
        finish_reasons: Sequence[str | None] | None = None,
        groups: Mapping[str, Sequence[Any]] | None = None,
        clusters: Sequence[Any] | None = None,
        judge: Judge | None = None,
        rounds: int = 5,
        template: str = "q_bench",
        return_items: bool = False,
    ) -> dict[str, Any]:
        check_lengths(predictions=predictions, finish_reasons=predictions if finish_reasons is None else finish_reasons)
        check_member("template", template, list(DIMENSIONS))
        judge = lexical if judge is None else judge
        settings = JudgeSettings(judge_name(judge), rounds)
        checked = check_groups(groups, len(predictions))
        items = read_descriptions(predictions, references, judge, rounds, template, finish_reasons)
        scores = description_scores(items, checked, settings, template, clusters)
        return scores | ({"items": items} if return_items else {})
