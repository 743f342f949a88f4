"""An exported dataset as a benchmark on the Hub: its `eval.yaml` (https://huggingface.co/docs/hub/eval-results).

The Hub knows the frameworks in `packages/tasks/src/eval.ts` of https://github.com/huggingface/huggingface.js:
inspect-ai, but not eyechart. Questions about one image have inspect-ai's form, which `inspect eval hf/OWNER/NAME` runs;
other tasks wait until eyechart is listed.
"""

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eyechart.datasets_scripts.catalog import find_dataset
from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.datasets_scripts.common.images import encoded_image
from eyechart.evaluators.tasks import TASKS
from eyechart.hub_cards.model_card.entries import task_id
from eyechart.hub_cards.model_card.selection import pretty_name

FRAMEWORK, INSPECT = "eyechart", "inspect-ai"
IMAGE = "input_image"
"""The column of data URLs that inspect-ai reads images from."""
_FORM = {
    "field_spec": {"input": "question", IMAGE: IMAGE, "target": "answer", "choices": "options"},
    "solvers": [{"name": "multiple_choice"}],
    "scorers": [{"name": "choice"}],
}
_METRIC = "choice_accuracy"


def benchmark(dataset: str, configs: Sequence[str], *, i_have_the_rights: bool = False) -> dict[str, Any]:
    """The contents of `eval.yaml` for exported configurations, the default first, with our own framework."""
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
        "evaluation_framework": FRAMEWORK,
        "tasks": [{"id": task_id(task.name, split), "config": config, "split": split} for task, config, split in runs],
    }


def for_inspect(contents: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The contents with inspect-ai's framework if all tasks are questions about one image, else unchanged.

    The exported data then get a column of data URLs.
    """
    metrics = {task_id(task.name, split): task.metric for task in TASKS for split in task.data.splits}
    if any(metrics[task["id"]] != _METRIC for task in contents["tasks"]) or not _add_images(folder):
        return contents
    tasks = [{**task, **_FORM} for task in contents["tasks"]]
    return {**contents, "evaluation_framework": INSPECT, "tasks": tasks}


def _add_images(folder: Path) -> bool:
    """Add the column of data URLs to exported data; False, and nothing changes, if a row has not one image."""
    import pyarrow
    from datasets import Features, Value
    from huggingface_hub import DatasetCard
    from pyarrow import compute, parquet

    shards = sorted(folder.rglob("*.parquet"))
    for shard in shards:
        counts = compute.list_value_length(parquet.read_table(shard, columns=["images"])["images"])
        if counts.null_count or not compute.all(compute.equal(counts, 1)).as_py():
            return False
    for shard in shards:
        file, changed = parquet.ParquetFile(shard), shard.with_suffix(".changed")
        schema = Features({**Features.from_arrow_schema(file.schema_arrow), IMAGE: Value("string")}).arrow_schema
        with parquet.ParquetWriter(changed, schema) as writer:
            for group in range(file.num_row_groups):
                table = file.read_row_group(group)
                encoded = [encoded_image(images[0]) for images in table["images"].to_pylist()]
                urls = [f"data:{kind};base64,{base64.b64encode(data).decode()}" for data, kind in encoded]
                writer.write_table(table.append_column(IMAGE, pyarrow.array(urls, pyarrow.string())).cast(schema))
        changed.replace(shard)
    card = DatasetCard.load(folder / "README.md")
    infos = card.data["dataset_info"]
    for info in infos if isinstance(infos, list) else [infos]:
        info["features"].append({"name": IMAGE, "dtype": "string"})
    card.save(folder / "README.md")
    return True
