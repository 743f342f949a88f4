"""The earlier interface of `reading`, for evaluators that do not use items yet."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eyechart.metrics.scoring.choices.reading import ExtractionSettings, read_choices
from eyechart.metrics.scoring.judging.replies import Judge, judge_name


@dataclass(frozen=True)
class Extraction:
    """How replies become choices: settings, and what `read_choices` takes beside them."""

    questions: Sequence[str] | None = None
    judge: Judge | None = None
    judge_template: str = "mmbench_choice"
    rounds: int = 5
    fallback: str = "wrong"
    seed: int = 0
    question_ids: Sequence[str] | None = None
    rotations: Sequence[int] | None = None
    judge_reads: str = "unmatched"


@dataclass(frozen=True)
class Decisions:
    """The items `choice`, `correct` and `step`."""

    letters: list[Any]
    correct: NDArray[np.bool_]
    steps: list[Any]


def decide(
    predictions: Sequence[str], references: Sequence[str], choices: Sequence[Sequence[str]], extraction: Extraction
) -> Decisions:
    """As `read_choices`."""
    items = read_choices(
        predictions,
        references,
        choices,
        ExtractionSettings(
            None if extraction.judge is None else judge_name(extraction.judge),
            extraction.judge_template,
            extraction.judge_reads,
            rounds=extraction.rounds,
            fallback=extraction.fallback,
            seed=extraction.seed,
        ),
        questions=extraction.questions,
        judge=extraction.judge,
        ids=extraction.question_ids,
        rotations=extraction.rotations,
    )
    return Decisions(items["choice"], np.array(items["correct"], dtype=bool), items["step"])
