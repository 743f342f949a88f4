"""A benchmark of one's own, in a CSV and a YAML file, from the run to the board, all by the command line."""

import json
import re
import shutil
from pathlib import Path

import pytest
from huggingface_hub import ModelCard

from eyechart.evaluators import tiny_vlm
from tests.evaluators.command_line import invoke
from tests.evaluators.tasks.own_data import N_PHOTOS, write_photos

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "opinion_scores.yaml"
FILES = ("opinion_scores.yaml", "my_photos.csv")


def call(*arguments: object, code: int = 0) -> str:
    return invoke(*arguments, code=code).output


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Entries of two models; each brings the task file and its data."""
    folder = tmp_path_factory.mktemp("own")
    write_photos(folder)
    shutil.copy(EXAMPLE, folder)
    for name in ("me", "them"):
        entry = folder / "entries" / name
        call("run", folder / FILES[0], "--model", tiny_vlm.folder(), "--name", f"{name}/model", "--out", entry)
        for file in FILES:
            shutil.copy(folder / file, entry)
    return folder


@pytest.fixture
def entries(folder: Path, tmp_path: Path) -> Path:
    return shutil.copytree(folder / "entries", tmp_path / "entries")


def places(text: str) -> list[str]:
    """The lines that name the benchmark; none names it twice."""
    found = [line for line in text.splitlines() if "my_photos" in line]
    assert all(line.count("my_photos") == 1 for line in found), found
    return found


def test_report_comparison_and_plan_name_it_once(entries: Path, tmp_path: Path) -> None:
    runs = (entries / "me", entries / "them")
    assert places(call("compare", *runs))[0].strip() == "my_photos (test)"
    assert places(call("plan", runs[0], "--difference", 0.1))[0].strip() == "my_photos (test)"
    call("report", *runs, "--out", tmp_path / "report", "--no-files")
    page = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    headings = [one for one in re.findall(r"<h[1-6][^>]*>(.*?)</h[1-6]>", page) if "my_photos" in one]
    assert headings == ["my_photos", "my_photos"] and "Other tasks" not in page


def test_it_gets_its_section_in_the_card(entries: Path, tmp_path: Path) -> None:
    (tmp_path / "card.md").write_text("---\nlicense: mit\n---\n# A model\n")
    options = ("--model-repo", "me/model", "--card", tmp_path / "card.md", "--out", tmp_path / "out")
    shown = call("publish", entries / "me", *options, "--source", "https://example.org/report.html")
    assert "not in .eval_results: my_photos (test): your own data are not a benchmark on the Hub" in shown
    card = ModelCard.load(tmp_path / "out" / "README.md")
    assert card.data.eval_results[0].dataset_name == card.data.eval_results[0].dataset_type == "my_photos"
    assert card.data.eval_results[0].metric_args["n"] == N_PHOTOS
    assert "| `my_photos` | test | SRCC |" in card.text and str(tmp_path) not in card.text


def test_it_gets_its_board(entries: Path, tmp_path: Path) -> None:
    files = [text for name in ("me", "them") for text in ("--tasks", entries / name / FILES[0])]
    shown = call("leaderboard", "build", entries, *files, "--out", tmp_path / "space")
    assert "2 accepted, 0 replaced, 0 rejected" in shown and not re.search("stated|no entries", shown)
    index = json.loads((tmp_path / "space" / "results" / "index.json").read_text())
    (listed,) = [one for one in index["boards"] if one["name"] == "my_photos"]
    assert (listed["benchmark"], listed["title"], listed["models"]) == ("my_photos", "", 2)
    board = json.loads((tmp_path / "space" / listed["file"]).read_text())
    assert (board["items"], board["file"], board["columns"][0]["label"]) == (N_PHOTOS, FILES[0], "SRCC")
    assert [(row["model"], row["rank"]) for row in board["rows"]] == [("me/model", 1), ("them/model", 1)]
    assert re.fullmatch("[0-9a-f]{12}", board["release"])
    overview = json.loads((tmp_path / "space" / "results" / "overview.json").read_text())
    assert [one["board"] for one in overview["columns"]] == ["my_photos"]


def test_without_its_file_the_entries_are_rejected_with_what_to_pass(entries: Path, tmp_path: Path) -> None:
    shown = call("leaderboard", "build", entries, "--out", tmp_path / "space", code=1)
    assert "rejected me, my_photos:" in shown and "--tasks" in shown


def test_the_release_decides(entries: Path, tmp_path: Path) -> None:
    def built(name: str, code: int) -> tuple[str, list[float]]:
        shown = call("leaderboard", "build", entries, *task, "--out", tmp_path / name, code=code)
        rows = json.loads((tmp_path / name / "results/boards/my_photos.json").read_text())["rows"]
        return shown, [row["values"][0][0] for row in rows]

    task, file = ("--tasks", entries / "me" / FILES[0]), entries / "me" / FILES[1]
    _, before = built("a", 0)
    head, *lines = file.read_text(encoding="utf-8").splitlines()
    scores = [f"{name},{-float(score)},{camera}" for name, score, camera in (line.split(",") for line in lines)]
    file.write_text("\n".join([head, *scores]), encoding="utf-8")
    assert built("b", 0)[1] == pytest.approx([-score for score in before])
    file.write_text("\n".join([head, *scores[:-1]]), encoding="utf-8")
    shown, rows = built("c", 1)
    assert f"1 items of the predictions are not in the release; first: '{N_PHOTOS}'" in shown and rows == []


def test_one_name_for_two_tasks_is_refused(entries: Path, tmp_path: Path) -> None:
    first, second = (entries / name / FILES[0] for name in ("me", "them"))
    second.write_text(second.read_text(encoding="utf-8").replace("good/poor", "fine/bad"), encoding="utf-8")
    files = ("--tasks", first, "--tasks", second)
    shown = call("leaderboard", "build", entries, *files, "--out", tmp_path / "space", code=2)
    assert str(first) in shown and str(second) in shown and "both define 'my_photos'" in shown
    assert not (tmp_path / "space").exists()


def test_what_is_no_task_file_is_refused(entries: Path, tmp_path: Path) -> None:
    for given, words in (("q_bench/perception", "is not a task file"), ("none.yaml", "does not exist")):
        shown = call("leaderboard", "build", entries, "--tasks", given, "--out", tmp_path / "space", code=2)
        assert given in shown and words in shown
