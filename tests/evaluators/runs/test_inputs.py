"""What is checked for all tasks before a model is loaded: here its weights are damaged, and no error is about them."""

import json
import shutil
import tarfile
from contextlib import suppress
from io import BytesIO
from pathlib import Path

import pytest

from eyechart.datasets_scripts import by_hand, load_dataset, mini
from eyechart.datasets_scripts.common.errors import MiniDataWarning, MissingFileError, UsageError
from eyechart.datasets_scripts.loading import prepared_dataset
from eyechart.evaluators import evaluator, tiny_vlm
from eyechart.evaluators.evaluation.data import DataRequest
from eyechart.evaluators.evaluation.options import RunOptions
from eyechart.evaluators.results.results_file import collect, read_results
from eyechart.evaluators.runs.run import write_run
from eyechart.evaluators.runs.screen import RunProgress
from eyechart.evaluators.runs.task_runs import check_data, make_task_runs
from eyechart.evaluators.tasks import TASKS
from eyechart.evaluators.tasks.q_bench import DATABASES
from tests.evaluators.command_line import invoke
from tests.evaluators.finished_runs import evaluation
from tests.evaluators.scripted_server import PATH, completion, json_response, refusal

TASK = """\
name: photos
protocol: quality_assessment
data: {path: photos.csv}
columns: {image: file, quality: mos}
prompt: '{image} Rate it.'
prefill: It is
word_pairs: [good/poor]
"""


@pytest.fixture
def damaged(tmp_path):
    """A model whose weights cannot be loaded."""
    model = shutil.copytree(tiny_vlm.folder(), tmp_path / "damaged")
    (model / "model.safetensors").write_bytes(b"damaged")
    return model


@pytest.fixture
def refused(damaged, tmp_path):
    """Runs a command with the damaged model; returns the error."""

    def run(*arguments):
        done = invoke("run", *arguments, "--model", damaged, "--out", tmp_path / "out", code=1)
        assert not (tmp_path / "out").exists(), "no empty folder looks like a run"
        return done.output

    return run


@pytest.fixture
def own(tmp_path):
    """A task file for one photograph."""
    shutil.copy(next(mini.release("kadis700k").rglob("*.png")), tmp_path / "a.png")
    (tmp_path / "photos.csv").write_text("file,mos\na.png,3\n")
    path = tmp_path / "photos.yaml"
    path.write_text(TASK)
    return path


def test_all_problems_with_the_data_of_all_tasks_are_said_at_once(refused, own, tmp_path):
    (tmp_path / "kadis").mkdir()
    (tmp_path / "kadis" / "mos.csv").write_text("image,score\na.png,1\n")
    own.write_text(TASK.replace("quality: mos", "quality: mean"))
    lines = refused("q_bench/assessment", own, "--data-dir", f"kadis700k={tmp_path / 'kadis'}").splitlines()
    assert lines[0] == "eyechart: 2 problems with the data; nothing was run:"
    assert lines[1].startswith(f"- q_bench/assessment on kadis700k: {tmp_path / 'kadis' / 'mos.csv'}")
    assert "image,mos" in "".join(lines[1:-1])
    assert lines[-1].startswith(f"- photos on photos: {tmp_path / 'photos.csv'}: missing column 'mean' (given in")


def test_the_damaged_model_is_noticed_if_all_else_is_right(refused, own, damaged):
    assert f"model '{damaged}' cannot be loaded" in refused(own)


def test_devices_models_and_the_disk_are_looked_at_before_a_model_is_loaded(disk, tmp_path):
    task = ("q_bench/perception", "--mini", "--limit", 1, "--out")
    shown = invoke("run", *task, tmp_path / "out", "--device", "cuda:99", code=2).stderr
    assert shown.count("\n") == 1 and "unknown device 'cuda:99' on this machine" in shown
    models = ("--model", "eyechart/tiny-vlm", "--model", tmp_path / "no_model")
    assert "no_model' does not exist" in invoke("run", *task, tmp_path / "out", *models, code=1).output
    assert not (tmp_path / "out").exists()
    with (disk / "filler").open("wb", buffering=0) as filler, suppress(OSError):
        while filler.write(bytes(4096)):
            pass
    shown = invoke("run", *task, disk / "out", code=1).output
    assert "the results folder" in shown and "free disk space" in shown and "loading" not in shown


def served(http, *names):
    listed = {"object": "list", "data": [{"id": name, "object": "model"} for name in names]}
    http.expect_request("/v1/models").respond_with_json(listed)
    return ("q_bench/perception", "--mini", "--limit", "1", "--base-url", http.url_for("/v1"))


def test_a_model_that_a_server_does_not_have_is_answered_with_what_it_serves(http, tmp_path):
    # vLLM's answer, https://github.com/vllm-project/vllm/issues/13275
    message = "The model `qwen` does not exist."
    http.expect_request(PATH, method="POST").respond_with_handler(lambda request: refusal(404, message))
    done = invoke("run", *served(http, "qwen-vl", "llava"), "--model", "qwen", "--out", tmp_path / "out", code=2)
    assert not (tmp_path / "out").exists()
    url = http.url_for("/v1")
    assert done.output == (
        f"eyechart: unknown model 'qwen' on {url}, which serves 2; did you mean 'qwen-vl'? Available: qwen-vl, llava\n"
    )
    assert [request.path for request, _ in http.log[-2:]] == ["/v1/models", PATH], "one short request confirms it"


@pytest.mark.parametrize(("listed", "probes"), [("llava:latest", 1), ("llava", 0)])
def test_a_model_runs_that_a_server_lists_or_takes_without_listing_it(http, tmp_path, no_report, listed, probes):
    http.expect_request(PATH, method="POST").respond_with_handler(lambda request: json_response(completion("A")))
    before = len(http.log)
    invoke("run", *served(http, listed), "--model", "llava", "--no-store", "--out", tmp_path / "out", code=0)
    assert [request.path for request, _ in http.log[before:]] == ["/v1/models", *[PATH] * (1 + probes)]


def test_a_missing_key_is_one_line(http, tmp_path):
    options = ("q_bench/perception", "--mini", "--limit", 1, "--model", "gpt-5", "--out", tmp_path / "out")
    done = invoke("run", *options, "--base-url", "https://api.openai.com/v1", code=2)
    assert "https://api.openai.com/v1 needs an API key; set the environment variable OPENAI_API_KEY" in done.stderr
    # OpenRouter's answer without a key.
    for path in ("/v1/models", PATH):
        http.expect_request(path).respond_with_handler(lambda request: refusal(401, "No auth credentials found"))
    done = invoke("run", *options, "--base-url", http.url_for("/v1"), code=1)
    assert "No auth credentials found" in done.stderr and "environment variable OPENAI_API_KEY" in done.stderr


def test_a_server_that_is_not_there_is_an_error_unless_answers_are_stored(http, tmp_path, no_report):
    http.expect_request(PATH, method="POST").respond_with_handler(lambda request: json_response(completion("A")))
    options = [*served(http, "llava"), "--model", "llava"]
    invoke("run", *options, "--out", tmp_path / "first", code=0)
    options[options.index("--base-url") + 1] = "http://127.0.0.1:9/v1"
    done = invoke("run", *options, "--no-store", "--out", tmp_path / "out", code=1)
    assert "cannot reach a server at http://127.0.0.1:9/v1" in done.output
    assert not (tmp_path / "out").exists()
    done = invoke("run", *options, "--out", tmp_path / "out")
    assert "warning: cannot reach a server at http://127.0.0.1:9/v1" in done.output
    assert "Only stored answers can be used." in done.output


def test_a_download_that_does_not_fit_is_not_begun(disk, refused, monkeypatch):
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", disk / "cache")
    shown = refused("q_bench/perception", "q_bench/perception_pairs", "q_bench/description")
    assert "the download of llvisionqa, lldescribe needs about 4.8 GB of disk space" in shown
    assert f"{disk / 'cache'} has 0.0 GB" in shown


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


def test_it_is_downloaded_and_told_how_much_of_the_official_data_a_score_is_of(official, monkeypatch, tmp_path):
    steps = []
    monkeypatch.setattr(RunProgress, "describe", lambda progress, step: steps.append(step))
    lines = [json.dumps({"id": f"dev-mini_dev_{number:04d}.png", "text": "A"}) for number in range(ROWS)]
    (tmp_path / "answers.jsonl").write_text("\n".join(lines))
    given = ("--predictions", tmp_path / "answers.jsonl", "--out", tmp_path / "out")
    shown = invoke("score", "q_bench/perception", *given, code=0).output
    assert steps == ["loading llvisionqa"]
    assert "on llvisionqa (dev), 5 of 1,495 official items" in shown
    (task,) = read_results(tmp_path / "out").tasks
    told = {"source": "official release", "config": None, "options": {}, "rows": ROWS, "is_mini": False}
    revision = task.settings["data"].pop("revision")
    assert (tmp_path / "hub" / "datasets--teowu--LLVisionQA-QBench" / "snapshots" / revision).is_dir()
    assert task.settings["data"] == told
    # Precomputed predictions are scored without images: the report shows none, and nothing is downloaded.
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "is no longer in the cache" in page


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


NAMED = ("--model", "acme/vlm")
BY_HAND = ("cgiqa6k", "agiqa3k")


def run(*arguments, code=2):
    return invoke(*arguments, code=code).output


def test_all_that_has_to_be_got_by_hand_is_named_at_once_before_anything_runs(tmp_path):
    shown = run("run", "q_bench/assessment", *NAMED, "--out", tmp_path / "out")
    assert f"2 datasets cannot be downloaded, and --data-dir does not name the folder: {', '.join(BY_HAND)}\n" in shown
    for name in BY_HAND:
        how = by_hand(name)
        assert "https://" in how and "data_dir" in how
        assert f"\n- {name} (for q_bench/assessment): {how}\n" in shown
    assert "--data-dir cgiqa6k=PATH. The task then runs only on datasets with a named folder.\n" in shown
    others = [name for name in DATABASES if name not in BY_HAND]
    assert f"To run only on the other datasets: {' '.join(f'--dataset {name}' for name in others)}\n" in shown
    assert "use --mini: it runs on synthetic demo data" in shown
    assert not (tmp_path / "out").exists()


def test_what_is_chosen_can_be_had():
    check_data(make_task_runs(["q_bench/assessment"], datasets=["koniq10k", "kadid10k"]))
    check_data(make_task_runs(["q_bench/assessment"], data_dirs=["spaq=x"]))
    check_data(make_task_runs([], DataRequest(is_mini=True)))
    in_repository = {"databases": ["kadis700k", "SQAD", "mixed"]}
    check_data(make_task_runs(["two_afc/coarse"], DataRequest(options=in_repository)))
    for options in ({}, {"databases": ["kadis700k", "CSIQ"]}):
        with pytest.raises(UsageError, match=r"two_afc \(for two_afc/coarse\): To get the label files"):
            check_data(make_task_runs(["two_afc/coarse"], DataRequest(options=options)))
    # Precomputed predictions need the pairs alone, which the label files give.
    check_data(make_task_runs(["two_afc/fine_mos"], DataRequest(images="skip")))


def test_several_data_sets_may_be_named_and_a_folder_is_never_taken_for_synthetic_data(tmp_path):
    task_runs = make_task_runs(["q_bench/assessment"], DataRequest(is_mini=True), datasets=["koniq10k", "kadis700k"])
    assert [(one.dataset, one.data.is_mini) for one in task_runs] == [("koniq10k", True), ("kadis700k", True)]
    task_runs = make_task_runs([], datasets=["llvisionqa", "koniq10k"])
    chosen = {task_run.task.name: task_run.dataset for task_run in task_runs}
    assert chosen == {"q_bench/perception": "llvisionqa", "q_bench/assessment": "koniq10k"}
    names = ["q_bench/assessment", "q_bench/perception"]
    task_runs = make_task_runs(names, DataRequest(is_mini=True), data_dirs=["koniq10k=x"])
    data = [(task_run.dataset, task_run.data.data_dir, task_run.data.is_mini) for task_run in task_runs]
    assert data == [("koniq10k", "x", False), ("llvisionqa", None, True)]
    with_folder = run("run", "q_bench/perception", "--mini", "--data-dir", tmp_path)
    assert "--mini has no effect on llvisionqa: --data-dir or a task file names the data" in with_folder
    assert "more/r_bench: --data-dir or a task file names the data; leave it out" in run("run", "more", "--mini")


def test_what_can_be_downloaded_and_cannot_be_reached_fails_with_what_to_get(tmp_path):
    answers = tmp_path / "answers.jsonl"
    answers.write_text('{"id": "dev-1.jpg", "text": "A"}\n')
    shown = run("score", "q_bench/perception", "--predictions", answers, "--out", tmp_path / "out", code=1)
    assert "Download these files from https://huggingface.co/datasets/teowu/LLVisionQA-QBench" in shown
    assert "images_llvisionqa.tar, llvisionqa_dev.json, llvisionqa_test.json" in shown and "data_dir" in shown
    (failed,) = read_results(tmp_path / "out").failed
    assert "cannot be downloaded (OfflineModeIsEnabled" in failed.error


TWO = ["q_bench/perception", "mmbench/en"]
PAIRS = Path(__file__).parents[3] / "docs/examples/pairs.yaml"


def test_a_setting_goes_to_the_tasks_on_which_it_has_an_effect():
    names = ["q_bench/perception", "q_bench/assessment", "aes_bench/interpretation"]
    settings = {"inference": "closed-set", "max_new_tokens": 64}
    with pytest.raises(UsageError, match=r"inference: .*'logits' or 'top-token'"):
        make_task_runs(names, options=RunOptions(settings))
    perception, interpretation = make_task_runs([names[0], names[2]], options=RunOptions(settings))
    # Where the options' likelihoods decide, nothing is generated.
    assert perception.options.settings == {"inference": "closed-set"}
    assert interpretation.options.settings == {"max_new_tokens": 64}


Q_BENCH = [task.name for task in TASKS if task.name.startswith("q_bench/")]
MMBENCH = [task.name for task in TASKS if task.name.startswith("mmbench/")]


@pytest.mark.parametrize(
    ("names", "tasks"),
    [
        (["q_bench", "mmbench/en"], [*Q_BENCH, "mmbench/en"]),
        (["*/EN", "mmbench"], ["mmbench/en", *MMBENCH[1:]]),
        (["two_afc, q_bench/assessment", "2AFC"], [task.name for task in TASKS[-4:]] + ["q_bench/assessment"]),
        (["all", "q_bench"], [task.name for task in TASKS]),
        (["qbench"], Q_BENCH),
    ],
)
def test_tasks_are_named_by_paper_wildcard_and_list_each_once(names, tasks):
    assert list(dict.fromkeys(one.task.name for one in make_task_runs(names, DataRequest(is_mini=True)))) == tasks


@pytest.mark.parametrize(
    ("names", "chosen", "tasks"),
    [
        ([], {"request": DataRequest(split="dev")}, [task.name for task in TASKS if "dev" in task.data.splits]),
        (["mmbench"], {"request": DataRequest(split="test")}, [name for name in MMBENCH if name != "mmbench/cc"]),
        (["q_bench"], {"datasets": ["koniq10k"]}, ["q_bench/assessment"]),
    ],
)
def test_of_several_tasks_those_run_that_have_the_split_or_dataset(names, chosen, tasks):
    assert [task_run.task.name for task_run in make_task_runs(names, **chosen)] == tasks


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("qbenhc", "unknown task 'qbenhc'; did you mean 'q_bench'?"),
        ("q_bench/x*", "unknown task 'q_bench/x.'.*available: q_bench, mmbench, .*`eyechart tasks`"),
        ("llvisionqa", "'llvisionqa' is a dataset, not a task; to run the tasks on it, use --dataset llvisionqa"),
    ],
)
def test_a_name_that_means_no_task_is_refused(name, message):
    with pytest.raises(UsageError, match=message):
        make_task_runs([name])


def test_a_task_runs_once_on_the_same_data(tmp_path):
    shutil.copy(PAIRS, tmp_path)
    assert len(make_task_runs(["mmbench/en", "mmbench/en"])) == 1
    with pytest.raises(UsageError, match="my_pairs on my_pairs is listed several times"):
        make_task_runs([str(PAIRS), str(tmp_path / PAIRS.name)])


@pytest.mark.parametrize(
    ("names", "options", "message"),
    [
        (["q_bench/assessment"], {"options": RunOptions({"max_new_tokens": 4})}, "max_new_tokens=4 has no effect"),
        ([str(PAIRS)], {"request": DataRequest(options={"version": 1})}, "your own data, which have no settings"),
        (TWO, {"request": DataRequest(options={"version": 1})}, "several: llvisionqa, mmbench"),
        ([str(PAIRS)], {"options": RunOptions(as_published=True)}, "as_published is only for tasks from papers"),
    ],
)
def test_plans_that_cannot_be_meant_are_refused(names, options, message):
    with pytest.raises(UsageError, match=message):
        make_task_runs(names, **options)


@pytest.mark.parametrize("name", ["llvisionqa", "../outside", "a b", "/root"])
def test_names_that_cannot_name_results_are_refused(tmp_path, name):
    shutil.copy(PAIRS, tmp_path)
    path = tmp_path / PAIRS.name
    lines = path.read_text().splitlines()
    path.write_text("\n".join([f"name: {name}", *(line for line in lines if not line.startswith("name:"))]))
    with pytest.raises(UsageError, match=r"pairs\.yaml: .*(choose another|is not allowed)"):
        make_task_runs([str(path)])


def test_files_of_a_run_that_was_here_before_are_removed(tmp_path):
    def write(previous=None, **files):
        contents = {f"{name}.json": content for name, content in files.items()}
        found = evaluation(files=list(contents), contents=contents)
        write_run(tmp_path / "run", collect([found], [], "2026-01-01"), previous)
        return read_results(tmp_path / "run")

    own = tmp_path / "run" / "q_bench" / "assessment" / "kadis700k"
    earlier = write(answers=b"old", more=b"old")
    (own / "notes.txt").write_text("mine")
    write(earlier, answers=b"new")
    assert {path.name: path.read_bytes() for path in own.iterdir()} == {"answers.json": b"new", "notes.txt": b"mine"}
