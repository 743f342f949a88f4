"""Properties of every configuration of every dataset, on synthetic demo data (exports: `test_export.py`)."""

from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import datasets
import pytest
import yaml

from eyechart.datasets_scripts import DATASETS, list_datasets, load_builder, load_dataset, loading, mini
from eyechart.datasets_scripts.common.builder import BenchmarkBuilder
from eyechart.datasets_scripts.common.choice.columns import description_features, multiple_choice_features
from eyechart.datasets_scripts.common.errors import MissingFileError
from eyechart.datasets_scripts.common.pairs import pair_features
from eyechart.datasets_scripts.common.quality.database import quality_features

pytestmark = pytest.mark.datasets36
SCRIPTS = Path(loading.__file__).parent
CONFIGS = [(name, config) for name, dataset in DATASETS.items() for config in dataset.configs]
KINDS = {
    "quality": quality_features(),
    "multiple choice": multiple_choice_features([]),
    "description": description_features(),
    "pairs": pair_features(),
}
COLUMNS = {
    "quality": "id image quality quality_std released_score reference distortion_type distortion_level subset",
    "multiple choice": "id question_id rotation images question hint options answer",
    "description": "id image description level",
    "pairs": "id images first_id second_id first_quality second_quality first_released_score second_released_score "
    "database pool round",
}
# The doors are the same for all: one configuration of every kind of columns and of files.
DOORS = [
    *(("koniq10k", "default"), ("llvisionqa_pairs", "default"), ("lldescribe", "default")),
    *(("mmbench", "cc"), ("aesbench", "interpretation"), ("two_afc", "fine_types")),
]
# Workbooks and MAT files are read in another way when streamed.
STREAMED = [*DOORS, ("csiq", "default"), ("live_itw", "default")]
of_every_kind = pytest.mark.parametrize("loaded", DOORS, indirect=True, ids="-".join)
every_dataset = pytest.mark.parametrize("name", list_datasets())
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


def test_every_kind_has_its_columns() -> None:
    assert {kind: " ".join(features) for kind, features in KINDS.items()} == COLUMNS


def test_columns_are_those_of_the_kind(loaded: Loaded) -> None:
    dataset = DATASETS[loaded.name]
    kind = KINDS[kind_of(loaded.name, loaded.config)]
    for part in loaded.parts.values():
        assert list(part.features)[: len(kind)] == list(kind)
        assert {column: part.features[column] for column in kind} == kind
        groups = [item for item in list(part.features.items())[len(kind) :] if item[0] != "passes"]
        assert ("passes" in part.features) == (loaded.name == "mmbench")
        assert all(feature == datasets.Value("string") for _, feature in groups)
        assert not groups or dataset.kind == "multiple choice"


def test_ids_are_unique_and_there_are_sixty(loaded: Loaded) -> None:
    ids = [row_id for part in loaded.parts.values() for row_id in part["id"]]
    assert len(ids) >= 60
    for part in loaded.parts.values():
        assert len(set(part["id"])) == len(part) and all(part["id"])


def test_every_image_can_be_decoded(loaded: Loaded) -> None:
    for part in loaded.parts.values():
        row = part[len(part) - 1]
        images = row["images"] if "images" in row else [row["image"]]
        assert images and all(min(image.size) > 0 for image in images)


@pytest.mark.parametrize("loaded", STREAMED, indirect=True, ids="-".join)
def test_streaming_gives_the_same_rows(loaded: Loaded) -> None:
    streamed = load_dataset(loaded.name, loaded.config, data_dir=loaded.folder, streaming=True)
    assert rows(streamed) == loaded.rows


@of_every_kind
def test_two_processes_give_the_same_rows(loaded: Loaded) -> None:
    cache = loaded.cache / "two"
    shared = load_dataset(loaded.name, loaded.config, data_dir=loaded.folder, num_proc=2, cache_dir=cache)
    assert rows(shared) == loaded.rows


@of_every_kind
@pytest.mark.usefixtures("registered")
def test_a_registered_name_gives_the_same_rows(loaded: Loaded) -> None:
    arguments = {"path": loaded.name, "name": loaded.config, "data_dir": str(loaded.folder)}
    assert rows(datasets.load_dataset(**arguments, cache_dir=str(loaded.cache / "named"))) == loaded.rows
    split = next(iter(loaded.parts))
    streamed = datasets.load_dataset(**arguments, split=split, streaming=True)
    assert [row["id"] for row in streamed] == loaded.parts[split]["id"][:]


@pytest.mark.skipif(int(version("datasets").split(".")[0]) >= 4, reason="datasets >= 4 takes no scripts by path")
def test_a_script_loads_by_path_on_datasets_3(loaded: Loaded) -> None:
    arguments = {"data_dir": str(loaded.folder), "cache_dir": str(loaded.cache / "path"), "trust_remote_code": True}
    by_path = datasets.load_dataset(str(SCRIPTS / loaded.name), loaded.config, **arguments)
    assert rows(by_path) == loaded.rows


@every_dataset
def test_the_table_names_the_scripts_configurations(name: str) -> None:
    builder = type(load_builder(name))
    assert tuple(builder.builder_configs) == DATASETS[name].configs
    assert issubclass(builder, BenchmarkBuilder) and builder.__module__ == DATASETS[name].module
    assert set(DATASETS[name].private) <= set(builder.SPLITS)


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


@pytest.mark.parametrize(("name", "config"), CONFIGS)
def test_metadata_is_there(name: str, config: str) -> None:
    info = load_builder(name, config).info
    assert info.description and info.citation.startswith("@") and info.license
    assert info.homepage.startswith("https://")


@every_dataset
def test_a_card_tells_licence_source_columns_and_citation(name: str) -> None:
    card = (files("eyechart.hub_cards") / "datasets" / f"{name}.md").read_text(encoding="utf-8")
    _, header, text = card.split("---\n", 2)
    facts = yaml.safe_load(header)
    assert facts["pretty_name"] and facts["license"] and facts["size_categories"] and "benchmark" in facts["tags"]
    # Where the Hub knows no name for a licence, it asks for a name and a link.
    assert facts["license"] != "other" or (facts["license_name"] and facts["license_link"].startswith("http"))
    assert "## Source and licence" in text and "http" in text.partition("## Source and licence")[2]
    assert "## Citation" in text and "@" in text.partition("## Citation")[2]
    kinds = {kind_of(name, config) for config in DATASETS[name].configs}
    assert all(f"`{column}`" in text for kind in kinds for column in KINDS[kind])


@pytest.mark.parametrize(("name", "config"), CONFIGS)
def test_without_data_dir_and_network_the_error_says_what_to_get(name: str, config: str, tmp_path: Path) -> None:
    """Tests are offline: what could be downloaded cannot be here."""
    with pytest.raises(MissingFileError, match=r"(?s)https?://.* as data_dir"):
        load_dataset(name, config, cache_dir=tmp_path)


@pytest.mark.parametrize("name", ["aesbench", "koniq10k", "llvisionqa_pairs", "mmbench", "two_afc"])
def test_a_mini_release_is_the_same_each_time(name: str, tmp_path: Path) -> None:
    mini.write(name, tmp_path)
    assert contents(tmp_path) == contents(mini.release(name))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_table_names_every_script() -> None:
    scripts = {path.parent.name for path in SCRIPTS.glob("*/*.py") if path.stem == path.parent.name}
    assert scripts == set(list_datasets())
