"""What every item gave in a run, from its predictions: right or not, a judge's scores, a quality score."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.datasets_scripts.common.pairs.label_pools import MIXED_POOL
from eyechart.evaluators.report.runs import Answers
from eyechart.evaluators.results.predictions import JUDGED_DIMENSIONS
from eyechart.evaluators.results.results_file import TaskResult

Row = Mapping[str, Any]
_SELF_AWARE = ("right answer", "right refusal")


@dataclass(frozen=True)
class Share:
    """A score that is the share of items that are right in some sense."""

    key: str
    """Of the score in the results."""
    label: str
    right: Mapping[str, bool]
    """By item."""
    images: Mapping[str, tuple[str, str]] | None = None
    """The two images of each item, where items share images."""


@dataclass(frozen=True)
class JudgeScores:
    """A judge's scores in one dimension, or in all together."""

    key: str
    label: str
    values: Mapping[str, float]
    """By item; without those of which every round failed."""


@dataclass(frozen=True)
class Qualities:
    """Predicted and human quality of images."""

    values: Mapping[str, float]
    """What PLCC is computed of, by item."""
    ranking: Mapping[str, float]
    """What SRCC is computed of, by item; other ties than those of the values."""
    human: Mapping[str, float]
    averaged: bool
    """Whether the results average the correlations of parts of the data, which the predictions do not name."""


@dataclass(frozen=True)
class ItemScores:
    """Everything that a task's items gave in one run."""

    references: Mapping[str, Any]
    """What is right, by item, to tell whether two runs had the same data."""
    shares: tuple[Share, ...] = ()
    judged: tuple[JudgeScores, ...] = ()
    qualities: Qualities | None = None


def item_scores(result: TaskResult, answers: Answers) -> ItemScores:
    """Read what each item gave.

    Args:
        result: The task's result.
        answers: Its predictions.

    Raises:
        DataError: There is no score, or the predictions do not hold what each item gave.
    """
    if result.scores is None:
        raise DataError("it has no score")
    rows = {row["id"]: row for row in answers.rows(range(len(answers))) if row["pass"] == "main"}
    readers = {
        "multiple_choice": _choices,
        "circular_eval": _circular,
        "self_awareness": _refusals,
        "description": _descriptions,
        "quality_assessment": _qualities,
        "paired_comparison": _pairs,
    }
    protocol = result.settings.get("protocol")
    if protocol not in readers:
        raise DataError(f"its settings name no known protocol, but {protocol!r}")
    found = readers[protocol](rows, result.scores)
    if not found.references:
        raise DataError("it has no item with a public answer")
    return found


def _known(rows: Mapping[str, Row], column: str) -> dict[str, Row]:
    return {item: row for item, row in rows.items() if row.get(column) is not None}


def _right_texts(rows: Mapping[str, Row]) -> dict[str, str | None]:
    """The right option of each item, whatever letter it was shown under."""
    return {item: row["options"][ascii_uppercase.index(row["answer"])] for item, row in rows.items()}


def _choices(rows: Mapping[str, Row], scores: Mapping[str, Any]) -> ItemScores:
    known = _known(rows, "correct")
    right = {item: row["correct"] for item, row in known.items()}
    return ItemScores(_right_texts(known), (Share("accuracy", "accuracy", right),))


def _circular(rows: Mapping[str, Row], scores: Mapping[str, Any]) -> ItemScores:
    known = _known(rows, "circular_correct")
    circular = {item: row["circular_correct"] for item, row in known.items()}
    vanilla = {item: row["correct"] for item, row in known.items() if row["correct"] is not None}
    shares = (Share("circular_accuracy", "CircularEval", circular), Share("vanilla_accuracy", "VanillaEval", vanilla))
    return ItemScores(_right_texts(known), shares)


def _refusals(rows: Mapping[str, Row], scores: Mapping[str, Any]) -> ItemScores:
    """Right answers and right refusals (QL-Bench, Sec. III-C)."""
    known = _known(rows, "outcome")
    right = {item: row["outcome"] in _SELF_AWARE for item, row in known.items()}
    return ItemScores(_right_texts(known), (Share("score_sa", "self-awareness", right),))


def _pairs(rows: Mapping[str, Row], scores: Mapping[str, Any]) -> ItemScores:
    """Consistent, and consistent and right (2AFC, Eq. 3 and the tables); the pool `mixed` only where it is alone."""
    known = _known(rows, "consistent")
    own = {item: row for item, row in known.items() if row["pool"] != MIXED_POOL} or known
    ids = {item: (row["first_id"], row["second_id"]) for item, row in own.items()}
    agreed = {item: row["consistent"] for item, row in own.items()}
    right = {item: row["correct"] for item, row in own.items() if row["correct"] is not None}
    shares = (
        Share("consistency", "consistency", agreed, ids),
        Share("accuracy_all", "accuracy, all pairs", right, ids),
    )
    return ItemScores(ids, shares)


def _descriptions(rows: Mapping[str, Row], scores: Mapping[str, Any]) -> ItemScores:
    """Each image's scores by dimension, and their sum or mean, whichever the protocol reports."""
    known = {item: row for item, row in rows.items() if row["rounds"] is not None}
    by_item = {
        item: {name: row[name] for name in JUDGED_DIMENSIONS if row[name] is not None} for item, row in known.items()
    }
    dimensions = [name for name in JUDGED_DIMENSIONS if name in scores]
    total, divisor = ("mean", len(dimensions)) if scores.get("template") == "aesbench" else ("sum", 1)
    columns = {
        total: {k: math.fsum(v.values()) / divisor for k, v in by_item.items() if len(v) == len(dimensions)},
        **{name: {item: one[name] for item, one in by_item.items() if name in one} for name in dimensions},
    }
    judged = tuple(JudgeScores(name, f"{name}, mean over images", values) for name, values in columns.items() if values)
    return ItemScores({item: row["reference"] for item, row in known.items()}, judged=judged)


def _qualities(rows: Mapping[str, Row], scores: Mapping[str, Any]) -> ItemScores:
    known = {item: row for item, row in _known(rows, "rank_score").items() if row["quality"] is not None}
    columns = [{item: row[name] for item, row in known.items()} for name in ("quality_score", "rank_score", "quality")]
    values, ranking, human = columns
    qualities = Qualities(values, ranking, human, scores.get("average_over") is not None)
    return ItemScores(human, qualities=qualities)
