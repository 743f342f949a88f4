"""Which scores of a task go to the Hub; the first is the one by which its leaderboards rank."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from eyechart.evaluators.results.results_file import TaskResult
from eyechart.evaluators.tasks import get_task


@dataclass(frozen=True)
class Headline:
    """One score of a metric, as the Hub is told of it."""

    key: str
    """Its key in the metric's result, which is also the Hub's type of the metric."""
    name: str
    """For people."""
    interval: str
    """Key of its 95 % interval."""
    n: str = "n"
    """Key of the number of items behind it."""


_CORRELATIONS = (Headline("srcc", "SRCC", "srcc_ci95"), Headline("plcc", "PLCC", "plcc_ci95"))
HEADLINES: Mapping[str, tuple[Headline, ...]] = {
    "choice_accuracy": (Headline("accuracy", "Accuracy", "accuracy_ci95"),),
    "circular_eval": (
        Headline("circular_accuracy", "CircularEval accuracy", "circular_ci95", "n_questions"),
        Headline("vanilla_accuracy", "VanillaEval accuracy", "vanilla_ci95", "n_vanilla"),
    ),
    "self_awareness": (
        Headline("score_sa", "Self-awareness (0 to 100)", "score_sa_ci95"),
        Headline("score_cc", "Right answers (0 to 100)", "score_cc_ci95"),
        Headline("score_rc", "Right refusals (0 to 100)", "score_rc_ci95"),
    ),
    "judge_description": (Headline("sum", "Sum of three (0 to 6)", "sum_ci95"),),
    "softmax_iqa": _CORRELATIONS,
    "paired_comparison": (
        *(Headline(score.key, score.name, score.interval, "n_images") for score in _CORRELATIONS),
        Headline("consistency", "Consistency", "consistency_ci95", "n_pairs"),
        Headline("accuracy_consistent", "Accuracy, consistent pairs", "accuracy_consistent_ci95", "n_consistent"),
    ),
}


def headlines(result: TaskResult) -> list[tuple[Headline, float]]:
    """The scores of a result that are published, with their values; those that are undefined are left out."""
    found = [(headline, value(result, headline.key)) for headline in HEADLINES[get_task(result.task).metric]]
    return [(headline, number) for headline, number in found if number is not None]


def value(result: TaskResult, key: str) -> float | None:
    """A finite score, or None."""
    number: Any = (result.scores or {}).get(key)
    is_number = isinstance(number, int | float) and not isinstance(number, bool) and math.isfinite(number)
    return number if is_number else None
