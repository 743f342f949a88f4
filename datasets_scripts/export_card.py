"""The card of an exported dataset: the card of `hub_cards/datasets`, plus the contents of this copy."""

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
    """The source of a copy."""

    MINI = "synthetic demo data"
    OFFICIAL = "official release"
    FOLDER = "folder"


_ORIGINS = {
    Origin.MINI: "The source is eyechart's synthetic demo data, which have the benchmark's layout but not its items.",
    Origin.OFFICIAL: "The source is the official release, downloaded from the authors' address.",
    Origin.FOLDER: "The source is a local copy of the release.",
}


@dataclass(frozen=True)
class WrittenSplit:
    """One split in files."""

    name: str
    files: list[str]
    """Relative to the exported folder."""
    num_examples: int
    items: int | None
    """Number of items, counted as in the official release; None if the rows do not show it."""
    num_bytes: int
    column: str | None
    """Name of the column of answers or golden texts, if there is one."""
    given: int
    """Number of rows in the source with an answer or golden text."""
    private: bool
    """Whether the answers or golden texts are not published."""
    blanked: bool
    """Whether they were left out for that reason."""


@dataclass(frozen=True)
class WrittenConfig:
    """One configuration in files."""

    name: str
    features: "datasets.Features"
    splits: list[WrittenSplit]
    left_out: list[dict[str, str]]
    """Items that the loader left out, without the folders of this machine."""


@dataclass(frozen=True)
class Circumstances:
    """How a copy was made, for its card."""

    images: bool
    """Whether the copy contains the images."""
    origin: Origin
    """Its source."""
    options: Mapping[str, Any]
    """The dataset's own settings that differ from the default."""


def write_card(folder: Path, dataset: DatasetEntry, configs: Sequence[WrittenConfig], made: Circumstances) -> None:
    """Write `README.md`, and `left_out.json` if items were left out.

    Args:
        folder: The exported folder, with all data files.
        dataset: The dataset.
        configs: The configurations written; the first is the default one.
        made: How the copy was made.
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
    """Name every list a sequence, which all versions of `datasets` read, except for lists of structs."""
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
        lines.append("The authors give the images only on request: they are not part of this copy.")
    elif dataset.gated:
        lines.append("The authors give the images only on request: do not redistribute this copy.")
    else:
        lines.append("Images are embedded byte for byte.")
    lines += [f"Option `{name}` is {json.dumps(value)}." for name, value in made.options.items()]
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
        text += f"; {split.column}s are private: do not redistribute this copy"
    return text
