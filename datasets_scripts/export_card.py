"""The card of an exported dataset: the card of `hub_cards/datasets`, plus the contents of this copy."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyechart.datasets_scripts.catalog import DatasetEntry
from eyechart.datasets_scripts.common.left_out import SIDECAR

if TYPE_CHECKING:
    import datasets


@dataclass(frozen=True)
class WrittenSplit:
    """One split in files."""

    name: str
    files: list[str]
    """Relative to the exported folder."""
    num_examples: int
    num_bytes: int
    contents: str
    """What the card says about it."""


@dataclass(frozen=True)
class WrittenConfig:
    """One configuration in files."""

    name: str
    features: "datasets.Features"
    splits: list[WrittenSplit]
    left_out: list[dict[str, str]]
    """Items that the loader left out, without the folders of this machine."""


def write_card(folder: Path, dataset: DatasetEntry, configs: Sequence[WrittenConfig], facts: Sequence[str]) -> None:
    """Write `README.md`, and `left_out.json` if items were left out.

    Args:
        folder: The exported folder, with all data files.
        dataset: The dataset.
        configs: The configurations written; the first is the default one.
        facts: Sentences about this copy.
    """
    from datasets import DatasetInfo
    from datasets.info import DatasetInfosDict
    from huggingface_hub import DatasetCard

    card = DatasetCard((files("eyechart.hub_cards") / "datasets" / f"{dataset.name}.md").read_text(encoding="utf-8"))
    several = len(configs) > 1
    card.data["configs"] = []
    infos, listed = DatasetInfosDict(), []
    for config in configs:
        data_files = [{"split": split.name, "path": split.files} for split in config.splits]
        default = {"default": True} if several and config is configs[0] else {}
        card.data["configs"].append({"config_name": config.name, "data_files": data_files, **default})
        splits = [
            {"name": split.name, "num_bytes": split.num_bytes, "num_examples": split.num_examples}
            for split in config.splits
        ]
        infos[config.name] = DatasetInfo(
            features=config.features,
            splits=splits,
            download_size=sum((folder / file).stat().st_size for split in config.splits for file in split.files),
            dataset_size=sum(split.num_bytes for split in config.splits),
        )
        prefix = f"`{config.name}`, " if several else ""
        listed += [f"- {prefix}`{split.name}`: {split.contents}" for split in config.splits]
    infos.to_dataset_card_data(card.data)
    card.data["dataset_info"] = _portable(card.data["dataset_info"])
    skipped = [{"config": config.name, **item} for config in configs for item in config.left_out]
    if skipped:
        (folder / SIDECAR).write_text(json.dumps(skipped, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    head = ["", "", "## This copy", "", f"Made by `eyechart export` {version('eyechart')}."]
    card.text = card.text.rstrip() + "\n".join([*head, *facts, "", *listed, ""])
    card.save(folder / "README.md")


def _portable(value: Any) -> Any:
    """Name every list of features a sequence, which all versions of `datasets` read, except for lists of structs."""
    if isinstance(value, list):
        return [_portable(one) for one in value]
    if isinstance(value, dict):
        # A sequence of structs would be a struct of lists.
        return {
            ("sequence" if key == "list" and not isinstance(one, list) else key): _portable(one)
            for key, one in value.items()
        }
    return value
