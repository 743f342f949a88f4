"""Judge scores from 1 to 5 for open answers, as an `evaluate` module.

Protocol: MMBench, Appendix D.2 (https://arxiv.org/abs/2307.06281). Departures: see
`eyechart.metrics.scoring.judging.answers`; the judge prompt is our own.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import datasets
import evaluate

try:
    from eyechart.metrics.cards import module_texts
    from eyechart.metrics.columns import CheckedColumns
    from eyechart.metrics.scoring.inputs import check_groups
    from eyechart.metrics.scoring.judging.answers import answer_scores, read_answers
    from eyechart.metrics.scoring.judging.lexical import lexical
    from eyechart.metrics.scoring.judging.replies import Judge, JudgeSettings, judge_name
except ModuleNotFoundError as error:
    raise ImportError(f"{error}; in a checkout of eyechart, run: pip install -c constraints.txt .") from error


class JudgeAnswer(CheckedColumns, evaluate.Metric):
    """Judge scores of open answers."""

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            **module_texts("judge_answer"),
            features=datasets.Features(
                {
                    "predictions": datasets.Value("string"),
                    "references": datasets.Value("string"),
                    "questions": datasets.Value("string"),
                }
            ),
            reference_urls=["https://arxiv.org/abs/2307.06281"],
        )

    def _compute(
        self,
        predictions: Sequence[str],
        references: Sequence[str],
        questions: Sequence[str],
        groups: Mapping[str, Sequence[Any]] | None = None,
        clusters: Sequence[Any] | None = None,
        judge: Judge | None = None,
        rounds: int = 1,
        return_items: bool = False,
    ) -> dict[str, Any]:
        judge = lexical if judge is None else judge
        settings = JudgeSettings(judge_name(judge), rounds)
        checked = check_groups(groups, len(predictions))
        items = read_answers(predictions, references, questions, judge, rounds)
        scores = answer_scores(items, checked, settings, clusters)
        return scores | ({"items": items} if return_items else {})
