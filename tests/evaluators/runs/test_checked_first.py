"""What is checked for all tasks before a model is loaded: here its weights are damaged, and no error is about them."""

import shutil
from contextlib import suppress

import pytest

from eyechart.datasets_scripts import mini
from eyechart.evaluators import tiny_vlm
from tests.evaluators.command_line import invoke
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
    """Runs a command with the damaged model; returns the error, of exit code `code`, which is not about the model."""

    def run(*arguments, code):
        done = invoke("run", *arguments, "--model", damaged, "--out", tmp_path / "out", code=code)
        assert "damaged" not in done.output and not (tmp_path / "out").exists()
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
    lines = refused("q_bench/assessment", own, "--data-dir", f"kadis700k={tmp_path / 'kadis'}", code=1).splitlines()
    assert lines[0] == "eyechart: 2 problems with the data; nothing was run:"
    assert lines[1].startswith(f"- q_bench/assessment on kadis700k: {tmp_path / 'kadis' / 'mos.csv'}")
    assert "'mos'" in "".join(lines[1:-1])
    assert lines[-1].startswith(f"- photos on photos: {tmp_path / 'photos.csv'}: missing column 'mean' (given in")


def test_tasks_with_the_same_problem_share_a_line(refused, tmp_path):
    shown = refused("mmbench/en", "mmbench/cc", "--data-dir", tmp_path / "none", code=1)
    wrong = f"{tmp_path / 'none'}: data_dir is not an existing folder"
    assert shown == f"eyechart: mmbench/en on mmbench, mmbench/cc on mmbench: {wrong}\n"


def test_a_prompt_with_a_column_that_the_data_lack_is_refused(refused, own):
    own.write_text(TASK.replace("Rate it", "Rate {scene}"))
    assert "missing column 'scene'" in refused(own, code=2)


def test_the_damaged_model_is_noticed_if_all_else_is_right(own, damaged, tmp_path):
    done = invoke("run", own, "--model", damaged, "--out", tmp_path / "out", code=1)
    assert f"model '{damaged}' cannot be loaded" in done.output
    assert not (tmp_path / "out").exists(), "no empty folder looks like a run"


def test_a_device_that_is_not_there_is_one_line(tmp_path):
    import torch

    device = f"cuda:{torch.cuda.device_count()}"
    done = invoke("run", "q_bench/perception", "--limit", 1, "--device", device, "--out", tmp_path / "out", code=2)
    assert done.stderr.count("\n") == 1 and not (tmp_path / "out").exists()
    assert f"unknown device '{device}' on this machine" in done.stderr and "available: cpu" in done.stderr


def test_of_several_models_all_are_looked_for_before_the_first_is_loaded(tmp_path):
    models = ("--model", "eyechart/tiny-vlm", "--model", tmp_path / "no_model")
    done = invoke("run", "q_bench/perception", "--mini", "--limit", 1, *models, "--out", tmp_path / "out", code=1)
    assert done.output == f"eyechart: model folder '{tmp_path / 'no_model'}' does not exist.\n"


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
def test_a_model_runs_that_a_server_lists_or_takes_without_listing_it(http, tmp_path, listed, probes):
    http.expect_request(PATH, method="POST").respond_with_handler(lambda request: json_response(completion("A")))
    before = len(http.log)
    invoke("run", *served(http, listed), "--model", "llava", "--no-store", "--out", tmp_path / "out", code=0)
    assert [request.path for request, _ in http.log[before:]] == ["/v1/models", *[PATH] * (1 + probes)]


def test_a_missing_key_is_one_line(http, tmp_path):
    options = ("q_bench/perception", "--mini", "--limit", 1, "--model", "gpt-5", "--out", tmp_path / "out")
    done = invoke("run", *options, "--base-url", "https://api.openai.com/v1")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "https://api.openai.com/v1 needs an API key; set the environment variable OPENAI_API_KEY" in done.stderr
    # OpenRouter's answer without a key.
    for path in ("/v1/models", PATH):
        http.expect_request(path).respond_with_handler(lambda request: refusal(401, "No auth credentials found"))
    done = invoke("run", *options, "--base-url", http.url_for("/v1"))
    assert (done.exit_code, done.stderr.count("\n")) == (1, 1)
    assert "No auth credentials found" in done.stderr and "environment variable OPENAI_API_KEY" in done.stderr


def test_a_server_that_is_not_there_is_an_error_unless_answers_are_stored(http, tmp_path):
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


def test_a_full_disk_is_noticed_first(disk, tmp_path):
    with (disk / "filler").open("wb", buffering=0) as filler, suppress(OSError):
        while filler.write(bytes(4096)):
            pass
    done = invoke("run", "q_bench/perception", "--limit", 1, "--out", disk / "out", code=1)
    assert "the results folder" in done.output and "free disk space" in done.output
    assert "loading" not in done.output


def test_a_download_that_does_not_fit_is_not_begun(disk, refused, monkeypatch):
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", disk / "cache")
    shown = refused("q_bench/perception", "q_bench/perception_pairs", "q_bench/description", code=1)
    assert "the download of llvisionqa, lldescribe needs about 4.8 GB of disk space" in shown
    assert f"{disk / 'cache'} has 0.0 GB" in shown
