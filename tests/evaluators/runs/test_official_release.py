"""The official release is downloaded where no folder is named: from what stands in for the Hub, in the real layout."""

import json
import shutil
import tarfile
from io import BytesIO

import pytest

from eyechart.datasets_scripts import load_dataset, mini
from eyechart.datasets_scripts.common.errors import MiniDataWarning, MissingFileError
from eyechart.datasets_scripts.loading import prepared_dataset
from eyechart.evaluators import evaluator
from eyechart.evaluators.results.results_file import read_results
from eyechart.evaluators.runs.screen import RunProgress
from tests.evaluators.command_line import invoke

ROWS = 5


@pytest.fixture
def official(hub, monkeypatch, tmp_path):
    """LLVisionQA's repository with two JSON files and an archive of images; returns what the Hub holds."""
    release = mini.release("llvisionqa")
    files = {}
    with BytesIO() as packed:
        with tarfile.open(fileobj=packed, mode="w") as archive:
            for split in ("dev", "test"):
                name = f"llvisionqa_{split}.json"
                rows = json.loads((release / name).read_text(encoding="utf-8"))[:ROWS]
                files[name] = json.dumps(rows).encode()
                for row in rows:
                    archive.add(next(release.rglob(row["img_path"])), f"images_llvisionqa/{row['img_path']}")
        files["images_llvisionqa.tar"] = packed.getvalue()
    hub.make("teowu/LLVisionQA-QBench", files)
    monkeypatch.setattr("datasets.config.HF_ENDPOINT", hub.address)
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    return hub.repos["teowu/LLVisionQA-QBench"]["files"]


def score(tmp_path, split="dev"):
    answers = tmp_path / "answers.jsonl"
    ids = [f"{split}-mini_{split}_{number:04d}.png" for number in range(ROWS)]
    answers.write_text("".join(json.dumps({"id": one, "text": "A"}) + "\n" for one in ids))
    command = ("score", "q_bench/perception", "--split", split, "--predictions", answers, "--out", tmp_path / "out")
    return invoke(*command, code=0).output


def test_it_is_downloaded_and_told_how_much_of_the_official_data_a_score_is_of(official, monkeypatch, tmp_path):
    steps = []
    monkeypatch.setattr(RunProgress, "describe", lambda progress, step: steps.append(step))
    shown = score(tmp_path)
    assert steps == ["loading llvisionqa"]
    assert "on llvisionqa (dev), 5 of 1,495 official items" in shown
    assert ", mini)" not in shown and "synthetic" not in shown
    (task,) = read_results(tmp_path / "out").tasks
    told = {"source": "official release", "config": None, "options": {}, "rows": ROWS, "is_mini": False}
    revision = task.settings["data"].pop("revision")
    assert (tmp_path / "hub" / "datasets--teowu--LLVisionQA-QBench" / "snapshots" / revision).is_dir()
    assert task.settings["data"] == told
    # Answers made elsewhere are scored without images, so that the report has none to show; it downloads nothing.
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "is no longer in the cache" in page


def test_answers_to_its_private_questions_can_be_submitted(official, tmp_path):
    assert "llvisionqa (test), 5 of 1,495 official items" in score(tmp_path, "test")
    done = invoke("submit", tmp_path / "out", "--out", tmp_path / "files", code=0)
    assert f"q_bench/perception on llvisionqa (test): {ROWS} answers in " in done.output


def test_in_python_the_name_of_a_data_set_is_its_release_and_mini_is_not(official):
    task = evaluator("q_bench/perception")
    for data in (None, "llvisionqa"):
        scores = task.compute(lambda messages: "A", data)
        assert scores["n"] == ROWS and scores["is_mini"] is False
    with pytest.warns(MiniDataWarning, match="Synthetic demo data .*llvisionqa"):
        scores = task.compute(lambda messages: "A", "mini")
    assert scores["n"] == 180 and scores["is_mini"] is True


def test_once_downloaded_it_is_there_without_the_hub(official):
    with pytest.raises(MissingFileError, match=r"'llvisionqa' \(dev\) is no longer in the cache"):
        prepared_dataset("llvisionqa", split="dev")
    whole = load_dataset("llvisionqa", split="dev", skip_bad=True)
    assert whole[0]["images"][0].size
    official.clear()
    assert load_dataset("llvisionqa", split="dev", skip_bad=True)["id"][:] == whole["id"][:]
    # Whatever was left out, as a report does not know that.
    assert prepared_dataset("llvisionqa", split="dev")["id"][:] == whole["id"][:]


@pytest.mark.parametrize(
    ("given", "shown", "source", "rows"),
    [
        ([], "the official release", "the official release, downloaded from the", f"{ROWS} ({ROWS} of 1,495 official"),
        (["--mini"], "synthetic demo data", "eyechart's synthetic demo data", "180\n"),
        (["--data-dir", "release"], "release", "a local copy of the release.", "180 (180 of 1,495 official"),
    ],
)
def test_an_export_says_what_it_is_of(official, tmp_path, monkeypatch, given, shown, source, rows):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(mini.release("llvisionqa"), "release")
    done = invoke("export", "llvisionqa", *given, "--out", "out", code=0)
    assert f"Exported {shown} to {tmp_path / 'out'}\n" in done.output
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert f"The source is {source}" in card and f"- `dev`: {rows}" in card.replace(" rows", "")
