"""The third way to load the data: any data set as Parquet with embedded images and a dataset card, for the Hub.

The folder is read by plain `datasets.load_dataset(folder, config)` on every version since 3.6. What the authors keep to
themselves is left out of it, even where the user has it: answers and golden texts of the data set's private splits, and
the images of gated datasets.
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
"""A shard is closed once its rows take this many bytes in memory."""
PRIVATE_COLUMNS = ("answer", "description")
"""Columns that hold what is private in a private split."""
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
    """Write all splits of a data set as Parquet shards with embedded images, and a dataset card.

    Image bytes are those of the release, unchanged. Nothing is left behind if writing fails.

    Args:
        name: A data set, see `list_datasets`.
        config: A configuration of the data set or several, the default one first; all of them by default.
        out: Folder to write; must not exist or be empty.
        data_dir: As for `load_dataset`; where configurations have different folders, a mapping from one to the other.
        skip_missing: Leave out rows without an image; `left_out.json` lists them.
        skip_bad: Leave out malformed rows; `left_out.json` lists them.
        options: Settings of this data set's own, as for `load_dataset`.
        i_have_the_rights: Write private answers and texts, and images of gated datasets, as well. The card says so.
        num_proc: Number of processes that prepare the data set.
        cache_dir: Folder of prepared data sets.
        max_shard_bytes: A shard is closed once its rows take this many bytes in memory.

    Returns:
        The folder written.

    Raises:
        UsageError: Unknown data set or configuration, or `out` is not empty or cannot be made.
        DataError: Something is wrong with the source files.
    """
    dataset = find_dataset(name)
    sources = _sources([config] if isinstance(config, str) else list(config or dataset.configs), data_dir)
    folder = Path(out).expanduser().absolute()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"out must be a new or an empty folder, and {folder} is not")
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
                    error.add_note(f"config={one!r}; config=... / --config exports only those that are named.")
                raise
            place = unfinished / ("data" if one == "default" else one)
            place.mkdir()
            splits = [
                _write_split(
                    part, place, split, split in dataset.private_splits(one), i_have_the_rights, max_shard_bytes
                )
                for split, part in parts.items()
            ]
            written.append(WrittenConfig(one, next(iter(parts.values())).features, splits, _told(left_out(parts))))
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
            raise unknown_name("config in data_dir", config, configs)
    missing = [config for config in configs if config not in data_dir]
    if missing:
        raise UsageError(f"data_dir names no folder for config {missing[0]!r}")
    return {config: data_dir[config] for config in configs}


def _told(items: list[dict[str, str]]) -> list[dict[str, str]]:
    """Return what was left out without the folders of this machine, which are nobody's business."""
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
        # Not every pair has a part in the scores.
        return None
    return len(set(part["question_id"])) if "question_id" in part.column_names else part.num_rows


def _write_shards(
    tables: Iterator["pa.Table"], schema: "pa.Schema", folder: Path, split: str, max_shard_bytes: int
) -> tuple[list[Path], int]:
    """Write tables as `<split>-<number>-of-<count>.parquet` and return the files and the bytes they take in memory."""
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
    """Yield the rows in groups, with image bytes instead of paths; the column `blank` is emptied."""
    from datasets.table import embed_table_storage

    schema = part.features.arrow_schema
    for table in part.with_format("arrow").iter(batch_size=_ROWS_PER_GROUP):
        # to_parquet would store the images' paths instead of their bytes.
        embedded = embed_table_storage(table.cast(schema))
        yield embedded if blank is None else _blanked(embedded, blank)


def _blanked(table: "pa.Table", column: str) -> "pa.Table":
    """The table without the texts of a column, nor those of the same name in a question's passes."""
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
    """Return the Arrow schema with its features written so that every version of `datasets` reads them."""
    schema = features.arrow_schema
    metadata = {key: json.dumps(_portable(json.loads(value))).encode() for key, value in schema.metadata.items()}
    return schema.with_metadata(metadata)


def _portable(value: Any) -> Any:
    """Write a list feature as all versions read it: of structs as a list, else as a sequence."""
    if not isinstance(value, dict):
        return value
    inner = {key: _portable(one) for key, one in value.items()}
    if value.get("_type") not in ("List", "Sequence"):
        return inner
    return {**inner, "_type": "Sequence"} if "_type" in inner["feature"] else [inner["feature"]]
