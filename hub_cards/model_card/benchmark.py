"""`eval.yaml`: what makes an exported data set a benchmark on the Hub, with a leaderboard for each of its tasks.

Format: https://huggingface.co/docs/hub/eval-results, which calls it work in progress. `name`, `description`,
`evaluation_framework`, and `tasks` with an `id` and, optionally, `config` and `split`. Known of it: the Hub checks the
file as it is pushed; frameworks are a list that Hugging Face keeps (`packages/tasks/src/eval.ts` in
https://github.com/huggingface/huggingface.js), to which "eyechart" has to be added first; and a repository shows as a
benchmark once Hugging Face has put it on a list of its own. Therefore the file is written only where it is asked for.
"""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from eyechart.datasets_scripts.catalog import find_dataset
from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.tasks import TASKS, get_task
from eyechart.evaluators.tasks.task import Task
from eyechart.hub_cards.model_card.data_cards import pretty_name

BENCHMARK_FILE = "eval.yaml"
FRAMEWORK = "eyechart"


def task_id(task: str, split: str) -> str:
    """What `eval.yaml` calls a task on a split, and `.eval_results` after it.

    Examples:
        >>> task_id("q_bench/perception", "dev"), task_id("q_bench/perception", "test")
        ('q_bench_perception', 'q_bench_perception_test')
    """
    name = task.replace("/", "_")
    return name if split == get_task(task).splits[0] else f"{name}_{split}"


def benchmark(subset: str, configs: Sequence[str], *, i_have_the_rights: bool = False) -> dict[str, Any]:
    """The contents of `eval.yaml`.

    Args:
        subset: The data set.
        configs: Its configurations that are exported, the default one first.
        i_have_the_rights: Private answers are exported too.

    Raises:
        UsageError: No task can be scored on what is exported.
    """
    found = find_dataset(subset)
    tasks = [
        {"id": task_id(task.name, split), "config": config, "split": split}
        for task in TASKS
        if subset in task.subsets
        for config in _configs(task, configs)
        for split in task.splits
        if i_have_the_rights or split not in found.private_splits(config)
    ]
    if not tasks:
        raise UsageError(
            f"{subset} ({', '.join(configs)}) cannot be a benchmark: no task is scored on what is exported of it. "
            "--i-have-the-rights exports private answers too."
        )
    names = {entry["id"] for entry in tasks}
    return {
        "name": pretty_name(subset),
        "description": _description(names),
        "evaluation_framework": FRAMEWORK,
        "tasks": tasks,
    }


def write_benchmark(folder: Path, contents: dict[str, Any]) -> None:
    """Write `eval.yaml` into an exported folder."""
    import yaml

    text = yaml.safe_dump(contents, sort_keys=False, allow_unicode=True, width=float("inf"))
    (folder / BENCHMARK_FILE).write_text(text, encoding="utf-8")


def _configs(task: Task, configs: Sequence[str]) -> list[str]:
    """The configuration that a task runs on, if it is exported; without one, the data set's first."""
    return [config for config in configs if config == task.config] if task.config else list(configs[:1])


def _description(ids: Collection[str]) -> str:
    told = [task.description for task in TASKS if any(task_id(task.name, split) in ids for split in task.splits)]
    papers = dict.fromkeys(task.paper for task in TASKS if any(task_id(task.name, s) in ids for s in task.splits))
    return f"{'; '.join(dict.fromkeys(told))}. {'; '.join(papers)}."
