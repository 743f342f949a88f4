"""A model that is named runs on the real data, unless synthetic data is asked for."""

import shutil
from pathlib import Path

import pytest

from eyechart.datasets_scripts import by_hand
from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.evaluation.data import DataRequest
from eyechart.evaluators.results.results_file import read_results
from eyechart.evaluators.runs.task_runs import check_data, make_task_runs
from eyechart.evaluators.tasks.q_bench import DATABASES
from tests.evaluators.command_line import invoke

NAMED = ("--model", "acme/vlm")
SERVER = ("--base-url", "http://127.0.0.1:9/v1", "--model", "m")
BY_HAND = ("spaq", "live_fb", "live_itw", "cgiqa6k", "agiqa3k")


def run(*arguments, code=2):
    return invoke(*arguments, code=code).output


@pytest.mark.parametrize("model", [NAMED, SERVER], ids=lambda given: given[0])
def test_all_that_has_to_be_got_by_hand_is_named_at_once_before_anything_runs(tmp_path, model):
    shown = run("run", "q_bench/assessment", *model, "--out", tmp_path / "out")
    assert f"5 datasets cannot be downloaded, and --data-dir does not name the folder: {', '.join(BY_HAND)}\n" in shown
    for name in BY_HAND:
        how = by_hand(name)
        assert "https://" in how and "data_dir" in how
        assert f"\n- {name} (for q_bench/assessment): {how}\n" in shown
    assert "--data-dir spaq=PATH. The task then runs only on datasets with a named folder.\n" in shown
    assert "To run only on the other datasets: --dataset koniq10k --dataset kadid10k\n" in shown
    assert "use --mini: it runs on synthetic demo data" in shown
    assert not (tmp_path / "out").exists()


def test_a_data_set_of_several_tasks_is_named_once(tmp_path):
    shown = run("run", "aes_bench", *NAMED, "--out", tmp_path / "out")
    assert "1 dataset cannot be downloaded, and --data-dir does not name the folder: aesbench\n" in shown
    assert shown.count("EAPD_release.zip") == 1 and "To run only on the other" not in shown
    shown = run("run", "q_bench/assessment", "--dataset", "spaq", "--dataset", "live_fb", *NAMED)
    assert "2 datasets cannot be downloaded, and --data-dir does not name the folder: spaq, live_fb\n" in shown


def test_what_is_chosen_can_be_had():
    check_data(make_task_runs(["q_bench/assessment"], datasets=["koniq10k", "kadid10k"]))
    check_data(make_task_runs(["q_bench/assessment"], data_dirs=[f"{name}=x" for name in DATABASES]))
    check_data(make_task_runs(["q_bench/assessment"], data_dirs=["spaq=x"]))
    check_data(make_task_runs([], DataRequest(is_mini=True)))
    in_repository = {"databases": ["kadis700k", "SQAD", "mixed"]}
    check_data(make_task_runs(["two_afc/coarse"], DataRequest(options=in_repository)))
    for options in ({}, {"databases": ["kadis700k", "CSIQ"]}):
        with pytest.raises(UsageError, match=r"two_afc \(for two_afc/coarse\): To get the label files"):
            check_data(make_task_runs(["two_afc/coarse"], DataRequest(options=options)))
    # What pairs are drawn from may be downloaded.
    check_data(make_task_runs(["two_afc/coarse"], DataRequest(options={"source": "koniq10k"})))
    with pytest.raises(UsageError, match="To get SPAQ"):
        check_data(make_task_runs(["two_afc/coarse"], DataRequest(options={"source": "spaq"})))
    # Precomputed predictions need the pairs alone, which the label files give.
    check_data(make_task_runs(["two_afc/fine_mos"], DataRequest(images="skip")))


def test_several_data_sets_may_be_named():
    task_runs = make_task_runs(["q_bench/assessment"], DataRequest(is_mini=True), datasets=["koniq10k", "kadis700k"])
    assert [(one.dataset, one.data.is_mini) for one in task_runs] == [("koniq10k", True), ("kadis700k", True)]
    task_runs = make_task_runs([], datasets=["llvisionqa", "koniq10k"])
    chosen = {task_run.task.name: task_run.dataset for task_run in task_runs}
    assert chosen == {"q_bench/perception": "llvisionqa", "q_bench/assessment": "koniq10k"}


def test_a_folder_is_never_taken_for_synthetic_data():
    names = ["q_bench/assessment", "q_bench/perception"]
    task_runs = make_task_runs(names, DataRequest(is_mini=True), data_dirs=["koniq10k=x"])
    data = [(task_run.dataset, task_run.data.data_dir, task_run.data.is_mini) for task_run in task_runs]
    assert data == [("koniq10k", "x", False), ("llvisionqa", None, True)]


@pytest.mark.parametrize("command", [("run", *NAMED), ("run",), ("score", "--predictions", "answers.jsonl")], ids=str)
def test_synthetic_data_and_a_folder_for_the_same_are_refused(command, tmp_path):
    name, *more = command
    shown = run(name, "q_bench/perception", *more, "--mini", "--data-dir", tmp_path)
    assert "--mini has no effect on llvisionqa" in shown


def test_own_data_are_looked_for_before_a_model_is_loaded(tmp_path):
    shutil.copy(Path(__file__).parents[3] / "docs/examples/pairs.yaml", tmp_path)
    shown = run("run", tmp_path / "pairs.yaml", *NAMED, "--out", tmp_path / "out", code=1)
    assert "my_pairs.jsonl: the file does not exist" in shown and not (tmp_path / "out").exists()
    shown = run("run", tmp_path / "pairs.yaml", "--mini")
    assert "--mini has no effect on my_pairs" in shown


def test_what_can_be_downloaded_and_cannot_be_reached_fails_with_what_to_get(tmp_path):
    answers = tmp_path / "answers.jsonl"
    answers.write_text('{"id": "dev-1.jpg", "text": "A"}\n')
    shown = run("score", "q_bench/perception", "--predictions", answers, "--out", tmp_path / "out", code=1)
    assert "Download these files from https://huggingface.co/datasets/teowu/LLVisionQA-QBench" in shown
    assert "images_llvisionqa.tar, llvisionqa_dev.json, llvisionqa_test.json" in shown and "data_dir" in shown
    (failed,) = read_results(tmp_path / "out").failed
    assert "cannot be downloaded (OfflineModeIsEnabled" in failed.error


def test_scored_answers_are_compared_with_the_real_data_too(tmp_path):
    (tmp_path / "answers.csv").write_text("image,score\na.jpg,1\n")
    shown = run("score", "q_bench/assessment", "--predictions", tmp_path / "answers.csv", "--out", tmp_path / "out")
    assert "5 datasets cannot be downloaded" in shown
