"""The doors to the data and the cache."""

import logging
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pytest

from eyechart.datasets_scripts import left_out, load_builder, load_dataset, loading
from eyechart.datasets_scripts.common.errors import (
    BadAnnotationError,
    DataError,
    EyechartError,
    MissingFileError,
    MissingImagesError,
    UsageError,
)

Folder = Callable[..., Path]
Row = Callable[..., dict[str, Any]]
pytestmark = pytest.mark.datasets36


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


@pytest.mark.usefixtures("registered")
def test_data_files_of_another_kind_are_not_passed_over(kadis: Folder, tmp_path: Path) -> None:
    folder = kadis()
    other = tmp_path / "scores.tsv"
    other.write_text("image\tmos\ntree_01_01.png\t1\n", encoding="utf-8")
    message = r"data_files contains .*scores\.tsv; expected annotation files \(\.csv, \.json, .*\.txt"
    with pytest.raises(UsageError, match=message):
        load_dataset("kadis700k", data_dir=folder, data_files=str(other))
    with pytest.raises(UsageError, match=message):
        datasets.load_dataset("kadis700k", data_dir=str(folder), data_files=str(other))
    # What datasets picks up in a folder is nobody's choice, with images and without.
    (folder / "notes.tsv").touch()
    assert len(datasets.load_dataset("kadis700k", data_dir=str(folder), split="test")) == 3
    for image in folder.glob("*.png"):
        image.unlink()
    with pytest.raises(MissingImagesError):
        datasets.load_dataset("kadis700k", data_dir=str(folder))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "kadis700"}, "'kadis700'; did you mean 'kadis700k'"),
        ({"config": "defualt"}, "config 'defualt'; did you mean 'default'"),
        ({"split": "tset"}, "split 'tset'; did you mean 'test'"),
        ({"split": "test[:1]+dev"}, "unknown split 'dev'"),
        ({"images": "skipp"}, "'skipp' of images; did you mean 'skip'"),
        ({"options": {"rounds": 3}}, "unknown kadis700k option 'rounds'; available: none"),
        ({"split": "test[x]"}, r"split 'test\[x\]' cannot be loaded"),
        ({"split": "test[:1]", "streaming": True}, "is a slice or a sum"),
    ],
)
def test_unknown_names_are_refused(kadis: Folder, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load_dataset(**{"name": "kadis700k", "data_dir": kadis(), **arguments})


def test_a_cache_folder_that_cannot_be_made(kadis: Folder, tmp_path: Path) -> None:
    (tmp_path / "a file").touch()
    cache = tmp_path / "a file" / "below"
    with pytest.raises(UsageError, match=f"the cache folder {cache} cannot be used: .+; set cache_dir"):
        load_dataset("kadis700k", data_dir=kadis(), cache_dir=cache)


def test_a_split_is_loaded_whatever_others_lack(llvisionqa: Folder, qa_row: Row) -> None:
    folder = llvisionqa(test=[qa_row(7, correct_ans=None), qa_row(8, correct_ans=None)])
    assert len(load_dataset("llvisionqa", data_dir=folder, split="dev")) == 3
    for split in ("test", None):
        with pytest.raises(MissingImagesError, match=r"no image file found for 2 items"):
            load_dataset("llvisionqa", data_dir=folder, split=split)
    with pytest.raises(BadAnnotationError, match=r"no row of split 'test' .*: 2 left out.*test-7\.png.*missing"):
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


def test_images_are_not_opened(kadis: Folder) -> None:
    folder = kadis()
    for image in folder.glob("*.png"):
        image.write_bytes(b"")
    part = load_dataset("kadis700k", data_dir=folder, split="test").cast_column("image", datasets.Image(decode=False))
    assert len(part) == 3 and part[0]["image"] == {"bytes": None, "path": str(folder / "tree_01_01.png")}


def test_importing_the_package_loads_no_heavy_library() -> None:
    code = "import sys, eyechart.datasets_scripts, eyechart.datasets_scripts.export, eyechart.datasets_scripts.mini;"
    code += "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert not {"datasets", "torch", "transformers", "numpy", "pandas", "pyarrow", "PIL"} & set(loaded)


def test_private_names_of_datasets_are_used_in_one_file() -> None:
    names = ["_output_dir", "_cache_dir_root", "_cache_downloaded_dir", "_build_cache_dir", "_save_info"]
    owners = (load_builder("csiq"), datasets.Dataset.from_dict({}), datasets.packaged_modules)
    texts = [(path.name, path.read_text(encoding="utf-8")) for path in Path(loading.__file__).parent.rglob("*.py")]
    for name in [*names, "_fingerprint", "_indices", "_PACKAGED_DATASETS_MODULES"]:
        assert any(hasattr(one, name) for one in owners), f"datasets {datasets.__version__} has no {name}: prepared.py"
        assert [file for file, text in texts if f".{name}" in text] == ["prepared.py"]


def test_data_errors_name_file_and_row_also_between_processes() -> None:
    assert str(DataError("is bad", path="a.csv")) == "a.csv: is bad" and str(DataError("is bad")) == "is bad"
    error = pickle.loads(pickle.dumps(BadAnnotationError("is bad", path="a.csv", row=3)))
    assert (str(error), error.path, error.row, error.reason) == ("a.csv, row 3: is bad", "a.csv", 3, "is bad")
    assert issubclass(UsageError, ValueError) and issubclass(UsageError, EyechartError)
