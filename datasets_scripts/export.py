"""The third way to load the data: any dataset as Parquet with embedded images and a dataset card, for the Hub.

Plain `datasets.load_dataset(folder, config)` reads the folder, with `datasets` 3.6 or later. What the authors have not
published is left out, even if your copy has it: answers and golden texts of private splits, and the images of gated
datasets. The card is that of `hub_cards/datasets`, plus the contents of this copy.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyechart.datasets_scripts import mini
from eyechart.datasets_scripts.catalog import DatasetEntry, find_dataset
from eyechart.datasets_scripts.common.errors import DataError, HubError, UsageError, unknown_name
from eyechart.datasets_scripts.common.left_out import SIDECAR, left_out
from eyechart.datasets_scripts.common.whole import whole_folder
from eyechart.datasets_scripts.loading import load_dataset
from eyechart.datasets_scripts.official import in_official_terms, official_counts

if TYPE_CHECKING:
    import datasets
    import pyarrow as pa

_PASSES = "passes"
"""Column of structs that repeat the answer for each pass of a question."""
_CHUNKS = {"min_chunk_size": 256 * 1024, "max_chunk_size": 1024 * 1024, "norm_level": 0}
"""Pages end where the content says, so that the Hub stores equal parts of two exports once; as `datasets` 5 does it."""
_ROWS_PER_GROUP = 100
Folder = str | os.PathLike[str]
Shards = list[tuple[str, int]]
"""Files of a split, relative to the exported folder, and the size of each in memory."""


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
    max_shard_bytes: int = 1_000_000_000,
) -> Path:
    """Write all splits of a dataset as Parquet shards with embedded images, and a dataset card; return the folder.

    Image bytes are those of the release, unchanged. If writing fails, no files are left.

    Args:
        name: A dataset, see `list_datasets`.
        config: One or several configurations of the dataset, the default one first; all of them by default.
        out: Folder to write, new or empty.
        data_dir: As for `load_dataset`; a mapping from configurations to folders if they have different folders.
        skip_missing: Leave out rows without an image; `left_out.json` lists them.
        skip_bad: Leave out malformed rows; `left_out.json` lists them.
        options: Settings of this dataset.
        i_have_the_rights: Also write private answers and texts, and images of gated datasets. The card says so.
        num_proc: Number of processes that prepare the dataset.
        cache_dir: Folder of prepared datasets.
        max_shard_bytes: A shard is closed when its rows take this many bytes in memory.

    Raises:
        UsageError: Unknown dataset or configuration, or `out` is not empty or cannot be made.
        DataError: A source file is missing or invalid.
    """
    dataset = find_dataset(name)
    sources = _sources([config] if isinstance(config, str) else list(config or dataset.configs), data_dir)
    folder = Path(out).expanduser().absolute()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"out must be a new or empty folder; {folder} is not")
    has_images = i_have_the_rights or not dataset.gated
    is_mini = any(map(mini.is_release, sources.values()))
    origin = "a local copy of the release" if any(sources.values()) else "the official release"
    if is_mini:
        origin = "eyechart's synthetic demo data, which have the benchmark's layout but not its items"
    facts = [f"The source is {origin}.", "Images are embedded byte for byte."]
    if dataset.gated:
        consequence = "do not redistribute this copy" if has_images else "they are not part of this copy"
        facts[1] = f"The authors give the images only on request: {consequence}."
    facts += [f"Option `{option}` is {json.dumps(value)}." for option, value in (options or {}).items()] + [""]
    with ExitStack() as stack:
        try:
            unfinished = stack.enter_context(whole_folder(folder))
        except OSError as error:
            raise UsageError(f"out={str(out)!r} cannot be made: {error.strerror}") from error
        written: dict[str, datasets.DatasetDict] = {}
        shards: dict[tuple[str, str], Shards] = {}
        for one, source in sources.items():
            try:
                written[one] = load_dataset(
                    name,
                    one,
                    data_dir=source,
                    skip_missing=skip_missing,
                    skip_bad=skip_bad,
                    images="load" if has_images else "skip",
                    options=options,
                    num_proc=num_proc,
                    cache_dir=cache_dir,
                )
            except DataError as error:
                if config is None and len(sources) > 1:
                    error.add_note(f"The error is in config {one!r}. To export only others: config=... or --config")
                raise
            place = unfinished / ("data" if one == "default" else one)
            place.mkdir()
            skipped = [item["split"] for item in left_out(written[one])]
            for split, part in written[one].items():
                is_private = split in dataset.private_splits(one)
                blank, contents = _contents(part, is_private, i_have_the_rights, skipped.count(split))
                shards[one, split] = _write_shards(part, place, split, blank, max_shard_bytes)
                share = "" if is_mini else _share(part, official_counts(name, one, split, options))
                prefix = f"`{one}`, " if len(sources) > 1 else ""
                facts.append(f"- {prefix}`{split}`: {part.num_rows} rows{share}{contents}")
        _write_card(unfinished, dataset, written, shards, facts)
        if folder.exists():
            folder.rmdir()
    return folder


def push_to_hub(folder: str | Path, repo: str, *, public: bool = False, endpoint: str | None = None) -> str:
    """Upload an exported folder to a dataset repository, which is created if it does not exist; return its address.

    The account is that of `hf auth login` or of the token in `HF_TOKEN`. Files of the same name are replaced in one
    commit; other files of the repository are kept.

    Args:
        folder: The folder that `export` wrote.
        repo: Name of the repository, "user/name".
        public: Create a new repository as public, and allow an existing public one; otherwise it must be private.
        endpoint: Address of the Hub; `HF_ENDPOINT` or https://huggingface.co by default.

    Raises:
        UsageError: `folder` is not an exported folder, or `repo` is not a valid name or is public.
        HubError: The Hub refused the upload, or cannot be reached.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HFValidationError

    if not (Path(folder) / "README.md").is_file():
        raise UsageError(f"folder={str(folder)!r} is not an exported folder: it has no README.md")
    api = HfApi(endpoint=endpoint)
    try:
        address = api.create_repo(repo, repo_type="dataset", private=not public, exist_ok=True)
        if not public and not api.dataset_info(address.repo_id).private:
            raise UsageError(f"repo={repo!r} is public; to upload to it: public=True (command line: --public)")
        message = "Upload what eyechart exported"
        api.upload_folder(repo_id=address.repo_id, folder_path=folder, repo_type="dataset", commit_message=message)
    except UsageError:
        raise
    except HFValidationError as error:
        raise UsageError(f"repo={repo!r} is not a valid repository name: {error}") from error
    # The library's HTTP client, and with it the class of its errors, differs between versions.
    except Exception as error:
        cause = f" ({error.__cause__})" if error.__cause__ else ""
        hint = "Log in with `hf auth login` and a token with write access to this repository"
        raise HubError(f"{folder} was not uploaded to {repo}: {error}{cause}\n{hint}") from error
    return str(address)


def _sources(configs: Sequence[str], data_dir: Folder | Mapping[str, Folder] | None) -> dict[str, Folder | None]:
    """The release's folder of each configuration."""
    if not isinstance(data_dir, Mapping):
        return dict.fromkeys(configs, data_dir)
    for config in data_dir:
        if config not in configs:
            raise unknown_name("config", config, configs, "in data_dir")
    for config in configs:
        if config not in data_dir:
            raise UsageError(f"data_dir has no folder for config {config!r}")
    return {config: data_dir[config] for config in configs}


def _share(part: "datasets.Dataset", official: tuple[int, ...]) -> str:
    """The number of items in terms of the official release; "" for pairs, not each of which is part of the scores."""
    items = len(set(part["question_id"])) if "question_id" in part.column_names else part.num_rows
    share = "" if "pool" in part.column_names else in_official_terms(items, official)
    return f" ({share})" if share else ""


def _contents(part: "datasets.Dataset", is_private: bool, has_rights: bool, skipped: int) -> tuple[str, str]:
    """The column to blank, and what the card says about a split behind the number of its rows."""
    column = next((name for name in ("answer", "description") if name in part.column_names), "")
    given = sum(map(bool, part[column])) if column else 0
    text = f"; {skipped} rows were left out, see `{SIDECAR}`" if skipped else ""
    if is_private and given and not has_rights:
        return column, f"{text}; {given} {column}s are private and were left out"
    if column and not given:
        text += f"; {column}s are {'private and ' if is_private else ''}not part of this copy"
    elif is_private:
        text += f"; {column}s are private: do not redistribute this copy"
    return "", text


def _write_shards(part: "datasets.Dataset", folder: Path, split: str, blank: str, max_shard_bytes: int) -> Shards:
    """Write a split as `<split>-<number>-of-<count>.parquet`."""
    import pyarrow.parquet as pq

    shards: list[Path] = []
    sizes: list[int] = []
    with ExitStack() as stack:
        for table in _embedded_tables(part, blank):
            if not sizes or sizes[-1] > max_shard_bytes:
                stack.close()
                shards.append(folder / f"{split}-{len(shards):05d}.parquet")
                sizes.append(0)
                writer = pq.ParquetWriter(
                    shards[-1], table.schema, use_content_defined_chunking=_CHUNKS, write_page_index=True
                )
                writer.add_key_value_metadata({"content_defined_chunking": json.dumps(_CHUNKS)})
                stack.enter_context(writer)
            writer.write_table(table)
            sizes[-1] += table.nbytes
    named = [shard.rename(f"{shard.with_suffix('')}-of-{len(shards):05d}.parquet") for shard in shards]
    return [(f"{folder.name}/{shard.name}", size) for shard, size in zip(named, sizes, strict=True)]


def _embedded_tables(part: "datasets.Dataset", blank: str) -> Iterator["pa.Table"]:
    """Yield the rows in groups, with image bytes instead of paths, and with the texts of the column `blank` emptied."""
    import pyarrow as pa
    from datasets.table import embed_table_storage

    for table in part.with_format("arrow").iter(batch_size=_ROWS_PER_GROUP):
        # `to_parquet` would store the images' paths instead of their bytes.
        table = embed_table_storage(table.cast(part.features.arrow_schema))
        emptied: dict[str, list[Any]] = {blank: [""] * len(table)} if blank else {}
        if blank and _PASSES in table.column_names:
            passes = table.column(_PASSES).to_pylist()
            emptied[_PASSES] = [[{**one, blank: ""} for one in of_row] for of_row in passes]
        for name, values in emptied.items():
            field = table.schema.field(name)
            table = table.set_column(table.column_names.index(name), field, pa.array(values, field.type))
        yield table


def _write_card(
    folder: Path,
    dataset: DatasetEntry,
    written: Mapping[str, "datasets.DatasetDict"],
    shards: Mapping[tuple[str, str], Shards],
    facts: Sequence[str],
) -> None:
    """Write `README.md` with `facts` about this copy, and `left_out.json` if items were left out."""
    from datasets import DatasetInfo
    from datasets.info import DatasetInfosDict
    from huggingface_hub import DatasetCard

    card = DatasetCard((files("eyechart.hub_cards") / "datasets" / f"{dataset.name}.md").read_text(encoding="utf-8"))
    card.data["configs"] = []
    infos, skipped = DatasetInfosDict(), []
    for config, parts in written.items():
        of = {split: shards[config, split] for split in parts}
        data_files = [{"split": split, "path": [file for file, _ in of[split]]} for split in parts]
        default = {"default": True} if len(written) > 1 and not infos else {}
        card.data["configs"].append({"config_name": config, "data_files": data_files, **default})
        sizes = {split: sum(size for _, size in of[split]) for split in parts}
        infos[config] = DatasetInfo(
            features=next(iter(parts.values())).features,
            splits=[
                {"name": split, "num_bytes": sizes[split], "num_examples": part.num_rows}
                for split, part in parts.items()
            ],
            download_size=sum((folder / file).stat().st_size for split in parts for file, _ in of[split]),
            dataset_size=sum(sizes.values()),
        )
        # The folders of this machine are not to be published.
        skipped += [{"config": config, **item, "path": os.path.basename(item["path"])} for item in left_out(parts)]
    infos.to_dataset_card_data(card.data)
    card.data["dataset_info"] = _portable(card.data["dataset_info"])
    if skipped:
        (folder / SIDECAR).write_text(json.dumps(skipped, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    head = ["", "", "## This copy", "", f"Made by `eyechart export` {version('eyechart')}."]
    card.text = card.text.rstrip() + "\n".join([*head, *facts, ""])
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
