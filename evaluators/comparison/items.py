"""The scores of every item in a run, read from the columns of its predictions."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.datasets_scripts.common.pairs.label_pools import MIXED_POOL
from eyechart.evaluators.results.finished_runs import Answers
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.metrics.scores import OWN
from eyechart.metrics.scoring.choices.extraction import right_text
from eyechart.metrics.scoring.choices.self_awareness import OUTCOMES
from eyechart.metrics.scoring.errors import UndefinedScoreError
from eyechart.metrics.scoring.judging.descriptions import DIMENSIONS
from eyechart.metrics.scoring.pairs.pools import check_pairs, rank_pool, split_pools
from eyechart.metrics.scoring.pairs.preferences import winners
from eyechart.metrics.scoring.pairs.scores import PairSettings
from eyechart.metrics.scoring.statistics.shares import Clusters

Row = Mapping[str, Any]
_SELF_AWARE = (OUTCOMES[0], OUTCOMES[2])
"""A correct answer and a correct refusal."""


@dataclass(frozen=True)
class ItemScores:
    """The item scores of a task in one run."""

    references: Mapping[str, Any]
    """The reference answer or human quality score, by item."""
    values: dict[str, dict[str, Any]]
    """By the score's key in the results, then by item: whether the item is correct, a judge's scores in each round of
    each dimension, or the value that a correlation is computed from. Items without a value are missing."""
    images: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """The two images of each pair; pairs can share images."""
    clusters: Mapping[str, str | None] = field(default_factory=dict)
    """What each item shares with others, such as its image; None if that is not recorded."""
    ranked: Mapping[str, Mapping[str, tuple[float, float]]] = field(default_factory=dict)
    """For pairs: score and human quality of each image, by pool and image; nan if a pool has no ranking."""
    pooling: PairSettings = field(default_factory=PairSettings)
    """For pairs: how correlations are averaged over pools."""
    is_averaged: bool = False
    """Whether the results average the correlations of parts of the data."""


def shared_clusters(runs: Sequence[ItemScores], items: Sequence[str]) -> Clusters:
    """The clusters of some items, from the first run that records them; earlier versions recorded none."""
    names = [next((run.clusters[item] for run in runs if run.clusters.get(item)), None) for item in items]
    return Clusters.of(names or None, len(items))


def n_unread(runs: Sequence[ItemScores], items: Sequence[str]) -> int:
    """Number of items that may share something with others, but no run records what."""
    return sum(all(item in run.clusters and not run.clusters[item] for run in runs) for item in items)


def item_scores(result: TaskResult, answers: Answers) -> ItemScores:
    """Read the item scores of a task.

    Args:
        result: The task's result.
        answers: Its predictions.

    Raises:
        DataError: The predictions do not contain item scores.
    """
    protocol = result.settings.get("protocol")
    if protocol not in _READERS:
        raise DataError(f"unknown protocol in its settings: {protocol!r}")
    rows = [row for row in answers.rows(range(len(answers))) if row["pass"] == "main"]
    is_own = OWN in (result.scores or {})
    found = _own(rows, result) if is_own else _READERS[protocol](rows, result)
    if not found.references:
        raise DataError("no item has a public answer")
    return found


def of_items(found: ItemScores, result: TaskResult, answers: Answers, items: Collection[str]) -> ItemScores:
    """Restrict the item scores to some items. For pairs, the images are ranked again from the remaining pairs.

    Args:
        found: The scores of all items, from `item_scores`.
        result: The task's result.
        answers: Its predictions.
        items: Ids of the pairs.
    """
    if not found.ranked:
        return found
    main = [row for row in answers.rows(range(len(answers))) if row["pass"] == "main" and row["id"] in items]
    rows = [row for row in main if (row["pool"] or "") in found.ranked]
    return replace(found, ranked=_ranked_again(rows, result) if rows else {})


def _multiple_choice(rows: Sequence[Row], result: TaskResult) -> ItemScores:
    return ItemScores(_right_texts(rows, "correct"), {"accuracy": _column(rows, "correct")}, clusters=_clusters(rows))


def _circular(rows: Sequence[Row], result: TaskResult) -> ItemScores:
    values = {"circular_accuracy": _column(rows, "circular_correct"), "vanilla_accuracy": _column(rows, "correct")}
    return ItemScores(_right_texts(rows, "circular_correct"), values, clusters=_clusters(rows))


def _self_awareness(rows: Sequence[Row], result: TaskResult) -> ItemScores:
    """Correct answers and correct refusals (QL-Bench, Sec. III-C)."""
    right = {item: outcome in _SELF_AWARE for item, outcome in _column(rows, "outcome").items()}
    return ItemScores(_right_texts(rows, "outcome"), {"score_sa": right}, clusters=_clusters(rows))


def _pairs(rows: Sequence[Row], result: TaskResult) -> ItemScores:
    """Consistency and accuracy (2AFC, Eq. 3 and the tables); the pool `mixed` counts only if it is the only pool."""
    own = [row for row in rows if row["pool"] != MIXED_POOL] or rows
    images = {row["id"]: (row["first_id"], row["second_id"]) for row in own if row["consistent"] is not None}
    values = {"consistency": _column(own, "consistent"), "accuracy_all": _column(own, "correct")}
    # The metric records in its scores how it averaged.
    stated = {**result.settings, **(result.scores or {})}
    how = {name: stated[name] for name in ("pool_weights", "undefined_pools") if name in stated}
    pooling = PairSettings(**how)
    return ItemScores(images, values, images, ranked=_ranked(own, result), pooling=pooling)


def _ranked(rows: Sequence[Row], result: TaskResult) -> dict[str, dict[str, tuple[float, float]]]:
    """The images' scores in the result, with their human quality."""
    quality: dict[str, dict[str, float]] = {}
    # Pairs may have winners instead of qualities.
    for row in (row for row in rows if row["first_quality"] is not None):
        for side in ("first", "second"):
            quality.setdefault(row["pool"] or "", {})[row[f"{side}_id"]] = row[f"{side}_quality"]
    found = (result.scores or {}).get("scores") or {}
    by_pool = found if any(isinstance(value, Mapping) for value in found.values()) else {"": found}
    return {
        pool: {image: (math.nan if score is None else score, quality[pool][image]) for image, score in scores.items()}
        for pool, scores in by_pool.items()
        if scores and pool in quality and scores.keys() <= quality[pool].keys()
    }


def _ranked_again(rows: Sequence[Row], result: TaskResult) -> dict[str, dict[str, tuple[float, float]]]:
    """The images' scores from only these pairs, ranked with the result's settings, and their human quality."""
    columns = {name: [row[name] for row in rows] for name in ("choice", "consistent", "pool")}
    first, second, first_quality, second_quality = (
        [row[side] for row in rows] for side in ("first_id", "second_id", "first_quality", "second_quality")
    )
    pairs = check_pairs(first, second, first_quality, second_quality, [pool or "" for pool in columns["pool"]])
    how = {name: value for name in ("aggregator", "order_seed", "ridge") if (value := (result.scores or {}).get(name))}
    winner, ranked = winners(columns), {}
    for name, pool in split_pools(pairs).items():
        try:
            scores = rank_pool(pool, winner[list(pool.rows)], **how).tolist()
        except UndefinedScoreError:
            scores = [math.nan] * len(pool.image_ids)
        ranked[name] = dict(zip(pool.image_ids, zip(scores, pool.references.tolist(), strict=True), strict=True))
    return ranked


def _descriptions(rows: Sequence[Row], result: TaskResult) -> ItemScores:
    """The judge's scores of each image, for the task's headline and by dimension."""
    template = (result.scores or {}).get("template")
    if template not in DIMENSIONS:
        raise DataError(f"unknown judge template in its scores: {template!r}")
    judged = _column(rows, "rounds")
    headline = result.headline_spec()
    values: dict[str, dict[str, Any]] = {headline.key: judged} if headline else {}
    for place, name in enumerate(DIMENSIONS[template]):
        values[f"{name}.score"] = {item: [rounds[place]] for item, rounds in judged.items()}
    references = {row["id"]: row["reference"] for row in rows if row["id"] in judged}
    return ItemScores(references, values, clusters=_clusters(rows))


def _qualities(rows: Sequence[Row], result: TaskResult) -> ItemScores:
    """Predicted quality; rank correlations use a score with its own ties."""
    known = [row for row in rows if row["rank_score"] is not None and row["quality"] is not None]
    values = {"srcc": _column(known, "rank_score"), "plcc": _column(known, "quality_score")}
    is_averaged = (result.scores or {}).get("average_over") is not None
    return ItemScores(_column(known, "quality"), values, is_averaged=is_averaged)


def _own(rows: Sequence[Row], result: TaskResult) -> ItemScores:
    """The numbers of the task's scoring function, in the form of one round of one judge's dimension."""
    values = {item: [[value]] for item, value in _column(rows, OWN).items()}
    references = {row["id"]: row["reference"] or row["answer"] for row in rows if row["id"] in values}
    return ItemScores(references, {OWN: values}, clusters=_clusters(rows))


_READERS = {
    "multiple_choice": _multiple_choice,
    "circular_eval": _circular,
    "self_awareness": _self_awareness,
    "description": _descriptions,
    "quality_assessment": _qualities,
    "paired_comparison": _pairs,
}


def _column(rows: Iterable[Row], name: str) -> dict[str, Any]:
    return {row["id"]: row[name] for row in rows if row[name] is not None}


def _clusters(rows: Iterable[Row]) -> dict[str, str | None]:
    return {row["id"]: row["cluster"] for row in rows}


def _right_texts(rows: Iterable[Row], scored_by: str) -> dict[str, str]:
    """The text of the correct option of each scored item, independent of its letter."""
    return {row["id"]: right_text(row["answer"], row["options"]) for row in rows if row[scored_by] is not None}
