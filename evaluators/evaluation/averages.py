"""The plain average over the databases of a task, as Q-Bench publishes it (Tables 4 and 11, column "Average")."""

import json
from collections.abc import Sequence
from typing import Any

from eyechart.evaluators.results.notes import note
from eyechart.evaluators.results.results_file import AVERAGE, SAMPLE, TaskResult
from eyechart.evaluators.tasks import get_task, known_task
from eyechart.metrics.database_averages import mean_scores
from eyechart.metrics.scores import QUALITY


def with_averages(evaluations: Sequence[TaskResult]) -> list[TaskResult]:
    """The evaluations, each average after the last one that it is computed from.

    A task that ran on several of its databases, with the same split, model and settings, has an average. Without a
    score on every database it has no scores, as they would not be comparable with published ones, and a note says why.
    """
    groups: dict[str, list[TaskResult]] = {}
    for evaluation in evaluations:
        task = known_task(evaluation.task)
        if task is not None and task.metric == QUALITY and evaluation.dataset in task.data.run_on:
            settings = _settings(evaluation)
            key = json.dumps([evaluation.task, evaluation.split, evaluation.model, settings], sort_keys=True)
            groups.setdefault(key, []).append(evaluation)
    results = list(evaluations)
    for group in groups.values():
        # A server's top tokens may give no scores.
        if len(group) > 1 and any(part.scores is not None for part in group):
            (last,) = (index for index, result in enumerate(results) if result is group[-1])
            results.insert(last + 1, _average(group))
    return results


def _settings(evaluation: TaskResult) -> dict[str, Any]:
    """The settings of the task itself, which are the same on all databases."""
    return {name: value for name, value in evaluation.settings.items() if name not in ("data", "model", SAMPLE)}


def _average(group: Sequence[TaskResult]) -> TaskResult:
    first, databases = group[0], get_task(group[0].task).data.run_on
    scored = {part.dataset: part for part in group if part.scores is not None}
    missing = [name for name in databases if name not in scored]
    is_complete = all(part.complete for part in group)
    average = TaskResult(
        task=first.task,
        dataset=AVERAGE,
        split=first.split,
        model=first.model,
        settings={
            **_settings(first),
            **_sample(group),
            "average": "plain mean over databases",
            "databases": list(databases),
            "data": {"is_mini": any(part.settings["data"]["is_mini"] for part in group)},
        },
        headline=first.headline,
        complete=is_complete,
    )
    if missing:
        average.notes = [note("average_missing", of=len(databases), missing=missing)]
    else:
        average.notes = [] if is_complete else [note("average_incomplete")]
        average.scores = mean_scores({name: scored[name].scores or {} for name in databases})
        for variant in first.variants:
            if all(variant in part.variants for part in group):
                average.variants[variant] = mean_scores({name: scored[name].variants[variant] for name in databases})
    return average


def _sample(group: Sequence[TaskResult]) -> dict[str, Any]:
    """How many of all images were drawn, if any of the evaluations used a sample."""
    samples = [part.settings[SAMPLE] for part in group if SAMPLE in part.settings]
    if not samples:
        return {}
    unsampled = sum(len({item.id for item in part.items}) for part in group if SAMPLE not in part.settings)
    counts = {name: unsampled + sum(sample[name] for sample in samples) for name in ("n", "of")}
    return {SAMPLE: {**samples[0], **counts}}
