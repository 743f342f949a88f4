"""CircularEval of multiple-choice answers given as free text, as an `evaluate` module.

Protocol: MMBench, Sec. 3.1 and 3.2 (https://arxiv.org/abs/2307.06281). Departures: see
`eyechart.metrics.scoring.choices.circular` and `.reading`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import datasets
import evaluate

try:
    from eyechart.metrics.cards import module_texts
    from eyechart.metrics.columns import CheckedColumns
    from eyechart.metrics.scoring.choices.circular import circular_scores, read_circular
    from eyechart.metrics.scoring.choices.reading import ExtractionSettings, Replies
    from eyechart.metrics.scoring.choices.replies import Extraction
    from eyechart.metrics.scoring.judging.replies import Judge, name_or_none
except ModuleNotFoundError as error:
    raise ImportError(f"{error}; in a checkout of eyechart, run: pip install -c constraints.txt .") from error


class CircularEval(CheckedColumns, evaluate.Metric):
    """Share of questions answered correctly in every pass."""

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            **module_texts("circular_eval"),
            features=datasets.Features(
                {
                    "predictions": datasets.Value("string"),
                    "references": datasets.Value("string"),
                    "choices": datasets.Sequence(datasets.Value("string")),
                    # Not "string", for which evaluate refuses whole numbers.
                    "question_ids": datasets.Value("large_string"),
                    "rotations": datasets.Value("int64"),
                }
            ),
            reference_urls=["https://arxiv.org/abs/2307.06281"],
        )

    def _compute(
        self,
        predictions: Sequence[str],
        references: Sequence[str],
        choices: Sequence[Sequence[str]],
        question_ids: Sequence[str],
        rotations: Sequence[int],
        pass_counts: Sequence[int] | None = None,
        finish_reasons: Sequence[str | None] | None = None,
        questions: Sequence[str] | None = None,
        groups: Mapping[str, Sequence[Any]] | None = None,
        clusters: Sequence[Any] | None = None,
        judge: Judge | None = None,
        judge_template: str = "mmbench_choice",
        rounds: int = 5,
        fallback: str = "wrong",
        seed: int = 0,
        extraction: Extraction = "declared",
        missing: str = "error",
        return_items: bool = False,
    ) -> dict[str, Any]:
        settings = ExtractionSettings(
            name_or_none(judge), judge_template, "unmatched", rounds, fallback, seed, extraction
        )
        asked = question_ids, rotations, pass_counts
        replies = Replies(
            predictions, references, choices, finish_reasons, questions, *asked, groups=groups, clusters=clusters
        )
        items = read_circular(replies, missing, settings, judge)
        return circular_scores(items, replies, missing, settings) | ({"items": items} if return_items else {})
