"""The third door to the data: any subset as Parquet with embedded images and a dataset card, ready for the Hub.

The folder is read by plain `datasets.load_dataset(folder)` on every version since 3.6.
"""

import json
import os
from collections.abc import Iterator
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.datasets_scripts.common.left_out import SIDECAR
from eyechart.datasets_scripts.common.left_out import left_out
from eyechart.datasets_scripts.common.paths import whole_folder
from eyechart.datasets_scripts.loading import load_dataset
from eyechart.datasets_scripts.subsets import find_subset

if TYPE_CHECKING:
    import datasets
    import pyarrow as pa

MAX_SHARD_BYTES = 500_000_000
"""A shard is closed once its rows take this many bytes in memory."""
_ROWS_PER_GROUP = 100


@dataclass(frozen=True)
class _WrittenSplit:
    name: str
    files: list[str]
    """Relative to the exported folder."""
    num_examples: int
    num_bytes: int
    private: bool
    """Whether the split is a multiple-choice one without answers."""


def export(
    name: str,
    config: str | None = None,
    *,
    out: str | os.PathLike[str],
    data_dir: str | os.PathLike[str] | None = None,
    skip_missing: bool = False,
    skip_bad: bool = False,
    options: Mapping[str, Any] | None = None,
    num_proc: int | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    max_shard_bytes: int = MAX_SHARD_BYTES,
) -> Path:
    """Write all splits of a subset as Parquet shards with embedded images, and a dataset card.

    Image bytes are those of the release, unchanged. Nothing is left behind if writing fails.

    Args:
        name: A subset, see `list_datasets`.
        config: A configuration of the subset; its first one by default.
        out: Folder to write; must not exist or be empty.
        data_dir: As for `load_dataset`; so are `skip_missing`, `skip_bad`, `options`, `num_proc` and `cache_dir`.
        skip_missing: Leave out rows without an image; `left_out.json` lists them.
        skip_bad: Leave out malformed rows; `left_out.json` lists them.
        options: Settings of this subset's own.
        num_proc: Number of processes that prepare the data set.
        cache_dir: Folder of prepared data sets.
        max_shard_bytes: A shard is closed once its rows take this many bytes in memory.

    Returns:
        The folder written.

    Raises:
        UsageError: Unknown subset or configuration, or `out` is not empty.
        DataError: Something is wrong with the source files.
    """
    subset = find_subset(name)
    folder = Path(out).expanduser().absolute()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"out must be a new or an empty folder, and {folder} is not")
    parts = load_dataset(
        name,
        config,
        data_dir=data_dir,
        skip_missing=skip_missing,
        skip_bad=skip_bad,
        options=options,
        num_proc=num_proc,
        cache_dir=cache_dir,
    )
    with whole_folder(folder) as unfinished:
        (unfinished / "data").mkdir()
        written = [_write_split(part, split, unfinished, max_shard_bytes) for split, part in parts.items()]
        features = next(iter(parts.values())).features
        _write_card(unfinished, name, config or subset.configs[0], features, written, left_out(parts))
        if folder.exists():
            folder.rmdir()
    return folder


def _write_split(part: "datasets.Dataset", split: str, folder: Path, max_shard_bytes: int) -> _WrittenSplit:
    import pyarrow.parquet as pq

    schema = _portable_schema(part.features)
    shards: list[Path] = []
    sizes: list[int] = []
    writer = None
    try:
        for table in _embedded_tables(part):
            if writer is None or sizes[-1] > max_shard_bytes:
                if writer is not None:
                    writer.close()
                shards.append(folder / "data" / f"{split}-{len(shards):05d}.parquet")
                sizes.append(0)
                writer = pq.ParquetWriter(shards[-1], schema)
            writer.write_table(table.replace_schema_metadata(schema.metadata))
            sizes[-1] += table.nbytes
    finally:
        if writer is not None:
            writer.close()
    names = []
    for index, shard in enumerate(shards):
        final = shard.with_name(f"{split}-{index:05d}-of-{len(shards):05d}.parquet")
        names.append(shard.rename(final).relative_to(folder).as_posix())
    private = "answer" in part.column_names and not any(part["answer"])
    return _WrittenSplit(split, names, part.num_rows, sum(sizes), private)


def _embedded_tables(part: "datasets.Dataset") -> Iterator["pa.Table"]:
    from datasets.table import embed_table_storage

    for table in part.with_format("arrow").iter(batch_size=_ROWS_PER_GROUP):
        # to_parquet would store the images' paths instead of their bytes.
        yield embed_table_storage(table.cast(part.features.arrow_schema))


def _portable_schema(features: "datasets.Features") -> "pa.Schema":
    """Return the Arrow schema with its features written so that every version of `datasets` reads them."""
    schema = features.arrow_schema
    metadata = {
        key: value.replace(b'"_type": "List"', b'"_type": "Sequence"') for key, value in schema.metadata.items()
    }
    return schema.with_metadata(metadata)


def _write_card(
    folder: Path,
    name: str,
    config: str,
    features: "datasets.Features",
    splits: list[_WrittenSplit],
    skipped: list[dict[str, str]],
) -> None:
    from huggingface_hub import DatasetCard

    card = DatasetCard((files("eyechart.hub_cards") / "datasets" / f"{name}.md").read_text(encoding="utf-8"))
    card.data["configs"] = [
        {"config_name": config, "data_files": [{"split": split.name, "path": split.files} for split in splits]}
    ]
    card.data["dataset_info"] = {
        "config_name": config,
        "features": _portable_yaml(features._to_yaml_list()),
        "splits": [
            {"name": split.name, "num_bytes": split.num_bytes, "num_examples": split.num_examples} for split in splits
        ],
        "download_size": sum((folder / file).stat().st_size for split in splits for file in split.files),
        "dataset_size": sum(split.num_bytes for split in splits),
    }
    if skipped:
        (folder / SIDECAR).write_text(json.dumps(skipped, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    card.text = card.text.rstrip() + "\n\n" + _export_section(splits, skipped)
    card.save(folder / "README.md")


def _portable_yaml(features: Any) -> Any:
    """Call every list a sequence, as all versions of `datasets` understand it."""
    if isinstance(features, list):
        return [_portable_yaml(feature) for feature in features]
    if isinstance(features, dict):
        return {("sequence" if key == "list" else key): _portable_yaml(value) for key, value in features.items()}
    return features


def _export_section(splits: list[_WrittenSplit], skipped: list[dict[str, str]]) -> str:
    lines = ["## This copy", "", "Made by `eyechart export`; images are embedded byte for byte.", ""]
    for split in splits:
        count = sum(item["split"] == split.name for item in skipped)
        without = f"; {count} rows were left out, see `{SIDECAR}`" if count else ""
        private = "; answers are private and not part of this copy" if split.private else ""
        lines.append(f"- `{split.name}`: {split.num_examples} rows{without}{private}")
    return "\n".join(lines) + "\n"
