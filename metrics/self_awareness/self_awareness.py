"""Self-awareness on multiple-choice questions with a refusal option, as an `evaluate` module.

Protocol: QL-Bench, Sec. III (https://arxiv.org/abs/2409.09748), with MMBench's choice extraction, Sec. 3.2
(https://arxiv.org/abs/2307.06281). Departures: see `eyechart.metrics.scoring.choices.self_awareness` and `.reading`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import datasets
import evaluate

try:
    from eyechart.metrics.cards import module_texts
    from eyechart.metrics.columns import CheckedColumns
    from eyechart.metrics.scoring.choices.reading import ExtractionSettings, Replies
    from eyechart.metrics.scoring.choices.replies import Extraction
    from eyechart.metrics.scoring.choices.self_awareness import read_self_awareness, self_awareness_scores
    from eyechart.metrics.scoring.judging.replies import Judge, name_or_none
except ModuleNotFoundError as error:
    raise ImportError(f"{error}; in a checkout of eyechart, run: pip install -c constraints.txt .") from error


class SelfAwareness(CheckedColumns, evaluate.Metric):
    """Correct answers and justified refusals on multiple-choice questions with a refusal option."""

    def _info(self) -> evaluate.MetricInfo:
        text = datasets.Value("string")
        return evaluate.MetricInfo(
            **module_texts("self_awareness"),
            features=datasets.Features(
                {
                    "predictions": text,
                    "references": text,
                    "choices": datasets.Sequence(text),
                    "refusals": text,
                    # Not "string", for which evaluate refuses None in the first row.
                    "forced_predictions": datasets.Value("large_string"),
                }
            ),
            reference_urls=["https://arxiv.org/abs/2409.09748", "https://arxiv.org/abs/2307.06281"],
        )

    def _compute(
        self,
        predictions: Sequence[str],
        references: Sequence[str],
        choices: Sequence[Sequence[str]],
        refusals: Sequence[str],
        forced_predictions: Sequence[str | None],
        finish_reasons: Sequence[str | None] | None = None,
        forced_finish_reasons: Sequence[str | None] | None = None,
        questions: Sequence[str] | None = None,
        groups: Mapping[str, Sequence[Any]] | None = None,
        clusters: Sequence[Any] | None = None,
        judge: Judge | None = None,
        judge_template: str = "mmbench_choice",
        rounds: int = 5,
        fallback: str = "wrong",
        seed: int = 0,
        extraction: Extraction = "declared",
        unreadable_forced: str = "apart",
        return_items: bool = False,
    ) -> dict[str, Any]:
        settings = ExtractionSettings(
            name_or_none(judge), judge_template, "unmatched", rounds, fallback, seed, extraction
        )
        forced = refusals, forced_predictions, forced_finish_reasons
        replies = Replies(
            predictions, references, choices, finish_reasons, questions, None, None, None, *forced, groups, clusters
        )
        items = read_self_awareness(replies, settings, judge, unreadable_forced)
        scores = self_awareness_scores(items, replies, settings, unreadable_forced)
        return scores | ({"items": items} if return_items else {})
