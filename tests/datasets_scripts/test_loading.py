"""The doors to the data, the cache, and what holds for every subset."""

import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import datasets
import pytest

from eyechart.datasets_scripts import SUBSETS
from eyechart.datasets_scripts import left_out
from eyechart.datasets_scripts import list_datasets
from eyechart.datasets_scripts import load_builder
from eyechart.datasets_scripts import load_dataset
from eyechart.datasets_scripts import loading
from eyechart.datasets_scripts import mini
from eyechart.datasets_scripts import register
from eyechart.datasets_scripts.common.description import description_features
from eyechart.datasets_scripts.common.errors import BadAnnotationError
from eyechart.datasets_scripts.common.errors import MissingFileError
from eyechart.datasets_scripts.common.errors import MissingImagesError
from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.datasets_scripts.common.multiple_choice import multiple_choice_features
from eyechart.datasets_scripts.common.pairs import pair_features
from eyechart.datasets_scripts.common.quality import quality_features

Folder = Callable[..., Path]
Row = Callable[..., dict[str, Any]]
pytestmark = pytest.mark.datasets36
SCRIPTS = Path(loading.__file__).parent
CONFIGS = [(name, config) for name, subset in SUBSETS.items() for config in subset.configs]
KINDS = {
    "quality": quality_features(),
    "multiple choice": multiple_choice_features([]),
    "description": description_features(),
    "pairs": pair_features(),
}
every_subset = pytest.mark.parametrize("name", list_datasets())
every_config = pytest.mark.parametrize(("name", "config"), CONFIGS)


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the subsets for one test: `register` changes a table for good, so the test gets a copy of it."""
    known = dict(datasets.packaged_modules._PACKAGED_DATASETS_MODULES)
    for module in (datasets.packaged_modules, datasets.load):
        monkeypatch.setattr(module, "_PACKAGED_DATASETS_MODULES", known)
    register()


def plain(rows: Any) -> list[dict[str, Any]]:
    """Return rows with images as pixels, so that they can be compared."""
    return [{key: pixels(value) for key, value in row.items()} for row in rows]


def pixels(value: Any) -> Any:
    if isinstance(value, list):
        return [pixels(item) for item in value]
    return (value.mode, value.size, value.tobytes()) if hasattr(value, "tobytes") else value


@every_config
def test_columns_are_those_of_the_kind(name: str, config: str) -> None:
    kind = KINDS[SUBSETS[name].kind_of(config)]
    features = load_builder(name, config).info.features
    groups = dict(list(features.items())[len(kind) :])
    assert list(features)[: len(kind)] == list(kind)
    assert {column: features[column] for column in kind} == kind
    assert set(map(str, groups.values())) <= {str(datasets.Value("string"))}
    assert not groups or SUBSETS[name].kind == "multiple choice"


@every_config
def test_metadata_is_there(name: str, config: str) -> None:
    info = load_builder(name, config).info
    assert info.description and info.citation and info.license and info.homepage.startswith("https://")


@every_config
@pytest.mark.usefixtures("registered")
def test_all_doors_give_the_same_rows(name: str, config: str) -> None:
    folder = str(mini.release(name))
    first = {split: plain(part) for split, part in load_dataset(name, config, data_dir=folder).items()}
    streamed = load_dataset(name, config, data_dir=folder, streaming=True)
    assert {split: plain(part) for split, part in streamed.items()} == first
    shared = load_dataset(name, config, data_dir=folder, num_proc=2)
    assert {split: plain(part) for split, part in shared.items()} == first
    by_name = datasets.load_dataset(name, config, data_dir=folder)
    assert {split: plain(part) for split, part in by_name.items()} == first
    split = next(iter(first))
    assert plain(datasets.load_dataset(name, config, data_dir=folder, split=split, streaming=True)) == first[split]


@every_config
@pytest.mark.skipif(int(version("datasets").split(".")[0]) >= 4, reason="datasets >= 4 takes no scripts by path")
def test_scripts_load_by_path_on_datasets_3(name: str, config: str) -> None:
    folder = mini.release(name)
    by_path = datasets.load_dataset(str(SCRIPTS / name), config, data_dir=str(folder), trust_remote_code=True)
    loaded = load_dataset(name, config, data_dir=folder)
    assert plain(next(iter(by_path.values()))) == plain(next(iter(loaded.values())))


@every_subset
@pytest.mark.usefixtures("registered")
def test_the_first_configuration_is_the_default_of_every_door(name: str) -> None:
    folder = str(mini.release(name))
    config = SUBSETS[name].configs[0]
    assert load_builder(name, data_dir=folder).config.name == config
    assert datasets.load_dataset_builder(name, data_dir=folder).config.name == config
    assert datasets.load_dataset_builder(name, data_dir=folder, skip_bad=True).config.name == config


@pytest.mark.usefixtures("registered")
def test_a_registered_name_takes_data_files(kadis: Folder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = kadis()
    scores = folder / "other.csv"
    scores.write_text("image,mos\ntree_01_01.png,1\n", encoding="utf-8")
    part = datasets.load_dataset("kadis700k", data_dir=str(folder), data_files="other.csv", split="test")
    assert part["quality"][:] == [1.0]
    part = datasets.load_dataset("kadis700k", data_files=str(scores), split="test", skip_missing=True)
    assert part["quality"][:] == [1.0]
    # Without either, datasets picks up the working directory, which must not be taken for the user's choice.
    (tmp_path / "cwd").mkdir()
    (tmp_path / "cwd" / "stray.csv").write_text("image,mos\nx.png,1\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path / "cwd")
    with pytest.raises(MissingFileError, match="needs data_dir"):
        datasets.load_dataset("kadis700k")


def test_unknown_names(kadis: Folder) -> None:
    for arguments, message in (
        ({"name": "kadis700"}, "unknown subset 'kadis700'; did you mean 'kadis700k'"),
        ({"config": "defualt"}, "unknown config of subset 'kadis700k' 'defualt'; did you mean 'default'"),
        ({"split": "tset"}, "unknown split 'tset'; did you mean 'test'"),
        ({"split": "test[:1]+dev"}, "unknown split 'dev'"),
        ({"images": "skipp"}, "unknown value of images 'skipp'; did you mean 'skip'"),
        ({"options": {"rounds": 3}}, "unknown option of subset 'kadis700k' 'rounds'; Available: none"),
        ({"split": "test[x]"}, r"split 'test\[x\]' cannot be read"),
        ({"split": "test[:1]", "streaming": True}, "streaming takes whole splits"),
    ):
        with pytest.raises(UsageError, match=message):
            load_dataset(**{"name": "kadis700k", "data_dir": kadis(), **arguments})


def test_split_expressions(llvisionqa: Folder) -> None:
    folder = llvisionqa()
    assert len(load_dataset("llvisionqa", data_dir=folder, split="dev[:2]+test")) == 5
    assert len(load_dataset("llvisionqa", data_dir=folder, split="all")) == 6
    assert len(list(load_dataset("llvisionqa", data_dir=folder, split="dev+test", streaming=True))) == 6
    assert len(list(load_dataset("llvisionqa", data_dir=folder, split="all", streaming=True))) == 6


def test_one_split_is_loaded_whatever_the_other_lacks(llvisionqa: Folder, qa_row: Row) -> None:
    folder = llvisionqa(test=[qa_row(7, correct_ans=None)])
    assert len(load_dataset("llvisionqa", data_dir=folder, split="dev")) == 3
    with pytest.raises(MissingImagesError, match=r"1 annotated image"):
        load_dataset("llvisionqa", data_dir=folder, split="test")
    with pytest.raises(MissingImagesError):
        load_dataset("llvisionqa", data_dir=folder)


def test_a_split_of_which_nothing_is_left_says_how_much_was_left_out(llvisionqa: Folder, qa_row: Row) -> None:
    folder = llvisionqa(test=[qa_row(7, correct_ans=None), qa_row(8, correct_ans=None)])
    with pytest.raises(BadAnnotationError, match=r"no rows to load.* 2 .*left out.*test-7\.png.*missing"):
        load_dataset("llvisionqa", data_dir=folder, split="test", skip_missing=True)


def test_left_out_follows_the_data_set(llvisionqa: Folder, qa_row: Row) -> None:
    bad = qa_row(1, type=9)
    folder = llvisionqa(
        dev=[qa_row(0), bad, qa_row(5)], test=[qa_row(0, correct_ans=None), qa_row(6, correct_ans=None)]
    )
    parts = load_dataset("llvisionqa", data_dir=folder, skip_bad=True, skip_missing=True)
    assert [(item["split"], item["id"]) for item in left_out(parts)] == [
        ("dev", "2"),
        ("dev", "dev-5.png"),
        ("test", "test-6.png"),
    ]
    assert [item["id"] for item in left_out(parts["dev"])] == ["2", "dev-5.png"]
    assert len(left_out(parts["dev"].filter(lambda row: True).select([0]))) == 2
    # The second time comes from the cache.
    again = load_dataset("llvisionqa", data_dir=folder, skip_bad=True, skip_missing=True, split="test[:1]")
    assert [item["id"] for item in left_out(again)] == ["test-6.png"]
    assert left_out(datasets.Dataset.from_dict({"a": [1]})) == []


def test_streaming_logs_what_it_leaves_out(kadis: Folder, caplog: pytest.LogCaptureFixture) -> None:
    folder = kadis(images=["tree_01_01.png"])
    with caplog.at_level(logging.WARNING, logger="eyechart"):
        stream = load_dataset("kadis700k", data_dir=folder, split="test", streaming=True, skip_missing=True)
    assert [row["id"] for row in stream] == ["tree_01_01.png"]
    messages = [record.getMessage() for record in caplog.records if record.name.startswith("eyechart")]
    assert len(messages) == 2 and "sea_25_05.png" in messages[1] and "missing" in messages[1]
    with pytest.raises(UsageError, match="streaming"):
        left_out(stream)


def test_the_cache_notices_edits_of_the_data(kadis: Folder) -> None:
    folder = kadis(images=["tree_01_01.png"])

    def load() -> Any:
        return load_dataset("kadis700k", data_dir=folder, split="test", skip_missing=True)

    first = load()
    assert load().cache_files == first.cache_files
    scores = folder / "mos.csv"
    before = scores.stat()
    scores.write_text(scores.read_text(encoding="utf-8").replace("90.5", "10.5"), encoding="utf-8", newline="")
    os.utime(scores, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert load()["quality"][:] == [10.5]
    (folder / "tree_01_02.png").write_bytes((folder / "tree_01_01.png").read_bytes())
    assert len(load()) == 2


def test_the_cache_notices_edits_of_the_code(kadis: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = kadis()
    first = load_dataset("kadis700k", data_dir=folder, split="test")
    monkeypatch.setattr(loading, "source_fingerprint", lambda *files: "edited")
    second = load_dataset("kadis700k", data_dir=folder, split="test")
    assert first.cache_files != second.cache_files and first[:]["id"] == second[:]["id"]


def test_images_stay_encoded(kadis: Folder) -> None:
    folder = kadis()
    part = load_dataset("kadis700k", data_dir=folder, split="test").cast_column("image", datasets.Image(decode=False))
    assert part[0]["image"] == {"bytes": None, "path": str(folder / "tree_01_01.png")}


def test_a_relative_data_dir(kadis: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = kadis()
    monkeypatch.chdir(folder.parent)
    part = load_dataset("kadis700k", data_dir=folder.name, split="test")
    monkeypatch.chdir("/")
    assert part[0]["image"].size == (10, 8)


def test_links_to_folders_are_followed_once(kadis: Folder, tmp_path: Path) -> None:
    folder = kadis(image_folder="images")
    (folder / "images").rename(tmp_path / "elsewhere")
    (folder / "images").symlink_to(tmp_path / "elsewhere")
    (folder / "loop").symlink_to(folder)
    assert load_dataset("kadis700k", data_dir=folder, split="test")[0]["image"].size == (10, 8)


def test_ten_thousand_rows_load_without_touching_pixels(kadis: Folder) -> None:
    names = [f"content{number}_{number % 25 + 1:02d}_{number % 5 + 1:02d}.png" for number in range(10_000)]
    folder = kadis(rows=[(name, str(number)) for number, name in enumerate(names)], images=[])
    for name in names:
        (folder / name).touch()
    # The image files are empty: whoever opened one would fail.
    assert len(load_dataset("kadis700k", data_dir=folder, split="test")) == 10_000


def test_importing_the_package_loads_no_heavy_library() -> None:
    code = "import sys, eyechart.datasets_scripts, eyechart.datasets_scripts.export, eyechart.datasets_scripts.mini;"
    code += "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert not {"datasets", "torch", "transformers", "numpy", "pandas", "pyarrow", "PIL"} & set(loaded)


def test_the_table_names_every_script() -> None:
    scripts = {path.parent.name for path in SCRIPTS.glob("*/*.py") if path.stem == path.parent.name}
    assert scripts == set(list_datasets())


def test_a_damaged_sidecar_is_named(kadis: Folder) -> None:
    part = load_dataset("kadis700k", data_dir=kadis(), split="test")
    sidecar = Path(part.cache_files[0]["filename"]).parent / "left_out.json"
    assert json.loads(sidecar.read_text(encoding="utf-8")) == []
    sidecar.write_text("{", encoding="utf-8")
    with pytest.raises(Exception, match=r"left_out\.json: the list of left-out items in the cache is damaged"):
        left_out(part)
