"""Several models in one command."""

import gc
import shutil

import pytest

from eyechart.evaluators import tiny_vlm
from eyechart.evaluators.backends.local import loading
from eyechart.evaluators.results.results_file import read_results
from tests.evaluators.command_line import invoke
from tests.evaluators.scripted_server import PATH, completion, json_response, refusal


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
