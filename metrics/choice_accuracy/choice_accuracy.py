"""Accuracy of multiple-choice answers given as free text, as an `evaluate` module.

Protocols: Q-Bench, Sec. 2.2 (https://arxiv.org/abs/2309.14181), with MMBench's choice extraction, Sec. 3.2
(https://arxiv.org/abs/2307.06281). Departures: see `eyechart.metrics.scoring.choices.reading` and `.accuracy`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import datasets
import evaluate

try:
    from eyechart.metrics.cards import module_texts
    from eyechart.metrics.columns import CheckedColumns
    from eyechart.metrics.scoring.choices.accuracy import choice_scores
    from eyechart.metrics.scoring.choices.reading import ExtractionSettings, Replies, read_choices
    from eyechart.metrics.scoring.choices.replies import Extraction
    from eyechart.metrics.scoring.judging.replies import Judge, name_or_none
except ModuleNotFoundError as error:
    raise ImportError(f"{error}; in a checkout of eyechart, run: pip install -c constraints.txt .") from error


class ChoiceAccuracy(CheckedColumns, evaluate.Metric):
    """Accuracy of free-text multiple-choice answers."""

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            **module_texts("choice_accuracy"),
            features=datasets.Features(
                {
                    "predictions": datasets.Value("string"),
                    "references": datasets.Value("string"),
                    "choices": datasets.Sequence(datasets.Value("string")),
                }
            ),
            reference_urls=["https://arxiv.org/abs/2309.14181", "https://arxiv.org/abs/2307.06281"],
        )

    def _compute(
        self,
        predictions: Sequence[str],
        references: Sequence[str],
        choices: Sequence[Sequence[str]],
        finish_reasons: Sequence[str | None] | None = None,
        questions: Sequence[str] | None = None,
        groups: Mapping[str, Sequence[Any]] | None = None,
        clusters: Sequence[Any] | None = None,
        judge: Judge | None = None,
        judge_template: str = "mmbench_choice",
        rounds: int = 5,
        judge_reads: str = "unmatched",
        fallback: str = "wrong",
        seed: int = 0,
        extraction: Extraction = "declared",
        return_items: bool = False,
    ) -> dict[str, Any]:
        settings = ExtractionSettings(
            name_or_none(judge), judge_template, judge_reads, rounds, fallback, seed, extraction
        )
        replies = Replies(predictions, references, choices, finish_reasons, questions, groups=groups, clusters=clusters)
        items = read_choices(replies, settings, judge)
        return choice_scores(items, replies, settings) | ({"items": items} if return_items else {})
