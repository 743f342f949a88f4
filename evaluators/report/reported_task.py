"""The tasks of a report, each with its results in all runs: cards, charts, tables and samples are made from these."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from eyechart.evaluators.published import BY_DATABASE
from eyechart.evaluators.published.rendering import at
from eyechart.evaluators.results.finished_runs import Run, TaskKey, merged_keys, model_label
from eyechart.evaluators.results.results_file import AVERAGE, TaskResult
from eyechart.evaluators.tasks import dataset_title, known_task, paper_of, task_title
from eyechart.metrics.score_spec import ScoreSpec


@dataclass(frozen=True)
class ReportedTask:
    """A task on one dataset and split, or its average over databases."""

    key: TaskKey
    results: Mapping[str, TaskResult]
    """By label of the run; runs without the task are missing."""
    scored: Mapping[str, TaskResult]
    """Those with scores; an average has those of its databases too."""

    @property
    def title(self) -> str:
        """The title within its paper."""
        return task_title(self.key.task)

    @property
    def data(self) -> str:
        """Dataset and split, such as "KonIQ-10k, test"; only the split if the dataset has the name of the benchmark."""
        task, dataset, split = self.key
        if dataset.replace("_", "") in (name.replace("_", "") for name in (task, task.partition("/")[0])):
            return split
        return f"{'average of the databases' if self.is_average else dataset_title(dataset)}, {split}"

    @property
    def heading(self) -> str:
        """Paper, task, dataset and split, such as "Q-Bench A1 Perception (LLVisionQA, dev)"."""
        name = self.key.task
        title = f"{paper_of(name).name} {self.title}".strip() if paper_of(name).citation else name
        return f"{title} ({self.data})"

    @property
    def is_average(self) -> bool:
        """Whether it is an average over databases."""
        return self.key.dataset == AVERAGE

    @cached_property
    def headline(self) -> ScoreSpec | None:
        """The headline score; None if no run has one."""
        return next((spec for result in self.results.values() if (spec := result.headline_spec())), None)

    @cached_property
    def groups(self) -> dict[str, list[str]]:
        """The values of each group in the breakdowns; crossed groups are left out."""
        groups: dict[str, dict[str, None]] = {}
        for result in self.scored.values():
            for key, parts in (result.scores or {}).items():
                if key.startswith("by_") and "_by_" not in key and isinstance(parts, Mapping):
                    groups.setdefault(key.removeprefix("by_"), {}).update(dict.fromkeys(parts))
        return {group: list(values) for group, values in groups.items()}


def reported_alone(result: TaskResult) -> ReportedTask:
    """A result of a run that goes on, as the report of this run will show it."""
    results = {model_label(result.model): result}
    return ReportedTask(TaskKey(result.task, result.dataset, result.split), results, results if result.scores else {})


def reported_tasks(runs: Sequence[Run]) -> list[ReportedTask]:
    """The tasks of some runs, in their order; an average that no run has comes last, without results."""
    keys = dict.fromkeys(merged_keys(runs))
    keys |= dict.fromkeys(
        key._replace(dataset=AVERAGE) for key in [*keys] if key.dataset in averaged_databases(key.task)
    )
    return [
        ReportedTask(
            key,
            {run.label: run.tasks[key] for run in runs if key in run.tasks},
            {run.label: result for run in runs if (result := _scored(run, key)) is not None and result.scores},
        )
        for key in keys
    ]


def averaged_databases(task: str) -> tuple[str, ...]:
    """The databases over which a task is averaged; empty if it runs on a single one."""
    known = known_task(task)
    return known.data.run_on if known is not None and len(known.data.run_on) > 1 else ()


def texts_of(results: Mapping[str, TaskResult], name: str) -> Iterator[str]:
    """The different values of a score, diagnostic or setting; dots lead into mappings, `:` out of a variant."""
    variant, _, name = name.rpartition(":")
    values: dict[str, None] = {}
    for result in results.values():
        sources = [result.variants.get(variant)] if variant else [result.scores, result.diagnostics, result.settings]
        texts = [str(value) for source in sources if (value := at(source, name.split("."))) is not None]
        values |= dict.fromkeys(texts[:1])
    yield from values


def _scored(run: Run, key: TaskKey) -> TaskResult | None:
    """A run's result; an average also has the scores of its databases."""
    result = run.tasks.get(key)
    databases = {}
    for name in averaged_databases(key.task) if key.dataset == AVERAGE else ():
        part = run.tasks.get(key._replace(dataset=name))
        if part is not None and part.scores:
            databases[name] = part
    if not databases:
        return result
    result = result or next(iter(databases.values())).model_copy(update={"scores": None, "variants": {}})
    variants = {
        name: _joined(result.variants.get(name), {title: part.variants.get(name) for title, part in databases.items()})
        for name in dict.fromkeys(name for part in (result, *databases.values()) for name in part.variants)
    }
    scores = _joined(result.scores, {name: part.scores for name, part in databases.items()})
    return result.model_copy(update={"scores": scores, "variants": variants})


def _joined(average: Mapping[str, Any] | None, databases: Mapping[str, Any]) -> dict[str, Any]:
    printed = at(average, (BY_DATABASE,))
    return {**(average or {}), BY_DATABASE: {**(printed if isinstance(printed, Mapping) else {}), **databases}}
