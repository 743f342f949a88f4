"""Properties of every configuration of every dataset, on synthetic demo data (exports: `test_export.py`)."""

import csv
import re
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import datasets
import pytest

from eyechart.datasets_scripts import DATASETS, list_datasets, load_builder, load_dataset, loading, mini
from eyechart.datasets_scripts.common.builder import BenchmarkBuilder
from eyechart.datasets_scripts.common.choice.columns import description_features, multiple_choice_features
from eyechart.datasets_scripts.common.errors import MissingFileError
from eyechart.datasets_scripts.common.pairs import pair_features
from eyechart.datasets_scripts.common.quality.database import quality_features
from eyechart.datasets_scripts.official import OFFICIAL

pytestmark = pytest.mark.datasets36
SCRIPTS = Path(loading.__file__).parent
CONFIGS = [(name, config) for name, dataset in DATASETS.items() for config in dataset.configs]
KINDS = {
    "quality": quality_features(),
    "multiple choice": multiple_choice_features([]),
    "description": description_features(),
    "pairs": pair_features(),
}
# The doors are the same for all: one configuration of every kind of columns and of files.
DOORS = [
    *(("koniq10k", "default"), ("llvisionqa_pairs", "default"), ("lldescribe", "default")),
    *(("mmbench", "cc"), ("aesbench", "interpretation"), ("two_afc", "fine_types")),
]
# Workbooks and MAT files are read in another way when streamed.
STREAMED = [*DOORS, ("csiq", "default"), ("live_itw", "default")]
Rows = dict[str, list[dict[str, Any]]]


@dataclass
class Loaded:
    """A configuration's demo data, loaded by `load_dataset`."""

    name: str
    config: str
    folder: Path
    cache: Path
    parts: datasets.DatasetDict

    @cached_property
    def rows(self) -> Rows:
        """The rows of every split, with images as the bytes of their files."""
        return rows(self.parts)


@pytest.fixture(scope="module", params=CONFIGS, ids="-".join)
def loaded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    name, config = request.param
    folder, cache = mini.release(name), tmp_path_factory.mktemp("cache")
    parts = load_dataset(name, config, data_dir=folder, cache_dir=cache / "first")
    return Loaded(name, config, folder, cache, parts)


def rows(parts: Any) -> Rows:
    """Return the rows of every split, with images as the bytes of their files."""
    image = datasets.Image(decode=False)
    undecoded = {
        split: part.cast_column(
            *(("image", image) if "image" in part.features else ("images", datasets.Sequence(image)))
        )
        for split, part in parts.items()
    }
    return {
        split: [{name: encoded(value) for name, value in row.items()} for row in part]
        for split, part in undecoded.items()
    }


def encoded(value: Any) -> Any:
    if isinstance(value, list):
        return [encoded(item) for item in value]
    if isinstance(value, dict):
        if "bytes" in value:
            return value["bytes"] or Path(value["path"]).read_bytes()
        return {name: encoded(item) for name, item in value.items()}
    return value


def kind_of(name: str, config: str) -> str:
    return "description" if (name, config) == ("aesbench", "interpretation") else DATASETS[name].kind


def test_columns_are_those_of_the_kind_ids_are_unique_and_images_open(loaded: Loaded) -> None:
    dataset = DATASETS[loaded.name]
    kind = KINDS[kind_of(loaded.name, loaded.config)]
    assert sum(map(len, loaded.parts.values())) >= 60
    for part in loaded.parts.values():
        assert list(part.features)[: len(kind)] == list(kind)
        assert {column: part.features[column] for column in kind} == kind
        groups = [item for item in list(part.features.items())[len(kind) :] if item[0] != "passes"]
        assert ("passes" in part.features) == (loaded.name == "mmbench")
        assert all(feature == datasets.Value("string") for _, feature in groups)
        assert not groups or dataset.kind == "multiple choice"
        assert len(set(part["id"])) == len(part) and all(part["id"])
        row = part[len(part) - 1]
        images = row["images"] if "images" in row else [row["image"]]
        assert images and all(min(image.size) > 0 for image in images)


@pytest.mark.parametrize("loaded", STREAMED, indirect=True, ids="-".join)
def test_streaming_gives_the_same_rows(loaded: Loaded) -> None:
    streamed = load_dataset(loaded.name, loaded.config, data_dir=loaded.folder, streaming=True)
    assert rows(streamed) == loaded.rows


@pytest.mark.parametrize("loaded", DOORS[:1], indirect=True, ids="-".join)
def test_two_processes_give_the_same_rows(loaded: Loaded) -> None:
    cache = loaded.cache / "two"
    shared = load_dataset(loaded.name, loaded.config, data_dir=loaded.folder, num_proc=2, cache_dir=cache)
    assert rows(shared) == loaded.rows


@pytest.mark.parametrize("loaded", [("mmbench", "cc"), ("two_afc", "fine_types")], indirect=True, ids="-".join)
@pytest.mark.usefixtures("registered")
def test_a_registered_name_gives_the_same_rows(loaded: Loaded) -> None:
    arguments = {"path": loaded.name, "name": loaded.config, "data_dir": str(loaded.folder)}
    assert rows(datasets.load_dataset(**arguments, cache_dir=str(loaded.cache / "named"))) == loaded.rows
    split = next(iter(loaded.parts))
    streamed = datasets.load_dataset(**arguments, split=split, streaming=True)
    assert [row["id"] for row in streamed] == loaded.parts[split]["id"][:]


if int(version("datasets").split(".")[0]) < 4:

    @pytest.mark.parametrize("loaded", [(name, DATASETS[name].configs[0]) for name in DATASETS], indirect=True)
    def test_a_script_loads_by_path_on_datasets_3(loaded: Loaded) -> None:
        arguments = {"data_dir": str(loaded.folder), "cache_dir": str(loaded.cache / "path"), "trust_remote_code": True}
        by_path = datasets.load_dataset(str(SCRIPTS / loaded.name), loaded.config, **arguments)
        assert rows(by_path) == loaded.rows


@pytest.mark.parametrize("name", list_datasets())
def test_catalog_card_and_script_agree(name: str) -> None:
    builder, dataset = type(load_builder(name)), DATASETS[name]
    assert tuple(builder.builder_configs) == dataset.configs and set(dataset.private) <= set(builder.SPLITS)
    assert issubclass(builder, BenchmarkBuilder) and builder.__module__ == dataset.module
    card = (files("eyechart.hub_cards") / "datasets" / f"{name}.md").read_text(encoding="utf-8")
    for config in dataset.configs:
        info = load_builder(name, config).info
        assert info.description and info.citation.startswith("@") and info.license
        assert info.homepage.startswith("https://")
        assert all(f"`{column}`" in card for column in KINDS[kind_of(name, config)])
    for (_, config, split), counts in (item for item in OFFICIAL.items() if item[0][0] == name):
        lines = [line for line in card.splitlines() if line.startswith("| ") and f"`{split}`" in line]
        (line,) = [line for line in lines if f"`{config}`" in line] if len(dataset.configs) > 1 else lines
        # What a release holds of 2AFC's coarse pairs includes a pool that has no part in the scores.
        count = "6,348" if (name, config) == ("two_afc", "coarse") else f"{counts[0]:,}"
        assert re.search(rf"(?<![\d,]){count}(?![\d,]\d)", line)


@pytest.mark.parametrize("name", [name for name, dataset in DATASETS.items() if len(dataset.configs) > 1])
@pytest.mark.usefixtures("registered")
def test_the_first_configuration_is_the_default_of_every_door(name: str, tmp_path: Path) -> None:
    # `datasets` looks for some file that it could read.
    (tmp_path / "train.csv").touch()
    folder = str(tmp_path)
    config = DATASETS[name].configs[0]
    assert load_builder(name, data_dir=folder).config.name == config
    assert datasets.load_dataset_builder(name, data_dir=folder).config.name == config
    assert datasets.load_dataset_builder(name, data_dir=folder, skip_bad=True).config.name == config


@pytest.mark.parametrize("name", list_datasets())
def test_an_empty_folder_says_what_to_get(name: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(MissingFileError, match=r"(?s)empty: (no|missing) .*https://.*data_dir"):
        load_dataset(name, data_dir=tmp_path / "empty")
    with pytest.raises(MissingFileError, match="nowhere: data_dir is not an existing folder"):
        load_dataset(name, data_dir=tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["aesbench", "koniq10k"])
def test_a_mini_release_is_the_same_each_time(name: str, tmp_path: Path) -> None:
    mini.write(name, tmp_path)
    assert contents(tmp_path) == contents(mini.release(name))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_official_splits_are_all_but_those_of_mmbench_1_1() -> None:
    splits = {(name, config, split) for name, config in CONFIGS for split in load_builder(name, config).SPLITS}
    # CCBench has a dev split alone; live_itw's configurations have one split each.
    unknown = {("mmbench", config, split) for config in ("en_v11", "cn_v11") for split in ("dev", "test")}
    assert set(OFFICIAL) == splits - unknown - {("mmbench", "cc", "test")}


def test_the_first_file_of_mmbench_is_official_too(reference: Path) -> None:
    path = reference / "mmbench" / "MMBench_DEV_EN_20230712.tsv"
    csv.field_size_limit(2**31 - 1)
    with path.open(encoding="utf-8", newline="") as file:
        questions = {int(row["index"]) % 1_000_000 for row in csv.DictReader(file, delimiter="\t")}
    assert OFFICIAL["mmbench", "en", "dev"] == (1164, len(questions))
