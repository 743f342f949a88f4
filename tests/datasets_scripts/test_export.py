import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pytest

from eyechart.datasets_scripts import list_datasets
from eyechart.datasets_scripts import load_dataset
from eyechart.datasets_scripts import mini
from eyechart.datasets_scripts.common.errors import MissingImagesError
from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.datasets_scripts.export import export

pytestmark = pytest.mark.datasets36


def undecoded(part: datasets.Dataset) -> datasets.Dataset:
    image = datasets.Image(decode=False)
    if "image" in part.column_names:
        return part.cast_column("image", image)
    return part.cast_column("images", datasets.Sequence(image))


def encoded(value: Any) -> Any:
    """Return a row's images as their bytes, wherever they are kept."""
    if isinstance(value, list):
        return [encoded(item) for item in value]
    if isinstance(value, dict) and set(value) == {"bytes", "path"}:
        return value["bytes"] or Path(value["path"]).read_bytes()
    return value


def rows(part: datasets.Dataset) -> list[dict[str, Any]]:
    return [{key: encoded(value) for key, value in row.items()} for row in undecoded(part)]


@pytest.mark.parametrize("name", list_datasets())
def test_plain_load_dataset_reads_the_folder_row_for_row(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eyechart.datasets_scripts.export._ROWS_PER_GROUP", 20)
    release = mini.release(name)
    folder = export(name, out=tmp_path / "out", data_dir=release, max_shard_bytes=100_000)
    source = load_dataset(name, data_dir=release)
    read = datasets.load_dataset(str(folder))
    assert list(read) == list(source)
    for split, part in source.items():
        assert read[split].features == part.features
        assert rows(read[split]) == rows(part)
    split = next(iter(source))
    assert len(list((folder / "data").glob(f"{split}-*.parquet"))) > 1
    streamed = datasets.load_dataset(str(folder), split=split, streaming=True)
    assert [row["id"] for row in streamed] == source[split]["id"][:]


def test_the_images_are_in_the_files(tmp_path: Path, kadis: Callable[..., Path]) -> None:
    source = kadis()
    original = (source / "tree_01_01.png").read_bytes()
    folder = export("kadis700k", out=tmp_path / "out", data_dir=source)
    for file in source.iterdir():
        file.unlink()
    part = datasets.load_dataset(str(folder), split="test")
    assert part[0]["image"].size == (10, 8)
    assert undecoded(part)[0]["image"] == {"bytes": original, "path": "tree_01_01.png"}


def test_parquet_files_need_no_card(tmp_path: Path, llvisionqa: Callable[..., Path]) -> None:
    folder = export("llvisionqa", out=tmp_path / "out", data_dir=llvisionqa())
    files = str(folder / "data" / "dev-*.parquet")
    part = datasets.load_dataset("parquet", data_files=files, split="train")
    assert part.features == load_dataset("llvisionqa", data_dir=llvisionqa(), split="dev").features


def test_the_card_says_where_it_comes_from(tmp_path: Path, llvisionqa: Callable[..., Path]) -> None:
    card = (export("llvisionqa", out=tmp_path / "out", data_dir=llvisionqa()) / "README.md").read_text(encoding="utf-8")
    for text in (
        "license: cc-by-nc-sa-4.0",
        "config_name: default",
        "teowu/LLVisionQA-QBench",
        "- `dev`: 3 rows\n",
        "- `test`: 3 rows; answers are private",
    ):
        assert text in card


def test_what_was_left_out_is_listed(tmp_path: Path, kadis: Callable[..., Path]) -> None:
    source = kadis(images=["tree_01_01.png"])
    with pytest.raises(MissingImagesError):
        export("kadis700k", out=tmp_path / "out", data_dir=source)
    assert not (tmp_path / "out").exists()
    folder = export("kadis700k", out=tmp_path / "out", data_dir=source, skip_missing=True)
    assert "- `test`: 1 rows; 2 rows were left out" in (folder / "README.md").read_text(encoding="utf-8")
    assert [item["id"] for item in json.loads((folder / "left_out.json").read_text(encoding="utf-8"))] == [
        "tree_01_02.png",
        "sea_25_05.png",
    ]
    assert len(datasets.load_dataset(str(folder), split="test")) == 1


def test_nothing_is_overwritten_or_left_behind(
    tmp_path: Path, kadis: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").touch()
    with pytest.raises(UsageError, match="out must be a new or an empty folder"):
        export("kadis700k", out=out, data_dir=kadis())
    (out / "mine.txt").unlink()

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("eyechart.datasets_scripts.export._write_card", fail)
        with pytest.raises(KeyboardInterrupt):
            export("kadis700k", out=out, data_dir=kadis())
    assert list(out.iterdir()) == [] and not list(tmp_path.glob(".out-*"))
    assert (export("kadis700k", out=out, data_dir=kadis()) / "README.md").is_file()


def test_unknown_names(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="did you mean 'kadis700k'"):
        export("kadis-700k", out=tmp_path / "out")
