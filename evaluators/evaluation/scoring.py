"""Scores that a run computes: from items, again from those of a finished run, of repeats, and averages of databases.

Q-Bench publishes plain averages over databases (Tables 4 and 11, column "Average").
"""

import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators.protocols import PROTOCOLS
from eyechart.evaluators.protocols.protocol import DEFAULT, Protocol, setting_fields
from eyechart.evaluators.protocols.quality_assessment import NUMERICAL, READ_NUMBER, WordPair
from eyechart.evaluators.results.items import Item
from eyechart.evaluators.results.notes import note
from eyechart.evaluators.results.results_file import AVERAGE, SAMPLE, TaskResult
from eyechart.evaluators.tasks import get_task, known_task
from eyechart.evaluators.tasks.task import Task
from eyechart.metrics.database_averages import mean_scores
from eyechart.metrics.scores import QUALITY, specs_in
from eyechart.metrics.scoring.judging.lexical import LEXICAL
from eyechart.metrics.scoring.judging.prompts import Messages


def summarize_repeats(by_repeat: Sequence[TaskResult]) -> dict[str, Any]:
    """What diagnostics say about repeats of the same rows; empty for one repeat, or without scores.

    By the key of each score, the mean and the sample standard deviation over the repeats; nan if the score is undefined
    in one of them.
    """
    scores = [result.scores for result in by_repeat if result.scores is not None]
    if len(by_repeat) == 1 or len(scores) < len(by_repeat):
        return {}
    values = {spec.key: [spec.value(of) for of in scores] for spec in specs_in(scores[0]) if spec.in_table}
    # A score such as balanced accuracy may exist in only some of the repeats.
    values = {key: numbers for key, numbers in values.items() if None not in numbers}
    summary = {
        "count": len(by_repeat),
        "mean": {key: float(np.mean(numbers)) for key, numbers in values.items()},
        "standard_deviation": {key: float(np.std(numbers, ddof=1)) for key, numbers in values.items()},
    }
    return {"repeats": summary}


def score_again(task: Task | None, result: TaskResult, items: Sequence[Item], *, parse: bool = True) -> TaskResult:
    """Score some or all items of a finished run again; the task is None if its definition is not at hand.

    With `parse`, replies are parsed again, but what a judge other than `lexical` or a scoring function returned is
    kept. Raises `DataError` if these items give no scores.
    """
    try:
        protocol = protocol_of(task, result)
        with warnings.catch_warnings():
            # The result already contains the warnings of the run.
            warnings.simplefilter("ignore")
            if task is None:
                protocol = replace(protocol, groups=tuple(items[0].groups) if items else ())
            if parse and protocol.scorer is None and protocol.judge is None:
                items = protocol.parse(items)
            return protocol.score(items)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise DataError(f"the scores of {result.task} cannot be computed from its predictions: {error}") from error


def item_type(task: Task | None, result: TaskResult) -> type[Item]:
    """The type of a result's items; that of all protocols if its protocol is not known."""
    known = PROTOCOLS.get(str(result.settings.get("protocol")))
    return task.protocol.item_type if task is not None else Item if known is None else known.item_type


def protocol_of(task: Task | None, result: TaskResult) -> Protocol:
    """The protocol of a result with those of its settings that affect scores; raises `DataError` if unknown."""
    settings = result.settings
    if task is not None:
        protocol: Protocol = task.bound()
    elif (known := PROTOCOLS.get(str(settings.get("protocol")))) is not None:
        # Nothing is asked again, so its prompts do not matter. Scores record what its definition fixed.
        names = {part.name for part in fields(known)} - {"judge"}
        fixed: dict[str, Any] = {
            name: value for name, value in (result.scores or {}).items() if name in names and isinstance(value, str)
        }
        if isinstance(pair := settings.get("word_pair"), str):
            fixed["word_pairs"] = (WordPair(*(tuple(words.split("+")) for words in pair.split("/"))),)
        prompts = dict.fromkeys((DEFAULT, NUMERICAL), lambda row: ())
        protocol = known(prompts=prompts, prompt_id=str(settings.get("prompt_id")), **fixed)
    else:
        raise DataError(f"unknown protocol in its settings: {settings.get('protocol')!r:.60}")
    recorded: dict[str, Any] = {
        name: settings[name]
        for name in (*setting_fields(type(protocol)), "seed")
        if isinstance(settings.get(name), str | int | float | list)
    }
    # The prompt is recorded by its id; only this one changes how replies are parsed.
    recorded["prompt"] = NUMERICAL if settings.get("prediction") == READ_NUMBER else protocol.prompt
    recorded["skip_bad"] = settings.get("missing", "drop") == "drop"
    judge = settings.get("judge")
    if isinstance(judge, dict) and (name := str(judge.get("name"))) != LEXICAL:
        recorded["judge"] = _RecordedJudge(name)
    return replace(protocol, **recorded)


@dataclass(frozen=True)
class _RecordedJudge:
    """A judge of which only the name is known."""

    name: str

    def __call__(self, messages: Messages, n: int) -> list[str]:
        raise DataError(f"judge {self.name!r} of a finished run cannot be asked again")


def with_averages(evaluations: Sequence[TaskResult]) -> list[TaskResult]:
    """The evaluations, each average after the last one that it is computed from.

    A task that ran on several of its databases, with the same split, model and settings, has an average. Without a
    score on every database it has no scores, as they would not be comparable with published ones, and a note says why.
    """
    groups: dict[str, list[TaskResult]] = {}
    for evaluation in evaluations:
        task = known_task(evaluation.task)
        if task is not None and task.metric == QUALITY and evaluation.dataset in task.data.run_on:
            settings = _own_settings(evaluation)
            key = json.dumps([evaluation.task, evaluation.split, evaluation.model, settings], sort_keys=True)
            groups.setdefault(key, []).append(evaluation)
    results = list(evaluations)
    for group in groups.values():
        # A server's top tokens may give no scores.
        if len(group) > 1 and any(part.scores is not None for part in group):
            (last,) = (index for index, result in enumerate(results) if result is group[-1])
            results.insert(last + 1, _average(group))
    return results


def _own_settings(evaluation: TaskResult) -> dict[str, Any]:
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
            **_own_settings(first),
            **_summed_sample(group),
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


def _summed_sample(group: Sequence[TaskResult]) -> dict[str, Any]:
    """How many of all images were drawn, if any of the evaluations used a sample."""
    samples = [part.settings[SAMPLE] for part in group if SAMPLE in part.settings]
    if not samples:
        return {}
    unsampled = sum(len({item.id for item in part.items}) for part in group if SAMPLE not in part.settings)
    counts = {name: unsampled + sum(sample[name] for sample in samples) for name in ("n", "of")}
    return {SAMPLE: {**samples[0], **counts}}
