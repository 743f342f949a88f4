"""`eval.yaml`: what makes an exported data set a benchmark on the Hub, with a leaderboard for each of its tasks.

Format: https://huggingface.co/docs/hub/eval-results, which calls it work in progress. `name`, `description`,
`evaluation_framework`, and `tasks` with an `id` and, optionally, `config` and `split`. Known of it: the Hub checks the
file as it is pushed; frameworks are a list that Hugging Face keeps (`packages/tasks/src/eval.ts` in
https://github.com/huggingface/huggingface.js), to which "eyechart" has to be added first; and a repository shows as a
benchmark once Hugging Face has put it on a list of its own. Therefore the file is written only where it is asked for.
"""

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from eyechart.datasets_scripts.catalog import DATASETS, find_dataset
from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.datasets_scripts.common.whole import write_whole
from eyechart.evaluators.tasks import TASKS, get_task

BENCHMARK_FILE = "eval.yaml"
FRAMEWORK = "eyechart"


def task_id(task: str, split: str) -> str:
    """What `eval.yaml` calls a task on a split, and `.eval_results` after it.

    Examples:
        >>> task_id("q_bench/perception", "dev"), task_id("q_bench/perception", "test")
        ('q_bench_perception', 'q_bench_perception_test')
    """
    name = task.replace("/", "_")
    return name if split == get_task(task).data.splits[0] else f"{name}_{split}"


def benchmark(dataset: str, configs: Sequence[str], *, i_have_the_rights: bool = False) -> dict[str, Any]:
    """The contents of `eval.yaml`.

    Args:
        dataset: Our name of the data set.
        configs: Its configurations that are exported, the default one first.
        i_have_the_rights: Private answers are exported too.

    Raises:
        UsageError: No task can be scored on what is exported.
    """
    found = find_dataset(dataset)
    runs = [
        (task, config, split)
        for task in TASKS
        if dataset in task.data.datasets
        for config in ([task.data.config] if task.data.config else configs[:1])
        if config in configs
        for split in task.data.splits
        if i_have_the_rights or split not in found.private_splits(config)
    ]
    if not runs:
        raise UsageError(
            f"{dataset} ({', '.join(configs)}) cannot be a benchmark: no task is scored on what is exported of it. "
            "--i-have-the-rights exports private answers too."
        )
    descriptions = dict.fromkeys(task.description for task, _, _ in runs)
    papers = dict.fromkeys(task.paper for task, _, _ in runs)
    return {
        "name": pretty_name(dataset),
        "description": f"{'; '.join(descriptions)}. {'; '.join(papers)}.",
        "evaluation_framework": FRAMEWORK,
        "tasks": [{"id": task_id(task.name, split), "config": config, "split": split} for task, config, split in runs],
    }


def write_benchmark(folder: Path, contents: dict[str, Any]) -> None:
    """Write `eval.yaml` into an exported folder."""
    import yaml

    text = yaml.safe_dump(contents, sort_keys=False, allow_unicode=True, width=float("inf"))
    write_whole(folder / BENCHMARK_FILE, text)


def pretty_name(dataset: str) -> str:
    """What a data set's card calls it; the name itself where there is no card."""
    from huggingface_hub import DatasetCard

    if dataset not in DATASETS:
        return dataset
    card = files("eyechart.hub_cards") / "datasets" / f"{dataset}.md"
    return str(DatasetCard(card.read_text(encoding="utf-8")).data["pretty_name"])
