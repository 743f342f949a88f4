"""The scores of the items of a run, by the columns that the table of scores names."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators.evaluation.scoring import item_type, score_again
from eyechart.evaluators.results.finished_runs import Answers, Run, TaskKey
from eyechart.evaluators.results.items import MAIN
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.evaluators.tasks import known_task
from eyechart.metrics.score_spec import ScoreSpec, Unit
from eyechart.metrics.scores import IMAGE_SCORES, specs_in
from eyechart.metrics.scoring.pairs.pools import PairSettings
from eyechart.metrics.scoring.statistics.shares import Clusters

ItemId = Any
"""The id of an item, or pool and id of an image that is ranked from pairs; without pools, the pool is ""."""


class IncomparableError(DataError):
    """Runs of a task cannot be compared; `reasons` has all reasons."""

    def __init__(self, *reasons: str, can_be_allowed: bool = False) -> None:
        """Join the reasons."""
        super().__init__("; ".join(reasons))
        self.reasons = reasons
        self.can_be_allowed = can_be_allowed


@dataclass(frozen=True)
class ItemScores:
    """The scores of the items of one result."""

    labels: Mapping[str, str]
    """The label of each public item."""
    values: Mapping[ScoreSpec, Mapping[ItemId, Any]]
    """By score, then by item: whether the item is correct, a mean for each column, or the value that a
    correlation is computed from, nan for an image without a rank that counts. Items without a value are missing."""
    human: Mapping[ItemId, float] = field(default_factory=dict)
    """The human judgement of each item that correlations use."""
    images: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The images of each item, if items can share one of several images."""
    clusters: Mapping[str, str | None] = field(default_factory=dict)
    """What each item shares with others, such as its image; None if that is not known."""
    pooling: PairSettings = field(default_factory=PairSettings)
    """For pairs: how correlations are averaged over pools."""
    is_averaged: bool = False
    """Whether the results average the correlations of parts of the data."""

    def values_of(self, score: ScoreSpec, items: Sequence[ItemId]) -> list[Any]:
        """The values of some items, all of which have one."""
        values = self.values[score]
        return [values[item] for item in items]

    def images_of(self, items: Sequence[ItemId]) -> list[tuple[str, ...]]:
        """The images of some items; empty if items do not share them."""
        return [self.images[item] for item in items] if self.images else []


@dataclass(frozen=True)
class SharedItems:
    """The items that several runs have in common."""

    ids: list[ItemId]
    """In the order in which items are compared."""
    share: float
    """Their share of the items of the run that has the most; 1 if all runs have the same items."""
    changed: list[str]
    """Those whose label differs, so that the runs are on different data."""


def shared_items(runs: Sequence[ItemScores], score: ScoreSpec | None = None) -> SharedItems:
    """The items that runs have in common; with a score, only items that have it."""
    items = [(run.values[score] if score else run.labels).keys() for run in runs]
    ids = sorted(set(items[0]).intersection(*items[1:]))
    labels, *others = (run.labels for run in runs)
    others = [other for other in others if other != labels]
    changed = [id for id in ids if any(other.get(id) != labels.get(id) for other in others)]
    return SharedItems(ids, len(ids) / max(1, *map(len, items)), changed)


def shared_clusters(runs: Sequence[ItemScores], items: Sequence[ItemId]) -> Clusters:
    """The clusters of some items, from the first run that knows them."""
    names = [next((run.clusters[item] for run in runs if run.clusters.get(item)), None) for item in items]
    return Clusters.of(names or None, len(items))


def items_of(run: Run, key: TaskKey, only: Collection[str] | None = None) -> ItemScores:
    """The item scores of a result in a run, of all items or `only` some ids; raises `IncomparableError` if it has none.

    What follows from several items, such as a ranking of images, is computed again from these.
    """
    result, answers = run.tasks[key], run.answers(key)
    if answers is None:
        raise IncomparableError(f"{run.label}: no predictions, so single items cannot be compared")
    try:
        if only is not None:
            answers = answers.where([id in only for id in answers.column("id")])
            if IMAGE_SCORES in (result.scores or {}):
                task = known_task(result.task)
                result = score_again(task, result, answers.items(item_type(task, result)), parse=False)
        return item_scores(result, answers)
    except DataError as error:
        raise IncomparableError(f"{run.label}: {error.reason}") from error


def item_scores(result: TaskResult, answers: Answers) -> ItemScores:
    """The scores of the first passes with a public label."""
    labels = answers.column("label", str)
    is_public = [name == MAIN and label is not None for name, label in zip(answers.column("pass"), labels, strict=True)]
    answers = answers.where(is_public)
    if not len(answers):
        raise DataError("no item has a public label")
    ids, scores, specs = answers.column("id"), result.scores or {}, specs_in(result.scores or {})
    pooling = PairSettings(**{name: scores[name] for name in ("pool_weights", "undefined_pools") if name in scores})
    ranked, quality = _ranked(answers, scores[IMAGE_SCORES], pooling) if IMAGE_SCORES in scores else ({}, {})
    values = {
        spec: of_score
        for spec in specs
        if (of_score := ranked if spec.correlation and not spec.of else _values(spec, result, answers))
    }
    if not values:
        raise DataError("its scores cannot be computed from single items")

    def by_id(name: str, kind: type) -> dict[str, Any]:
        return dict(zip(ids, answers.column(name, kind), strict=True))

    against = next((spec.against for spec in values if spec.against), "")
    images = next((spec.images for spec in values if spec.images), ())
    columns_of_images = [answers.column(name, str) for name in images]
    scored = set().union(*values.values())
    return ItemScores(
        {id: label for id, label in by_id("label", str).items() if id in scored},
        values,
        human=by_id(against, float) if against else quality,
        images=dict(zip(ids, zip(*columns_of_images, strict=True), strict=True)) if images else {},
        clusters={} if against or images else by_id("cluster", str),
        pooling=pooling,
        is_averaged=bool(against) and scores.get("average_over") is not None,
    )


def _values(spec: ScoreSpec, result: TaskResult, answers: Answers) -> dict[str, Any]:
    """The value of each item that has one; empty if runs are not compared on the score."""
    kind = bool if spec.is_percentage else float
    columns = {name: answers.column(name, kind) for name in spec.of}
    # A judge's dimension in which no item has a score is in the scores nonetheless.
    used = [
        values
        for name, values in columns.items()
        if name in (result.scores or {}) or any(value is not None for value in values)
    ]
    # The sum and the mean of the same columns give the same test.
    if not used or (len(used) > 1 and spec != result.headline_spec()):
        return {}
    if spec.unit is Unit.POINTS:
        return dict(zip(answers.column("id"), zip(*used, strict=True), strict=True))
    return {id: value for id, value in zip(answers.column("id"), used[0], strict=True) if value is not None}


def _ranked(
    answers: Answers, images: Mapping[str, Any], pooling: PairSettings
) -> tuple[dict[ItemId, float], dict[ItemId, float]]:
    """The images' scores in a result, and their human quality; pools without a ranking count as the settings say."""
    quality: dict[ItemId, float] = {}
    names = [answers.column(name, str) for name in ("pool", "first_id", "second_id")]
    qualities = [answers.column(name, float) for name in ("first_quality", "second_quality")]
    for pool, first, second, of_first, of_second in zip(*names, *qualities, strict=True):
        # Pairs may have winners instead of qualities.
        if of_first is not None:
            quality |= {(pool or "", first): of_first, (pool or "", second): of_second}
    by_pool = images if any(isinstance(value, Mapping) for value in images.values()) else {"": images}
    ranked = {
        (pool, image): math.nan if score is None else score
        for pool, scores in by_pool.items()
        for image, score in scores.items()
        if (pool, image) in quality
    }
    if pooling.undefined_pools == "leave_out":
        # Without nan.
        ranked = {image: score for image, score in ranked.items() if score == score}
    return ranked, quality
