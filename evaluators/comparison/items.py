"""What every item gave in a run, from its predictions: right or wrong, a judge's marks, or a quality score.

Nothing is judged anew. What the predictions do not tell, such as a judge's vote, shows in a share that is not the one
in the results; such a score is not compared.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from string import ascii_uppercase
from typing import Any

import numpy as np

from eyechart.datasets_scripts.common.errors import ContradictionError, DataError
from eyechart.datasets_scripts.common.pairs.label_pools import MIXED_POOL
from eyechart.evaluators.protocols.quality.word_pairs import find_pair
from eyechart.evaluators.report.runs import Answers
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.evaluators.tasks import get_task
from eyechart.evaluators.tasks.task import Kind
from eyechart.metrics.scoring.errors import ScoringError
from eyechart.metrics.scoring.quality.correlation import srcc

_TOLERANCE = 1e-7
_PERCENT = {"score_sa"}
"""Scores that are percentages, not shares."""
Row = Mapping[str, Any]


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
class Marks:
    """A judge's marks in one dimension, or in all together."""

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
    marks: tuple[Marks, ...] = ()
    qualities: Qualities | None = None


def item_scores(result: TaskResult, answers: Answers) -> ItemScores:
    """Read what each item gave.

    Args:
        result: The task's result.
        answers: Its predictions.

    Raises:
        ContradictionError: The predictions tell something else than the results.
        DataError: The predictions do not tell what each item gave.
    """
    if result.scores is None:
        raise DataError("it has no score")
    try:
        return _item_scores(result, result.scores, answers)
    except ScoringError as error:
        raise DataError(f"its predictions give no score: {error}") from error


def _item_scores(result: TaskResult, scores: Mapping[str, Any], answers: Answers) -> ItemScores:
    kind = get_task(result.task).evaluator
    if kind is Kind.QUALITY_ASSESSMENT:
        return _quality_scores(result, answers)
    if kind is Kind.DESCRIPTION:
        return _descriptions(scores, answers)
    readers: Mapping[Kind, Callable[[Mapping[str, dict[str, Row]]], ItemScores]] = {
        Kind.MULTIPLE_CHOICE: _choices,
        Kind.CIRCULAR_EVAL: _rotations,
        Kind.SELF_AWARENESS: partial(_refusals, unreadable_is_wrong=scores.get("unreadable_forced") == "wrong"),
        Kind.PAIRED_COMPARISON: _pairs,
    }
    found = readers[kind](_by_item(answers))
    for share in found.shares:
        _check_share(share, scores)
    return found


def _by_item(answers: Answers) -> dict[str, dict[str, Row]]:
    """Id to the answers by pass; of private questions none."""
    found: dict[str, dict[str, Row]] = defaultdict(dict)
    for row in answers.rows(range(len(answers))):
        if row["pass"] in found[row["id"]]:
            raise DataError(f"item '{row['id']}' has two answers of pass {row['pass']}")
        found[row["id"]][row["pass"]] = row
    return found


def _check_share(share: Share, scores: Mapping[str, Any]) -> None:
    if not share.right:
        raise DataError("it has no item with a public answer")
    told = scores.get(share.key)
    counted = sum(share.right.values()) / len(share.right) * (100 if share.key in _PERCENT else 1)
    if isinstance(told, int | float) and abs(told - counted) <= _TOLERANCE:
        return
    extraction = scores.get("extraction")
    if isinstance(extraction, Mapping) and extraction.get("random"):
        raise DataError("chance decided some answers, and the predictions do not hold what these became")
    raise _contradiction(share.key, counted, told)


def _is_right(row: Row) -> bool:
    correct = row.get("correct")
    return bool(correct) if correct is not None else row["extracted"] is not None and row["extracted"] == row["answer"]


def _right_text(row: Row) -> str | None:
    """The right option, whatever letter it was shown under."""
    options, answer = row["options"] or (), row["answer"] or ""
    place = ascii_uppercase.find(answer) if len(answer) == 1 else -1
    return options[place] if 0 <= place < len(options) else None


def _choices(items: Mapping[str, dict[str, Row]]) -> ItemScores:
    rows = {item: passes["main"] for item, passes in items.items() if "main" in passes and passes["main"]["answer"]}
    right = {item: _is_right(row) for item, row in rows.items()}
    texts = {item: _right_text(row) for item, row in rows.items()}
    return ItemScores(texts, (Share("accuracy", "accuracy", right),))


def _rotations(items: Mapping[str, dict[str, Row]]) -> ItemScores:
    """Right in every rotation; a question of which a pass is missing was wrong in an earlier one."""
    turned = {
        item: [row for name, row in passes.items() if name == "main" or name.startswith("rotation:")]
        for item, passes in items.items()
        if passes.get("main", {}).get("answer")
    }
    circular = {item: all(map(_is_right, rows)) for item, rows in turned.items()}
    vanilla = {item: _is_right(items[item]["main"]) for item in turned}
    texts = {item: _right_text(items[item]["main"]) for item in turned}
    shares = (Share("circular_accuracy", "CircularEval", circular), Share("vanilla_accuracy", "VanillaEval", vanilla))
    return ItemScores(texts, shares)


def _refusals(items: Mapping[str, dict[str, Row]], unreadable_is_wrong: bool) -> ItemScores:
    """RowResponses right, or refused and then answered wrong (QL-Bench, Sec. III-C)."""
    rows = {item: passes for item, passes in items.items() if passes.get("main", {}).get("answer")}
    known = {
        item: _is_right(passes["main"]) or _is_rightly_refused(passes, unreadable_is_wrong)
        for item, passes in rows.items()
    }
    texts = {item: _right_text(passes["main"]) for item, passes in rows.items()}
    return ItemScores(texts, (Share("score_sa", "self-awareness", known),))


def _is_rightly_refused(passes: Mapping[str, Row], unreadable_is_wrong: bool) -> bool:
    first, forced = passes["main"], passes.get("forced")
    place = ascii_uppercase.find(first["extracted"] or "-")
    if forced is None or not 0 <= place < len(first["options"] or ()):
        return False
    is_refused = first["options"][place] not in (forced["options"] or ())
    is_answer = forced["extracted"] is not None or (unreadable_is_wrong and forced["error"] is None)
    return is_refused and is_answer and not _is_right(forced)


def _pairs(items: Mapping[str, dict[str, Row]]) -> ItemScores:
    """Consistent, and consistent and right (2AFC, Eq. 3 and the tables); the pool `mixed` only where it is alone."""
    own = {item: passes for item, passes in items.items() if not item.startswith(f"{MIXED_POOL}-")} or items
    whole = {item: passes for item, passes in own.items() if {"main", "reversed"} <= passes.keys()}
    agreed = {item: _agree(passes["main"], passes["reversed"]) for item, passes in whole.items()}
    unequal = {item for item, passes in whole.items() if passes["main"]["answer"]}
    right = {item: agreed[item] and _is_right(whole[item]["main"]) for item in agreed if item in unequal}
    ids = {item: (passes["main"]["first_id"], passes["main"]["second_id"]) for item, passes in whole.items()}
    shares = (
        Share("consistency", "consistency", agreed, ids),
        Share("accuracy_all", "accuracy, all pairs", right, ids),
    )
    return ItemScores(ids, shares)


def _agree(first: Row, second: Row) -> bool:
    """Whether both replies name an image, and the same one."""
    told = (first["extracted"], second["extracted"])
    return None not in told and told[0] != told[1]


def _descriptions(scores: Mapping[str, Any], answers: Answers) -> ItemScores:
    """Each image's marks by dimension, and their sum or mean, whichever the protocol reports."""
    rows = {row["id"]: row for row in answers.rows(range(len(answers))) if row.get("marks")}
    if not rows:
        raise DataError("its predictions hold no marks of a judge, as those of earlier versions")
    by_item: dict[str, dict[str, float]] = {item: dict(row["marks"]) for item, row in rows.items()}
    dimensions = list(dict.fromkeys(name for marks in by_item.values() for name in marks))
    total, divisor = ("mean", len(dimensions)) if scores.get("template") == "aesbench" else ("sum", 1)
    columns = {
        total: {k: math.fsum(v.values()) / divisor for k, v in by_item.items() if len(v) == len(dimensions)},
        **{name: {item: marks[name] for item, marks in by_item.items() if name in marks} for name in dimensions},
    }
    marks = tuple(Marks(name, f"{name}, mean over images", values) for name, values in columns.items())
    for one in marks:
        _check_marks(one, scores)
    return ItemScores({item: row["reference"] for item, row in rows.items()}, marks=marks)


def _check_marks(marks: Marks, scores: Mapping[str, Any]) -> None:
    if not marks.values:
        raise DataError(f"no item has a mark in {marks.key}")
    if scores.get("failed_rounds") != 0:
        # The score is then the mean over rounds, and images with fewer of them weigh less.
        return
    told = scores.get(marks.key)
    told = told.get("score") if isinstance(told, Mapping) else told
    counted = math.fsum(marks.values.values()) / len(marks.values)
    if not isinstance(told, int | float) or abs(told - counted) > _TOLERANCE:
        raise _contradiction(marks.key, counted, told)


def _quality_scores(result: TaskResult, answers: Answers) -> ItemScores:
    rows = [row for row in answers.rows(range(len(answers))) if row["quality"] is not None]
    if all(row["logits"] is not None for row in rows) and result.settings.get("words"):
        values, ranking = _pooled(result, rows)
    else:
        values = ranking = [_number(row) for row in rows]
    kept = [place for place, value in enumerate(values) if value is not None and math.isfinite(value)]
    ids = [rows[place]["id"] for place in kept]
    if len(set(ids)) < len(ids):
        raise DataError("an item has two answers")
    human = {rows[place]["id"]: float(rows[place]["quality"]) for place in kept}
    qualities = Qualities(
        dict(zip(ids, (values[place] for place in kept), strict=True)),
        dict(zip(ids, (ranking[place] for place in kept), strict=True)),
        human,
        (result.scores or {}).get("average_over") is not None,
    )
    _check_quality(qualities, result.scores or {})
    return ItemScores(human, qualities=qualities)


def _pooled(result: TaskResult, rows: Sequence[Row]) -> tuple[list[Any], list[Any]]:
    """As the metric pools the logits of the words that the settings name: Q-Bench, Eq. 1 and 4."""
    from eyechart.metrics.scoring.quality.pooling import ensemble_logits, pool

    pair = find_pair(str(result.settings["words"]), get_task(result.task).word_pairs)
    logits = [dict(row["logits"]) for row in rows]
    lacking = [row["id"] for row, one in zip(rows, logits, strict=True) if any(one.get(w) is None for w in pair.words)]
    if lacking:
        raise DataError(f"the predictions of '{lacking[0]}' lack logits of {pair.name}")
    columns = {word: np.array([one[word] for one in logits]) for word in pair.words}
    scores = result.scores or {}
    pooled = pool(
        ensemble_logits(columns, pair.positive, pair.negative),
        temperature=scores.get("temperature", 100.0),
        ties=scores.get("ties", "exact"),
    )
    return pooled.values.tolist(), pooled.ranking.tolist()


def _number(row: Row) -> float | None:
    try:
        return float(row["score"] if row["score"] is not None else row["extracted"])
    except (TypeError, ValueError):
        return None


def _check_quality(qualities: Qualities, scores: Mapping[str, Any]) -> None:
    n = scores.get("n")
    if not qualities.human or n != len(qualities.human):
        raise _contradiction("n", len(qualities.human), n)
    told = scores.get("srcc")
    if qualities.averaged or not isinstance(told, int | float):
        return
    counted = srcc(list(qualities.ranking.values()), list(qualities.human.values()))
    if abs(counted - told) > _TOLERANCE:
        raise _contradiction("srcc", counted, told)


def _contradiction(key: str, counted: float, told: Any) -> ContradictionError:
    return ContradictionError(
        f"its predictions give {counted:.6g} as {key} and its results say {told!r:.12}; neither file is to be edited, "
        "so repeat the run, which asks nothing twice"
    )
