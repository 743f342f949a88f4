"""Access to the scores of finished runs."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from eyechart.evaluators.published import BY_DATABASE
from eyechart.evaluators.results.finished_runs import Run, TaskKey
from eyechart.evaluators.results.results_file import AVERAGE, TaskResult
from eyechart.evaluators.results.sources import is_mini_data
from eyechart.evaluators.tasks import data_title, full_title, known_task
from eyechart.metrics.scoring.judging.lexical import LEXICAL

BY_WORDS = f"Scored by word overlap ({LEXICAL}), not by a judge."

Results = Sequence[tuple[str, TaskResult]]
"""The results of one task, each with the label of its run."""


def title_of_data(key: TaskKey) -> str:
    """Dataset and split of a result, and its number if a run has several."""
    return data_title(key.task, key.dataset, f"{key.split}{f', no. {key.repeat + 1}' if key.repeat else ''}")


def heading(key: TaskKey) -> str:
    """Paper, task, dataset and split of a result, for lists across papers.

    Examples:
        >>> heading(TaskKey("q_bench/perception", "llvisionqa", "dev"))
        'Q-Bench A1 Perception (LLVisionQA, dev)'
    """
    return f"{full_title(key.task)} ({title_of_data(key)})"


def is_mini(result: TaskResult) -> bool:
    """Whether a result is on synthetic demo data."""
    return is_mini_data(result.settings)


def averaged_databases(task: str) -> tuple[str, ...]:
    """The databases over which a task is averaged; empty if it runs on a single one."""
    known = known_task(task)
    return known.data.run_on if known is not None and len(known.data.run_on) > 1 else ()


def scored_results(key: TaskKey, runs: Sequence[Run]) -> list[tuple[str, TaskResult]]:
    """The results of a task that have scores; for an average, with all scores of its databases and their intervals."""
    found = [(run.label, run.tasks.get(key) if key.dataset != AVERAGE else _over_databases(run, key)) for run in runs]
    return [(label, result) for label, result in found if result is not None and result.scores]


def _over_databases(run: Run, key: TaskKey) -> TaskResult | None:
    parts = {name: run.tasks.get(key._replace(dataset=name)) for name in averaged_databases(key.task)}
    results = {name: result for name, result in parts.items() if result is not None and result.scores}
    average = run.tasks.get(key)
    if average is None and not results:
        return None
    base = average or next(iter(results.values())).model_copy(update={"scores": None, "variants": {}})
    names = dict.fromkeys(name for result in (base, *results.values()) for name in result.variants)
    variants = {
        name: _joined(base.variants.get(name), {part: r.variants.get(name) for part, r in results.items()})
        for name in names
    }
    scores = _joined(base.scores, {name: result.scores for name, result in results.items()})
    return base.model_copy(update={"scores": scores, "variants": variants})


def _joined(average: Mapping[str, Any] | None, parts: Mapping[str, Any]) -> dict[str, Any]:
    average = average or {}
    printed = average.get(BY_DATABASE)
    return {**average, BY_DATABASE: {**(printed if isinstance(printed, Mapping) else {}), **parts}}


def group_values(results: Results) -> dict[str, list[str]]:
    """The values of each group in the breakdowns of some results; crossed groups are left out."""
    found: dict[str, dict[str, None]] = {}
    for _, result in results:
        for key, parts in (result.scores or {}).items():
            if key.startswith("by_") and "_by_" not in key and isinstance(parts, Mapping):
                found.setdefault(key.removeprefix("by_"), {}).update(dict.fromkeys(parts))
    return {group: list(values) for group, values in found.items()}


def at(scores: Any, path: Sequence[str]) -> Any:
    """The value of nested keys; None if missing. In a list, a key is names of which the item must be `over` some."""
    for name in path:
        if isinstance(scores, list):
            names = set(name.split(","))
            items = (item for item in scores if isinstance(item, Mapping))
            scores = next((item for item in items if names.issuperset(item.get("over", (None,)))), None)
        else:
            scores = scores.get(name) if isinstance(scores, Mapping) else None
    return scores


def number(scores: Any, *path: str) -> float:
    """A score by its nested keys; nan if missing or undefined."""
    value = at(scores, path)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan


def interval(scores: Any, *path: str, factor: float = 1) -> tuple[float, float] | None:
    """The 95 % interval of a score by the score's nested keys, times a factor; None if missing or undefined."""
    ends = at(scores, (*path[:-1], f"{path[-1]}_ci95"))
    return None if ends is None or None in ends else (factor * ends[0], factor * ends[1])


def texts_of(results: Results, name: str) -> Iterator[str]:
    """The different values of a score, diagnostic or setting; dots lead into mappings, `:` out of a variant."""
    variant, _, name = name.rpartition(":")
    values: dict[str, None] = {}
    for _, result in results:
        places = [result.variants.get(variant)] if variant else [result.scores, result.diagnostics, result.settings]
        texts = [str(value) for place in places if (value := at(place, name.split("."))) is not None]
        values |= dict.fromkeys(texts[:1])
    yield from values
