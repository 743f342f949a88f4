"""The third way to load the data: any dataset as Parquet with embedded images and a dataset card, for the Hub.

Plain `datasets.load_dataset(folder, config)` reads the folder, with `datasets` 3.6 or later. What the authors have not
published is left out, even if your copy has it: answers and golden texts of private splits, and the images of gated
datasets.
"""

import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyechart.datasets_scripts import mini
from eyechart.datasets_scripts.catalog import find_dataset
from eyechart.datasets_scripts.common.errors import DataError, UsageError, unknown_name
from eyechart.datasets_scripts.common.left_out import left_out
from eyechart.datasets_scripts.common.whole import whole_folder
from eyechart.datasets_scripts.export_card import Circumstances, Origin, WrittenConfig, WrittenSplit, write_card
from eyechart.datasets_scripts.loading import load_dataset

if TYPE_CHECKING:
    import datasets
    import pyarrow as pa

MAX_SHARD_BYTES = 500_000_000
"""A shard is closed when its rows take this many bytes in memory."""
PRIVATE_COLUMNS = ("answer", "description")
"""Columns that are private in a private split."""
PASSES_COLUMN = "passes"
"""Column of structs that repeat the answer for each pass of a question."""
_ROWS_PER_GROUP = 100
Folder = str | os.PathLike[str]


def export(
    name: str,
    config: str | Sequence[str] | None = None,
    *,
    out: Folder,
    data_dir: Folder | Mapping[str, Folder] | None = None,
    skip_missing: bool = False,
    skip_bad: bool = False,
    options: Mapping[str, Any] | None = None,
    i_have_the_rights: bool = False,
    num_proc: int | None = None,
    cache_dir: Folder | None = None,
    max_shard_bytes: int = MAX_SHARD_BYTES,
) -> Path:
    """Write all splits of a dataset as Parquet shards with embedded images, and a dataset card.

    Image bytes are those of the release, unchanged. If writing fails, no files are left.

    Args:
        name: A dataset, see `list_datasets`.
        config: One or several configurations of the dataset, the default one first; all of them by default.
        out: Folder to write, new or empty.
        data_dir: As for `load_dataset`; a mapping from configurations to folders if they have different folders.
        skip_missing: Leave out rows without an image; `left_out.json` lists them.
        skip_bad: Leave out malformed rows; `left_out.json` lists them.
        options: Settings of this dataset, as for `load_dataset`.
        i_have_the_rights: Also write private answers and texts, and images of gated datasets. The card says so.
        num_proc: Number of processes that prepare the dataset.
        cache_dir: Folder of prepared datasets.
        max_shard_bytes: A shard is closed when its rows take this many bytes in memory.

    Returns:
        The exported folder.

    Raises:
        UsageError: Unknown dataset or configuration, or `out` is not empty or cannot be made.
        DataError: A source file is missing or invalid.
    """
    dataset = find_dataset(name)
    sources = _sources([config] if isinstance(config, str) else list(config or dataset.configs), data_dir)
    folder = Path(out).expanduser().absolute()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"out must be a new or empty folder; {folder} is not")
    images = i_have_the_rights or not dataset.gated
    load = partial(
        load_dataset,
        name,
        skip_missing=skip_missing,
        skip_bad=skip_bad,
        images="load" if images else "skip",
        options=options,
        num_proc=num_proc,
        cache_dir=cache_dir,
    )
    with ExitStack() as stack:
        try:
            unfinished = stack.enter_context(whole_folder(folder))
        except OSError as error:
            raise UsageError(f"out={str(out)!r} cannot be made: {error.strerror}") from error
        written = []
        for one, source in sources.items():
            try:
                parts = load(one, data_dir=source)
            except DataError as error:
                if config is None and len(sources) > 1:
                    error.add_note(f"The error is in config {one!r}. To export only others: config=... or --config")
                raise
            place = unfinished / ("data" if one == "default" else one)
            place.mkdir()
            splits = [
                _write_split(
                    part, place, split, split in dataset.private_splits(one), i_have_the_rights, max_shard_bytes
                )
                for split, part in parts.items()
            ]
            skipped = _without_folders(left_out(parts))
            written.append(WrittenConfig(one, next(iter(parts.values())).features, splits, skipped))
        made = Circumstances(images, _origin(sources.values()), options or {})
        write_card(unfinished, dataset, written, made)
        if folder.exists():
            folder.rmdir()
    return folder


def _origin(folders: Collection[Folder | None]) -> Origin:
    if any(map(mini.is_release, folders)):
        return Origin.MINI
    return Origin.OFFICIAL if all(folder is None for folder in folders) else Origin.FOLDER


def _sources(configs: Sequence[str], data_dir: Folder | Mapping[str, Folder] | None) -> dict[str, Folder | None]:
    """Return the release's folder of each configuration."""
    if not isinstance(data_dir, Mapping):
        return dict.fromkeys(configs, data_dir)
    for config in data_dir:
        if config not in configs:
            raise unknown_name("config", config, configs, "in data_dir")
    missing = [config for config in configs if config not in data_dir]
    if missing:
        raise UsageError(f"data_dir has no folder for config {missing[0]!r}")
    return {config: data_dir[config] for config in configs}


def _without_folders(items: list[dict[str, str]]) -> list[dict[str, str]]:
    """Return the left-out items without the folders of this machine, which are not to be published."""
    return [{**item, "path": os.path.basename(item["path"])} for item in items]


def _write_split(
    part: "datasets.Dataset", folder: Path, split: str, private: bool, has_rights: bool, max_shard_bytes: int
) -> WrittenSplit:
    column = next((name for name in PRIVATE_COLUMNS if name in part.column_names), None)
    given = 0 if column is None else sum(map(bool, part[column]))
    blanked = private and not has_rights and given > 0
    tables = _embedded_tables(part, column if blanked else None)
    files, size = _write_shards(tables, _portable_schema(part.features), folder, split, max_shard_bytes)
    return WrittenSplit(
        name=split,
        files=[file.relative_to(folder.parent).as_posix() for file in files],
        num_examples=part.num_rows,
        items=_count_items(part),
        num_bytes=size,
        column=column,
        given=given,
        private=private,
        blanked=blanked,
    )


def _count_items(part: "datasets.Dataset") -> int | None:
    if "pool" in part.column_names:
        # Not every pair is part of the scores.
        return None
    return len(set(part["question_id"])) if "question_id" in part.column_names else part.num_rows


def _write_shards(
    tables: Iterator["pa.Table"], schema: "pa.Schema", folder: Path, split: str, max_shard_bytes: int
) -> tuple[list[Path], int]:
    """Write tables as `<split>-<number>-of-<count>.parquet`; return the files and their size in memory."""
    import pyarrow.parquet as pq

    shards: list[Path] = []
    sizes: list[int] = []
    writer = None
    try:
        for table in tables:
            if writer is None or sizes[-1] > max_shard_bytes:
                if writer is not None:
                    writer.close()
                shards.append(folder / f"{split}-{len(shards):05d}.parquet")
                sizes.append(0)
                writer = pq.ParquetWriter(shards[-1], schema)
            writer.write_table(table.replace_schema_metadata(schema.metadata))
            sizes[-1] += table.nbytes
    finally:
        if writer is not None:
            writer.close()
    names = (f"{split}-{index:05d}-of-{len(shards):05d}.parquet" for index in range(len(shards)))
    return [shard.rename(shard.with_name(name)) for shard, name in zip(shards, names, strict=True)], sum(sizes)


def _embedded_tables(part: "datasets.Dataset", blank: str | None) -> Iterator["pa.Table"]:
    """Yield the rows in groups, with image bytes instead of paths, and with the column `blank` emptied."""
    from datasets.table import embed_table_storage

    schema = part.features.arrow_schema
    for table in part.with_format("arrow").iter(batch_size=_ROWS_PER_GROUP):
        # `to_parquet` would store the images' paths instead of their bytes.
        embedded = embed_table_storage(table.cast(schema))
        yield embedded if blank is None else _blanked(embedded, blank)


def _blanked(table: "pa.Table", column: str) -> "pa.Table":
    """The table without the texts of a column, and without those of the same name in a question's passes."""
    import pyarrow as pa

    emptied: dict[str, list[Any]] = {column: [""] * len(table)}
    if PASSES_COLUMN in table.column_names:
        passes = table.column(PASSES_COLUMN).to_pylist()
        emptied[PASSES_COLUMN] = [[{**one, column: ""} for one in of_row] for of_row in passes]
    for name, values in emptied.items():
        place = table.column_names.index(name)
        field = table.schema.field(place)
        table = table.set_column(place, field, pa.array(values, field.type))
    return table


def _portable_schema(features: "datasets.Features") -> "pa.Schema":
    """Return the Arrow schema with features in a form that every version of `datasets` reads."""
    schema = features.arrow_schema
    metadata = {key: json.dumps(_portable(json.loads(value))).encode() for key, value in schema.metadata.items()}
    return schema.with_metadata(metadata)


def _portable(value: Any) -> Any:
    """Return a list feature in the form that all versions read: a list of structs as a list, others as a sequence."""
    if not isinstance(value, dict):
        return value
    inner = {key: _portable(one) for key, one in value.items()}
    if value.get("_type") not in ("List", "Sequence"):
        return inner
    return {**inner, "_type": "Sequence"} if "_type" in inner["feature"] else [inner["feature"]]
