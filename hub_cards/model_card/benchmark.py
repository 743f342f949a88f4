"""`eval.yaml`, which makes an exported dataset a benchmark on the Hub: https://huggingface.co/docs/hub/eval-results.

It is written only on request, as Hugging Face must first list "eyechart" (`packages/tasks/src/eval.ts` in
https://github.com/huggingface/huggingface.js) and the repository.
"""

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from eyechart.datasets_scripts.catalog import DATASETS, find_dataset
from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.datasets_scripts.common.whole import write_whole
from eyechart.evaluators.tasks import TASKS, get_task


def task_id(task: str, split: str) -> str:
    """The id of a task and split in `eval.yaml` and `.eval_results`.

    Examples:
        >>> task_id("q_bench/perception", "dev"), task_id("q_bench/perception", "test")
        ('q_bench_perception', 'q_bench_perception_test')
    """
    name = task.replace("/", "_")
    return name if split == get_task(task).data.splits[0] else f"{name}_{split}"


def benchmark(dataset: str, configs: Sequence[str], *, i_have_the_rights: bool = False) -> dict[str, Any]:
    """The contents of `eval.yaml` for exported configurations, the default first."""
    runs = [
        (task, config, split)
        for task in TASKS
        if dataset in task.data.datasets
        for config in ([task.data.config] if task.data.config else configs[:1])
        if config in configs
        for split in task.data.splits
        if i_have_the_rights or split not in find_dataset(dataset).private_splits(config)
    ]
    if not runs:
        raise UsageError(
            f"{dataset} ({', '.join(configs)}) cannot be a benchmark: no task can be scored on the exported data. "
            "--i-have-the-rights also exports private answers."
        )
    texts = ["; ".join(dict.fromkeys(getattr(task, name) for task, *_ in runs)) for name in ("description", "paper")]
    return {
        "name": pretty_name(dataset),
        "description": f"{'. '.join(texts)}.",
        "evaluation_framework": "eyechart",
        "tasks": [{"id": task_id(task.name, split), "config": config, "split": split} for task, config, split in runs],
    }


def write_benchmark(folder: Path, contents: dict[str, Any]) -> None:
    """Write `eval.yaml` into an exported folder."""
    import yaml

    write_whole(folder / "eval.yaml", yaml.safe_dump(contents, sort_keys=False, allow_unicode=True, width=float("inf")))


def pretty_name(dataset: str) -> str:
    """The dataset's title in its card; its name if there is no card."""
    from huggingface_hub import DatasetCard

    if dataset not in DATASETS:
        return dataset
    card = files("eyechart.hub_cards") / "datasets" / f"{dataset}.md"
    return str(DatasetCard(card.read_text(encoding="utf-8")).data["pretty_name"])
