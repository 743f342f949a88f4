"""The scores of the items of a run, by the columns that the table of scores names."""

import math
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators.evaluation.scoring import item_type, score_again
from eyechart.evaluators.results.finished_runs import Run, TaskKey
from eyechart.evaluators.results.items import MAIN, Item
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.evaluators.tasks import known_task
from eyechart.metrics.score_spec import ScoreSpec, Unit
from eyechart.metrics.scores import IMAGE_SCORES, specs_in
from eyechart.metrics.scoring.pairs.scores import PairSettings
from eyechart.metrics.scoring.statistics.shares import Clusters


@dataclass(frozen=True)
class ItemScores:
    """The scores of the items of one result."""

    labels: Mapping[str, str]
    """The label of each public item."""
    values: dict[str, dict[str, Any]]
    """By the score's key, then by item: whether the item is correct, a mean for each column, or the value that a
    correlation is computed from. Items without a value are missing."""
    human: Mapping[str, float] = field(default_factory=dict)
    """The human judgement of each item that correlations use."""
    images: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The images of each item, if items can share one of several images."""
    clusters: Mapping[str, str | None] = field(default_factory=dict)
    """What each item shares with others, such as its image; None if that is not known."""
    ranked: Mapping[str, Mapping[str, tuple[float, float]]] = field(default_factory=dict)
    """For pairs: score and human quality of each image, by pool and image; nan if a pool has no ranking."""
    pooling: PairSettings = field(default_factory=PairSettings)
    """For pairs: how correlations are averaged over pools."""
    is_averaged: bool = False
    """Whether the results average the correlations of parts of the data."""


@dataclass(frozen=True)
class SharedItems:
    """The items that several runs have in common."""

    ids: list[str]
    """In the order in which items are compared."""
    share: float
    """Their share of the items of the run that has the most; 1 if all runs have the same items."""
    changed: list[str]
    """Those whose label differs, so that the runs are on different data."""


def shared_items(runs: Sequence[ItemScores], key: str = "") -> SharedItems:
    """The items that runs have in common; with the key of a score, only items that have it."""
    items = [(run.values[key] if key else run.labels).keys() for run in runs]
    ids = sorted(set(items[0]).intersection(*items[1:]))
    labels, *others = (run.labels for run in runs)
    others = [other for other in others if other != labels]
    changed = [id for id in ids if any(other[id] != labels[id] for other in others)]
    return SharedItems(ids, len(ids) / max(1, *map(len, items)), changed)


def shared_clusters(runs: Sequence[ItemScores], items: Sequence[str]) -> Clusters:
    """The clusters of some items, from the first run that knows them."""
    names = [next((run.clusters[item] for run in runs if run.clusters.get(item)), None) for item in items]
    return Clusters.of(names or None, len(items))


def n_unread(runs: Sequence[ItemScores], items: Sequence[str]) -> int:
    """Number of items that may share something with others, but no run knows what."""
    return sum(all(item in run.clusters and not run.clusters[item] for run in runs) for item in items)


def items_of(run: Run, key: TaskKey, only: Collection[str] | None = None) -> ItemScores:
    """The item scores of a result in a run.

    Args:
        run: The run.
        key: The result.
        only: Ids of the items to use; by default, all. What follows from several items, such as a ranking of images, is
            computed again from these.

    Raises:
        DataError: The run has no predictions for the task, or several results share them.
    """
    result, answers = run.tasks[key], run.answers(key)
    if answers is None:
        several = "the run has this task several times" if key._replace(repeat=1) in run.tasks else "no predictions"
        raise DataError(f"{run.label}: {several}, so single items cannot be compared")
    task = known_task(result.task)
    items = answers.items(item_type(task, result))
    try:
        if only is not None:
            items = [item for item in items if item.id in only]
            if any(spec.correlation and not spec.of for spec in specs_in(result.scores or {})):
                with warnings.catch_warnings():
                    # The results already contain the warnings of the runs.
                    warnings.simplefilter("ignore")
                    result = score_again(task, result, items, parse=False)
        return item_scores(result, items)
    except DataError as error:
        raise DataError(f"{run.label}: {error.reason}") from error


def item_scores(result: TaskResult, items: Sequence[Item]) -> ItemScores:
    """The item scores of a result.

    Raises:
        DataError: No item has a public label, or the result has no scores of single items.
    """
    main = [item for item in items if item.pass_name == MAIN and item.label is not None]
    if not main:
        raise DataError("no item has a public label")
    scores = result.scores or {}
    specs, headline = specs_in(scores), result.headline_spec()
    found = ItemScores({item.id: item.label or "" for item in main}, {}, clusters={i.id: i.cluster for i in main})
    ranking: ScoreSpec | None = None
    for spec in specs:
        # A judge's dimension in which no item has a score is in the scores nonetheless.
        columns = [
            name for name in spec.of if name in scores or any(getattr(item, name, None) is not None for item in main)
        ]
        if spec.correlation and not spec.of:
            ranking = spec
        # The sum and the mean of the same columns give the same test.
        elif columns and (len(columns) == 1 or spec == headline):
            found.values[spec.key] = _values(spec, columns, main)
            if spec.against:
                human = {item.id: getattr(item, spec.against) for item in main}
                found = replace(found, human=human, is_averaged=scores.get("average_over") is not None, clusters={})
            if spec.images:
                images = {item.id: tuple(getattr(item, name) for name in spec.images) for item in main}
                found = replace(found, images=images, clusters={})
    if ranking is not None:
        how = {name: scores[name] for name in ("pool_weights", "undefined_pools") if name in scores}
        found = replace(found, ranked=_ranked(main, scores), pooling=PairSettings(**how))
    if not found.values:
        raise DataError("its scores cannot be computed from single items")
    scored = {id for values in found.values.values() for id in values}
    return replace(found, labels={id: label for id, label in found.labels.items() if id in scored})


def _values(spec: ScoreSpec, columns: Sequence[str], items: Sequence[Item]) -> dict[str, Any]:
    """The value of each item that has one."""
    if spec.unit is Unit.POINTS:
        return {item.id: tuple(getattr(item, name) for name in columns) for item in items}
    found = {item.id: getattr(item, columns[0]) for item in items}
    return {id: value for id, value in found.items() if value is not None}


def _ranked(items: Sequence[Any], scores: Mapping[str, Any]) -> dict[str, dict[str, tuple[float, float]]]:
    """The images' scores in a result, with their human quality."""
    quality: dict[str, dict[str, float]] = {}
    # Pairs may have winners instead of qualities.
    for item in (item for item in items if item.first_quality is not None):
        of_pool = quality.setdefault(item.pool or "", {})
        of_pool |= {item.first_id: item.first_quality, item.second_id: item.second_quality}
    found = scores.get(IMAGE_SCORES) or {}
    by_pool = found if any(isinstance(value, Mapping) for value in found.values()) else {"": found}
    return {
        pool: {image: (math.nan if score is None else score, quality[pool][image]) for image, score in images.items()}
        for pool, images in by_pool.items()
        if images and pool in quality and images.keys() <= quality[pool].keys()
    }
