import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from eyechart.datasets_scripts import DATASETS, load_dataset, mini
from eyechart.datasets_scripts.common.errors import BadAnnotationError, HubError, MissingFileError, UsageError
from eyechart.datasets_scripts.export import export, push_to_hub
from eyechart.evaluators.cli import app
from tests.datasets_scripts.test_every_dataset import rows
from tests.hub_stand_in import StandIn

pytestmark = pytest.mark.datasets36
Folder = Callable[..., Path]
Row = Callable[..., dict[str, Any]]


@pytest.mark.parametrize(
    ("name", "configs"), [("aesbench", None), ("koniq10k", None), ("mmbench", ["cc"]), ("two_afc", ["fine_mos"])]
)
def test_plain_load_dataset_reads_the_folder_row_for_row(name: str, configs: list[str] | None, tmp_path: Path) -> None:
    release = mini.release(name)
    arguments = {"data_dir": release, "max_shard_bytes": 300_000, "i_have_the_rights": True}
    folder = export(name, configs, out=tmp_path / "out", **arguments)
    for config in configs or DATASETS[name].configs:
        source = load_dataset(name, config, data_dir=release)
        read = datasets.load_dataset(str(folder), config)
        assert {split: part.features for split, part in read.items()} == {
            split: part.features for split, part in source.items()
        }
        assert rows(read) == rows(source)
    split = next(iter(source))
    streamed = datasets.load_dataset(str(folder), config, split=split, streaming=True)
    assert [row["id"] for row in streamed] == source[split]["id"][:]
    # Without a configuration, it is the first one, as through the other doors.
    first = load_dataset(name, (configs or [None])[0], data_dir=release)[split]
    assert datasets.load_dataset(str(folder), split=split).num_rows == first.num_rows


def test_shards_are_limited_and_have_content_defined_chunks_and_a_page_index(tmp_path: Path) -> None:
    folder = export("kadis700k", out=tmp_path / "out", data_dir=mini.release("kadis700k"), max_shard_bytes=300_000)
    files = sorted((folder / "data").iterdir())
    assert len(files) > 1
    assert [file.name for file in files] == [f"test-{n:05d}-of-{len(files):05d}.parquet" for n in range(len(files))]
    for file in files:
        written = pq.ParquetFile(file).metadata
        # As `datasets` 5 writes them, with any version.
        chunks = {"min_chunk_size": 2**18, "max_chunk_size": 2**20, "norm_level": 0}
        assert json.loads(written.metadata[b"content_defined_chunking"]) == chunks
        column = written.row_group(0).column(0)
        assert column.has_offset_index and column.has_column_index


def test_the_card_names_source_and_official_numbers(tmp_path: Path, llvisionqa: Folder) -> None:
    card = card_of(export("llvisionqa", out=tmp_path / "out", data_dir=llvisionqa()))
    for text in (
        "license: cc-by-nc-sa-4.0",
        "config_name: default",
        "The source is a local copy of the release.",
        "- `dev`: 3 rows (3 of 1,495 official items)\n",
        "- `test`: 3 rows (3 of 1,495 official items); answers are private and not part of this copy\n",
    ):
        assert text in card


def test_what_was_left_out_is_listed(tmp_path: Path, kadis: Folder) -> None:
    source = kadis(rows=[("tree_01_01.png", "1"), ("tree_01_02.png", "2"), ("sea_25_05.png", "x")])
    (source / "tree_01_02.png").unlink()
    with pytest.raises(BadAnnotationError):
        export("kadis700k", out=tmp_path / "out", data_dir=source)
    assert not (tmp_path / "out").exists()
    folder = export("kadis700k", out=tmp_path / "out", data_dir=source, skip_missing=True, skip_bad=True)
    assert "- `test`: 1 rows (1 of 100 official items); 2 rows were left out" in card_of(folder)
    listed = json.loads((folder / "left_out.json").read_text(encoding="utf-8"))
    # Nothing tells where the data were on this machine.
    assert [(item["config"], item["id"], item["path"]) for item in listed] == [
        ("default", "tree_01_02.png", "tree_01_02.png"),
        ("default", "4", "mos.csv"),
    ]
    assert len(datasets.load_dataset(str(folder), split="test")) == 1
    for file in folder.rglob("*"):
        assert file.is_dir() or str(tmp_path).encode() not in file.read_bytes()


def card_of(folder: Path) -> str:
    return (folder / "README.md").read_text(encoding="utf-8")


def test_private_answers_are_left_out_without_the_rights(tmp_path: Path, llvisionqa: Folder, qa_row: Row) -> None:
    source = llvisionqa(test=[qa_row(number) for number in range(3)])
    folder = export("llvisionqa", out=tmp_path / "out", data_dir=source)
    read = datasets.load_dataset(str(folder))
    assert read["dev"]["answer"][:] == ["B"] * 3 and read["test"]["answer"][:] == [""] * 3
    assert read["test"]["options"][0] == ["Blur", "Noise", "None"] and read["test"][0]["images"][0].size == (10, 8)
    assert "; 3 answers are private and were left out\n" in card_of(folder)
    folder = export("llvisionqa", out=tmp_path / "all", data_dir=source, i_have_the_rights=True)
    assert datasets.load_dataset(str(folder), split="test")["answer"][:] == ["B"] * 3
    assert "; answers are private: do not redistribute this copy\n" in card_of(folder)


def test_of_mmbench_the_test_answers_of_version_1_1_are_public(tmp_path: Path) -> None:
    """Of version 1.0 a user may hold them, which an export does not pass on."""
    source = tmp_path / "release"
    source.mkdir()
    for name in ("MMBench_DEV_EN_V11.tsv", "MMBench_TEST_EN_V11.tsv"):
        shutil.copy(mini.release("mmbench") / name, source)
        shutil.copy(source / name, source / name.replace("_V11", ""))
    folder = export("mmbench", ["en", "en_v11"], out=tmp_path / "out", data_dir=source)
    assert set(datasets.load_dataset(str(folder), "en", split="test")["answer"]) == {""}
    assert "" not in datasets.load_dataset(str(folder), "en_v11", split="test")["answer"][:]
    assert "- `en`, `test`: 20 rows (20 of 1,784 official items); 20 answers are private" in card_of(folder)
    assert "- `en_v11`, `test`: 20 rows\n" in card_of(folder)
    # The passes of a question hold its answer once more each.
    shutil.copy(mini.release("mmbench") / "MMBench_DEV_EN.tsv", source / "MMBench_TEST_EN.tsv")
    folder = export("mmbench", "en", out=tmp_path / "passes", data_dir=source)
    test = datasets.load_dataset(str(folder), split="test")
    assert {one["answer"] for passes in test["passes"] for one in passes} == {""} == set(test["answer"])
    shown = load_dataset("mmbench", "en", split="test", data_dir=source)["passes"]
    assert [[one["options"] for one in passes] for passes in test["passes"]] == [
        [one["options"] for one in passes] for passes in shown
    ]


def test_a_gated_dataset_is_exported_without_images_and_answers_unless_with_the_rights(tmp_path: Path) -> None:
    release = mini.release("aesbench")
    folder = export("aesbench", out=tmp_path / "out", data_dir=release)
    for config in DATASETS["aesbench"].configs:
        source = load_dataset("aesbench", config, data_dir=release, split="test")
        read = datasets.load_dataset(str(folder), config, split="test")
        assert read.features == source.features
        hidden = {"image", "images", "answer", "description"}
        assert all(not value for column in hidden & set(read.column_names) for value in read[column])
        shown = [column for column in source.column_names if column not in hidden]
        assert read.select_columns(shown).to_list() == source.select_columns(shown).to_list()
    image = next(path for path in release.rglob("*.*") if path.suffix in (".png", ".jpg")).read_bytes()
    assert not any(image in path.read_bytes() for path in folder.rglob("*.parquet"))
    assert "The authors give the images only on request: they are not part of this copy." in card_of(folder)
    assert re.search(r"- `perception`, `test`: \d+ rows; \d+ answers are private and were left out\n", card_of(folder))
    folder = export("aesbench", "perception", out=tmp_path / "all", data_dir=release, i_have_the_rights=True)
    assert "The authors give the images only on request: do not redistribute this copy." in card_of(folder)
    assert any(image in path.read_bytes() for path in folder.rglob("*.parquet"))


def test_configurations_may_have_folders_of_their_own(tmp_path: Path) -> None:
    folders = {"single": mini.release("llvisionqa"), "pair": mini.release("llvisionqa_pairs")}
    options = {"refusal_position": "first"}
    folder = export("llsavisionqa", out=tmp_path / "out", data_dir=folders, options=options)
    assert datasets.get_dataset_config_names(str(folder)) == ["single", "pair"]
    for config, count in (("single", 180), ("pair", 96)):
        read = datasets.load_dataset(str(folder), config, split="dev")
        assert (read.num_rows, set(read["refusal"])) == (count, {"A"})
    for text in ('`refusal_position` is "first".', "- `pair`, `dev`: 96 rows\n", "is eyechart's synthetic demo data"):
        assert text in card_of(folder)


def test_some_of_the_configurations(tmp_path: Path, llvisionqa: Folder) -> None:
    source = llvisionqa()
    with pytest.raises(MissingFileError, match=r"q-bench2-a1-dev\.jsonl") as caught:
        export("llsavisionqa", out=tmp_path / "out", data_dir=source)
    assert caught.value.__notes__ == ["The error is in config 'pair'. To export only others: config=... or --config"]
    folder = export("llsavisionqa", "single", out=tmp_path / "out", data_dir=source)
    assert datasets.load_dataset(str(folder), split="dev")["refusal"][:] == ["D"] * 3
    assert [path.name for path in sorted(folder.iterdir())] == ["README.md", "single"]
    assert "eyechart's synthetic demo data" not in card_of(folder)


def test_nothing_is_overwritten_or_left_behind(tmp_path: Path, kadis: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").touch()
    with pytest.raises(UsageError, match="out must be a new or empty folder"):
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


# The Hub's own client uses an argument of its HTTP library that is deprecated there.
upload = pytest.mark.filterwarnings("ignore:Use 'content=<...>' to upload raw bytes:DeprecationWarning")


@pytest.fixture
def exported(tmp_path: Path, kadis: Folder) -> Path:
    return export("kadis700k", out=tmp_path / "exported", data_dir=kadis())


@upload
def test_an_upload_has_the_exported_files(hub: StandIn, exported: Path) -> None:
    address = push_to_hub(exported, "me/kadis", endpoint=hub.address)
    assert address == f"{hub.address}/datasets/me/kadis"
    repo = hub.repos["me/kadis"]
    assert repo["private"] and repo["commits"] == ["Upload what eyechart exported"]
    local = {path.relative_to(exported).as_posix(): path.read_bytes() for path in exported.rglob("*") if path.is_file()}
    assert repo["files"] == local
    push_to_hub(exported, "me/kadis")
    assert len(repo["commits"]) == 2


@upload
def test_a_public_repository_must_be_allowed(hub: StandIn, exported: Path) -> None:
    push_to_hub(exported, "me/open", public=True)
    assert not hub.repos["me/open"]["private"]
    with pytest.raises(UsageError, match="repo='me/open' is public; to upload to it: public=True"):
        push_to_hub(exported, "me/open")
    assert len(hub.repos["me/open"]["commits"]) == 1


@upload
def test_refused_uploads(hub: StandIn, exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="has no README"):
        push_to_hub(tmp_path, "me/kadis")
    with pytest.raises(UsageError, match="repo='a/b/c' is not a valid repository name"):
        push_to_hub(exported, "a/b/c")
    with pytest.raises(HubError, match=r"me/forbidden: .*403(.|\n)*hf auth login"):
        push_to_hub(exported, "me/forbidden")
    monkeypatch.setenv("HF_TOKEN", "hf_of_another")
    with pytest.raises(HubError, match=r"me/kadis: .*401"):
        push_to_hub(exported, "me/kadis")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(HubError, match="offline mode is enabled"):
        push_to_hub(exported, "me/kadis")
    assert hub.repos == {}


@upload
def test_the_command_exports_and_uploads(hub: StandIn, tmp_path: Path, llvisionqa: Folder, qa_row: Row) -> None:
    source = llvisionqa(test=[qa_row(number) for number in range(3)])
    command = ["export", "llsavisionqa", "--config", "single", "--data-dir", f"single={source}", "--i-have-the-rights"]
    command += ["--data-arg", "refusal_position=0", "--push-to-hub", "me/qa", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert f"Uploaded to {hub.address}/datasets/me/qa" in done.output and "README.md" in hub.repos["me/qa"]["files"]
    part = datasets.load_dataset(str(tmp_path / "out"), split="test")
    assert part["refusal"][:] == ["A"] * 3 and part["options"][0][0] == "I don't know"
    assert part["answer"][:] == ["C"] * 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--mini", "--data-dir", "single=x"], "--mini and --data-dir single=x are both given; leave out one"),
        (["--public"], "--public has no effect without --push-to-hub"),
        (["--mini", "--data-arg", "position=1"], "unknown llsavisionqa option 'position'"),
    ],
)
def test_wrong_usage_of_the_command_exports_nothing(tmp_path: Path, arguments: list[str], message: str) -> None:
    done = CliRunner().invoke(app, ["export", "llsavisionqa", *arguments, "--out", str(tmp_path / "out")])
    assert done.exit_code == 2 and message in done.output
    assert not (tmp_path / "out").exists()
