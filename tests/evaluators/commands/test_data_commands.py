"""A benchmark of one's own, in a CSV and a YAML file, from the run to the board, all by the command line."""

import gc
import json
import re
import shutil
from pathlib import Path

import pytest
from huggingface_hub import ModelCard

from eyechart.evaluators import tiny_vlm
from eyechart.evaluators.backends.local import loading
from eyechart.evaluators.results.finished_runs import read_runs
from eyechart.evaluators.results.results_file import read_results
from tests.evaluators.command_line import invoke
from tests.evaluators.scripted_server import PATH, completion, json_response, refusal
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


@pytest.fixture
def checkpoints(tmp_path):
    """Two folders with the bundled model, whose folders have the same name in different places, and one other."""
    names = ("a/last", "b/last", "other")
    return [shutil.copytree(tiny_vlm.folder(), tmp_path / "models" / name) for name in names]


def models(*names):
    return [word for name in names for word in ("--model", name)]


def test_they_run_one_after_the_other_each_in_its_folder_and_are_compared(checkpoints, tmp_path, monkeypatch):
    loaded, load = [], loading.load_pipeline

    def counting(*arguments):
        from transformers import PreTrainedModel

        loaded.append(sum(PreTrainedModel in type(one).__mro__ for one in gc.get_objects()))
        return load(*arguments)

    gc.collect()
    monkeypatch.setattr(loading, "load_pipeline", counting)
    first, _, other = checkpoints
    given = (*models(first, other), "--mini", "--limit", 8, "--out", tmp_path / "out")
    done = invoke("run", "q_bench/perception", *given, code=0)
    assert loaded[0] == loaded[1], "the first model is released before the second is loaded"
    for folder, model in ((tmp_path / "out/last", first), (tmp_path / "out/other", other)):
        assert [task.model for task in read_results(folder).tasks] == [str(model)]
    compared = invoke("compare", tmp_path / "out/last", tmp_path / "out/other", code=0)
    assert "q_bench/perception: no significant difference (" in compared.stdout
    outcome = done.stdout.splitlines()[-3:]
    assert outcome[0].startswith("A: ") and outcome[1] in compared.stdout.splitlines()
    assert outcome[2] == f"All tests: eyechart compare {tmp_path / 'out/last'} {tmp_path / 'out/other'}"


def test_the_second_runs_if_a_task_of_the_first_fails(http, tmp_path, monkeypatch):
    def reply(request):
        is_first = request.json["model"] == "a"
        return refusal(400, "out of memory") if is_first else json_response(completion("A"))

    http.expect_request(PATH, method="POST").respond_with_handler(reply)
    http.expect_request("/v1/models").respond_with_json({"data": [{"id": name} for name in "abc"]})
    server = ("--mini", "--limit", 4, "--base-url", http.url_for("/v1"), "--no-store", "--out", tmp_path / "out")
    done = invoke("run", "q_bench/perception", *models("a", "b", "c"), *server, code=1)
    assert [len(read_results(tmp_path / "out" / name).tasks) for name in "abc"] == [0, 1, 1]
    assert "A: b; B: c" in done.stdout and "Model 1 of 3: a" in done.stderr and "Model 3 of 3: c" in done.stderr
    done = invoke("run", "q_bench/perception", *models("a", "b"), *server, code=1)
    assert "The models cannot be compared: fewer than two models have results" in done.stdout


def test_the_second_runs_if_the_first_cannot_be_loaded(checkpoints, tmp_path):
    first, _, other = checkpoints
    (first / "model.safetensors").write_bytes(b"cut off")
    given = (*models(first, other), "--mini", "--limit", 2, "--out", tmp_path / "out")
    done = invoke("run", "q_bench/perception", *given, code=1)
    assert "cannot be loaded" in done.stderr
    assert [folder.name for folder in (tmp_path / "out").iterdir()] == ["other"]
    assert [task.model for task in read_results(tmp_path / "out/other").tasks] == [str(other)]


def test_models_of_one_name_get_folders_of_their_own_below_the_default_one(checkpoints, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    invoke("run", "q_bench/perception", *models(*checkpoints[:2]), "--mini", "--limit", 2, code=0)
    (run,) = (tmp_path / "eyechart_runs").iterdir()
    assert sorted(folder.name for folder in run.iterdir()) == ["1_last", "2_last"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (models("a", "b", "a"), "--model a is given 2 times"),
        (models("a", "./a/"), "--model a is given 2 times"),
        ((*models("a", "b"), "--name", "mine"), "--name mine is for one model, but 2 are given"),
        ((*models("a", "b"), "--serve", "vllm"), "--serve needs --model, given once"),
    ],
)
def test_what_several_models_cannot_have_is_refused(options, message, tmp_path):
    done = invoke("run", "q_bench/perception", "--mini", *options, "--out", tmp_path / "out", code=2)
    assert message in done.output and not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--model-arg", "top_p=0.9"], "--model-arg top_p has no effect at temperature 0; add a --temperature above 0"),
        (["--temperature", 0, "--model-arg", "sampling_seed=0"], "--model-arg sampling_seed has no effect"),
        (["--temperature", 0.7, "--model-arg", "top_p=0"], "top_p=0.0 is not allowed"),
        (["--repeats", 3], "--repeats 3 needs a --temperature above 0, such as 0.7"),
        (["--repeats", 2, "--temperature", 0], "--repeats 2 needs a --temperature above 0"),
    ],
)
def test_what_has_no_effect_or_cannot_be_is_refused(given, said, tmp_path):
    done = invoke("run", "q_bench/perception", "--mini", *given, "--out", tmp_path / "out", code=2)
    assert said in done.output and not (tmp_path / "out").exists()


def test_the_bundled_model_samples_its_replies(tmp_path):
    asked = ("--mini", "--limit", 12, "--temperature", 2, "--model-arg", "sampling_seed=1", "--model-arg", "top_p=0.9")
    done = invoke("run", "q_bench/perception", *asked, "--repeats", 3, "--no-store", "--out", tmp_path, code=0)
    (run,) = read_runs([tmp_path])
    (result,) = run.tasks.values()
    assert result.settings["model"]["sampling"] == {"temperature": 2.0, "top_p": 0.9, "seed": 1}
    assert (result.settings["repeats"], result.diagnostics["repeats"]["count"]) == (3, 3)
    assert "mean ± SD of 3 repeats" in " ".join(done.output.split())
    texts = [[row["text"] for row in run.predictions.to_pylist() if row["repeat"] == number] for number in (1, 2, 3)]
    assert len(set(map(tuple, texts))) == 3, "each repeat has replies of its own"
    assert "mean ± SD of 3 repeats" in (tmp_path / "report.html").read_text(encoding="utf-8")
