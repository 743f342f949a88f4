"""The card of an exported data set: that of `hub_cards/datasets`, what its files hold and what was left out."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyechart.datasets_scripts.catalog import DatasetEntry
from eyechart.datasets_scripts.common.left_out import SIDECAR
from eyechart.datasets_scripts.official import in_official_terms, official_counts

if TYPE_CHECKING:
    import datasets


class Origin(Enum):
    """What a copy was made of."""

    MINI = "mini release"
    OFFICIAL = "official release"
    FOLDER = "folder"


_ORIGINS = {
    Origin.MINI: "Its source is a mini release of eyechart: synthetic items in the layout of the benchmark, not the "
    "benchmark.",
    Origin.OFFICIAL: "Its source is the official release, downloaded from where its authors put it.",
    Origin.FOLDER: "Its source is a release that was given as a folder.",
}


@dataclass(frozen=True)
class WrittenSplit:
    """One split in files."""

    name: str
    files: list[str]
    """Relative to the exported folder."""
    num_examples: int
    items: int | None
    """How many items the rows are of, as official releases are counted; None where rows do not tell."""
    num_bytes: int
    column: str | None
    """Name of the column of answers or golden texts, if there is one."""
    given: int
    """How many rows of the source have one."""
    private: bool
    """Whether the authors keep them to themselves."""
    blanked: bool
    """Whether they were left out for that reason."""


@dataclass(frozen=True)
class WrittenConfig:
    """One configuration in files."""

    name: str
    features: "datasets.Features"
    splits: list[WrittenSplit]
    left_out: list[dict[str, str]]
    """What the loader left out, without folders of the machine at hand."""


@dataclass(frozen=True)
class Circumstances:
    """How a copy was made, as its card tells it."""

    images: bool
    """Whether the images are in it."""
    origin: Origin
    """What its source is."""
    options: Mapping[str, Any]
    """Settings of the data set's own that differ from the default."""


def write_card(folder: Path, dataset: DatasetEntry, configs: Sequence[WrittenConfig], made: Circumstances) -> None:
    """Write `README.md`, and `left_out.json` where something was left out.

    Args:
        folder: The exported folder, with all data files.
        dataset: The dataset.
        configs: What was written; the first is the default one.
        made: How.
    """
    from huggingface_hub import DatasetCard

    card = DatasetCard((files("eyechart.hub_cards") / "datasets" / f"{dataset.name}.md").read_text(encoding="utf-8"))
    several = len(configs) > 1
    card.data["configs"] = [
        {
            "config_name": config.name,
            "data_files": [{"split": split.name, "path": split.files} for split in config.splits],
            **({"default": True} if several and config is configs[0] else {}),
        }
        for config in configs
    ]
    infos = [_info(folder, config) for config in configs]
    card.data["dataset_info"] = infos if several else infos[0]
    skipped = [{"config": config.name, **item} for config in configs for item in config.left_out]
    if skipped:
        (folder / SIDECAR).write_text(json.dumps(skipped, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    card.text = card.text.rstrip() + "\n\n" + _section(dataset, configs, made)
    card.save(folder / "README.md")


def _info(folder: Path, config: WrittenConfig) -> dict[str, Any]:
    return {
        "config_name": config.name,
        "features": _portable(config.features._to_yaml_list()),
        "splits": [
            {"name": split.name, "num_bytes": split.num_bytes, "num_examples": split.num_examples}
            for split in config.splits
        ],
        "download_size": sum((folder / file).stat().st_size for split in config.splits for file in split.files),
        "dataset_size": sum(split.num_bytes for split in config.splits),
    }


def _portable(features: Any) -> Any:
    """Call every list a sequence, as all versions of `datasets` understand it, except for lists of structs."""
    if isinstance(features, list):
        return [_portable(feature) for feature in features]
    if isinstance(features, dict):
        # A sequence of structs would be a struct of lists.
        return {
            ("sequence" if key == "list" and not isinstance(value, list) else key): _portable(value)
            for key, value in features.items()
        }
    return features


def _section(dataset: DatasetEntry, configs: Sequence[WrittenConfig], made: Circumstances) -> str:
    lines = [f"Made by `eyechart export` {version('eyechart')}."]
    lines.append(_ORIGINS[made.origin])
    if not made.images:
        lines.append("The authors give the images only to those who ask: they are not part of this copy.")
    elif dataset.gated:
        lines.append("The authors give the images only to those who ask: this copy is not for others.")
    else:
        lines.append("Images are embedded byte for byte.")
    lines += [f"`{name}` is {json.dumps(value)}." for name, value in made.options.items()]
    several = len(configs) > 1
    listed = [
        f"- {f'`{config.name}`, ' if several else ''}`{split.name}`: {_contents(dataset, config, split, made)}"
        for config in configs
        for split in config.splits
    ]
    return "\n".join(["## This copy", "", *lines, "", *listed, ""])


def _contents(dataset: DatasetEntry, config: WrittenConfig, split: WrittenSplit, made: Circumstances) -> str:
    count = sum(item["split"] == split.name for item in config.left_out)
    text = f"{split.num_examples} rows"
    if made.origin is not Origin.MINI and split.items is not None:
        share = in_official_terms(split.items, official_counts(dataset.name, config.name, split.name, made.options))
        text += f" ({share})" if share else ""
    if count:
        text += f"; {count} rows were left out, see `{SIDECAR}`"
    if split.blanked:
        text += f"; {split.given} {split.column}s are private and were left out"
    elif split.column and not split.given:
        text += f"; {split.column}s are {'private and ' if split.private else ''}not part of this copy"
    elif split.private:
        text += f"; {split.column}s are private, this copy is not for others"
    return text
