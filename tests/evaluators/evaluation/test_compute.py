"""What `compute` takes, returns and refuses, by the same checks as `eyechart run`."""

import pickle
import shutil
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import datasets
import evaluate
import numpy as np
import pytest
from datasets import Dataset
from hypothesis import given
from hypothesis import strategies as st
from transformers import pipeline

from eyechart import evaluators
from eyechart.datasets_scripts import mini
from eyechart.datasets_scripts.common.errors import DataError, MiniDataWarning, MissingFileError, UsageError
from eyechart.datasets_scripts.export import export
from eyechart.evaluators import evaluator, tiny_vlm
from eyechart.evaluators.commands.tasks import example_requests, first_row
from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.evaluation.evaluator import Evaluator, list_suites, subtasks, suite_folder
from eyechart.evaluators.evaluation.loop import draw_sample, systematic_rows
from eyechart.evaluators.results.finished_runs import read_runs
from eyechart.evaluators.tasks import TASKS, find_tasks, get_task
from eyechart.hub_cards.leaderboard.boards import find_board
from eyechart.hub_cards.leaderboard.build import misfits
from eyechart.metrics.scoring.errors import LeftOutWarning
from tests.evaluators.command_line import invoke
from tests.evaluators.running import scores_again
from tests.evaluators.tasks.doors import write_questions


def always_b(messages):
    return "B"


def test_the_result_is_a_dict_that_shows_a_small_table():
    with pytest.warns(MiniDataWarning) as warned:
        computed = evaluator("q_bench/perception").compute(always_b, "mini", limit=20)
    assert [warning.filename for warning in warned] == [__file__]
    assert isinstance(computed, dict) and dict(computed)["accuracy"] == computed["accuracy"]
    assert computed["n"] == 20 and computed["limit"] == 20 and computed["total_time_in_seconds"] > 0
    assert repr(pickle.loads(pickle.dumps(computed))) == repr(computed)
    title, head, first, *_ = repr(computed).splitlines()
    assert title == "q_bench/perception on llvisionqa (dev, synthetic)"
    assert head.split("  ")[0] == "score" and first.startswith("accuracy ") and first.endswith("  20")
    assert f"{100 * computed['accuracy']:.2f} %" in first
    assert max(map(len, repr(computed).splitlines())) <= 80


def test_bad_items_can_be_left_out(questions):
    bad = questions.map(lambda row: {"images": [] if row["id"] in ("q1", "q2") else row["images"]})
    bad = bad.map(lambda row: {"answer": "" if row["id"] == "q0" else row["answer"]})
    with pytest.raises(DataError, match="'q1'"):
        evaluator("q_bench/perception").compute(always_b, bad)
    with pytest.warns(LeftOutWarning, match="2 items left out; the first: 'q1'") as warned:
        assert evaluator("q_bench/perception").compute(always_b, bad, skip_bad=True)["n"] == 3
    assert [warning.filename for warning in warned] == [__file__]


class Answers(evaluate.Metric):
    """A metric that gives back what it is given."""

    def _info(self):
        columns = ("predictions", "references", "questions")
        features = datasets.Features(dict.fromkeys(columns, datasets.Value("string")))
        return evaluate.MetricInfo(description="", citation="", features=features)

    def _compute(self, **columns):
        return columns


def test_another_metric_gets_the_replies_to_public_questions(questions):
    private = questions.map(lambda row: {"answer": "" if row["id"] == "q0" else row["answer"]})
    task = evaluator("q_bench/perception")
    found = task.compute(always_b, private, metric=Answers())
    assert found["predictions"] == ["B"] * 5 and found["references"] == [*"BCABC"] and "accuracy" not in found
    assert found["questions"] == private["question"][1:]
    with pytest.raises(UsageError, match="95 % intervals themselves"):
        task.compute(always_b, private, strategy="simplest")


def test_what_own_data_lack_is_named(tmp_path):
    write_questions(tmp_path)
    example = Path(__file__).parents[3] / "docs" / "examples" / "circular_tsv.yaml"
    compute = partial(evaluator(shutil.copy(example, tmp_path)).compute, always_b)
    with pytest.raises(UsageError, match="dataset 'photos' of my_questions; available: my_questions"):
        compute(subset="photos")
    with pytest.raises(UsageError, match="unknown split 'tset' of my_questions; did you mean 'test'"):
        compute(split="tset")
    with pytest.raises(UsageError, match="'mini' is not available for your own task my_questions; leave it out"):
        compute(data="mini")


def test_a_mini_release_is_told_as_one_wherever_its_name_comes_from(tmp_path: Path) -> None:
    task, folder = get_task("mmbench/cc"), mini.release("mmbench")
    copied = Path(shutil.copytree(folder, tmp_path / "copied"))
    told = [load_data(task, DataRequest(data_dir=place, images="skip")).is_mini for place in (folder, copied)]
    assert told == [True, False] and load_data(task, DataRequest(is_mini=True, images="skip")).is_mini
    with pytest.raises(UsageError, match=r"unknown dataset 'me/photos' after 'mini:'"):
        load_data(get_task("q_bench/perception"), DataRequest("mini:me/photos"))


def test_compute_takes_the_folder_of_a_release_or_an_export_as_data_dir_does(tmp_path: Path) -> None:
    perception, folder = evaluator("Q-Bench/perception"), shutil.copytree(mini.release("llvisionqa"), tmp_path / "real")
    for data in (folder, str(folder)):
        scores = perception.compute(lambda messages: "A", data, limit=4)
        assert (scores["n"], scores["is_mini"]) == (4, False)
    koniq = mini.release("koniq10k")
    loaded = load_data(get_task("q_bench/assessment"), DataRequest(f"koniq10k={koniq}", images="skip"))
    assert (loaded.name, loaded.source) == ("koniq10k", str(koniq))
    # A folder without the release's files names them; `datasets` would make it a split "train".
    (tmp_path / "photos").mkdir()
    with pytest.raises(MissingFileError, match="photos: "):
        perception.compute(lambda messages: "A", tmp_path / "photos")
    exported = tmp_path / "exported"
    export("llvisionqa", out=exported, data_dir=folder)
    loaded = load_data(get_task("q_bench/perception"), DataRequest(str(exported)))
    assert len(loaded.dataset) == 180 and loaded.source == str(exported)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_the_default_is_what_a_run_asks(task):
    by_setting = example_requests(task)
    shown = list(by_setting.values())
    protocol = Evaluator(task).protocol
    assert shown[0] == protocol.requests(first_row(task))[0].rendered()
    assert len(set(shown)) == len(shown)
    n_images = 1 + (task.name.endswith(("pairs", "pair")) or task.name.startswith("two_afc"))
    for setting, text in by_setting.items():
        assert text.count("<image>") == (0 if setting.startswith("blind") else n_images)


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=60), st.data())
def test_each_stratum_has_its_share_to_within_one_item(strata: list[str], data: Any) -> None:
    n = data.draw(st.integers(1, len(strata)))
    rows = systematic_rows([(name,) for name in strata], n, np.random.default_rng(data.draw(st.integers(0, 99))))
    assert len(set(rows)) == n and rows == sorted(rows)
    drawn, all_of = Counter(strata[row] for row in rows), Counter(strata)
    assert all(abs(drawn[name] - n * count / len(strata)) < 1 + 1e-9 for name, count in all_of.items())


def test_every_item_has_the_same_chance() -> None:
    strata = [("a",)] * 7 + [("b",)] * 4
    found = Counter(row for seed in range(4000) for row in systematic_rows(strata, 3, np.random.default_rng(seed)))
    assert np.allclose([found[row] / 4000 for row in range(11)], 3 / 11, atol=0.03)


def test_a_sample_of_data() -> None:
    data = Dataset.from_dict({"id": [str(row) for row in range(50)], "kind": ["x"] * 40 + ["y"] * 10})
    drawn, about = draw_sample(data, ("kind", "not there"), 10, 0)
    assert about == {"n": 10, "of": 50, "seed": 0, "strata": ["kind"]} and drawn["kind"][:].count("x") == 8
    ids = [draw_sample(data, ("kind",), 10, seed)[0]["id"][:] for seed in (0, 0, 1)]
    assert drawn["id"][:] == ids[0] == ids[1] != ids[2]
    for n in (None, 50, 70):
        assert draw_sample(data, (), n, 0) == (data, {})
    with pytest.raises(UsageError, match="limit=3 and sample=4 are both given"):
        DataRequest(limit=3, sample=4)
    assert draw_sample(data, ("not there",), DataRequest(sample=1).sample, 0)[1]["strata"] == []


def test_a_run_on_a_sample_says_so_and_never_has_the_benchmarks_result(tmp_path: Path) -> None:
    done = invoke("run", "q_bench/perception", "--mini", "--sample", "20", "--out", tmp_path, columns=220, code=0)
    ((key, result),) = (run := read_runs([tmp_path])[0]).tasks.items()
    about = result.settings["sample"]
    assert (about["n"], about["of"], about["seed"]) == (20, result.settings["data"]["rows"], 0)
    assert f"Sample of 20 from {about['of']} items" in done.output
    assert " items (random sample)" in done.output.splitlines()[0]
    answers = run.answers(key)
    assert answers is not None and len(answers.items()) == 20
    assert scores_again(tmp_path)["accuracy_ci95"] == result.scores["accuracy_ci95"]
    board = find_board(result.task, result.dataset, result.split)
    assert any("sample" in reason for reason in misfits(board, result))


@pytest.fixture(scope="module")
def pipe():
    return pipeline("image-text-to-text", model=str(tiny_vlm.folder()))


def test_evaluate_finds_our_evaluators_once_they_are_registered(pipe):
    evaluators.register()
    evaluators.register()
    for name in evaluators.list_tasks():
        assert isinstance(evaluate.evaluator(name), type(evaluators.evaluator(name)))
    assert type(evaluate.evaluator("image-classification")).__name__ == "ImageClassificationEvaluator"
    with pytest.raises(KeyError, match="Unknown task"):
        evaluate.evaluator("q_bench/percepton")


def test_multiple_choice_goes_by_the_pipelines_name_too(pipe, questions):
    evaluators.register()
    own = evaluate.evaluator("image-text-to-text").compute(pipe, questions)
    assert own["n"] == len(questions)
    assert own["accuracy"] == evaluators.evaluator("q_bench/perception").compute(pipe, questions)["accuracy"]


@pytest.mark.parametrize("name", ["q_bench", "mmbench", "ql_bench", "aes_bench", "two_afc"])
def test_every_suite_loads_and_lists_its_tasks(name):
    assert name in list_suites() and len(list_suites()) == 5
    with pytest.raises(UsageError, match=f"did you mean '{name}'"):
        suite_folder(f"{name}s")
    suite = evaluate.EvaluationSuite.load(str(suite_folder(name)))
    # A model that is named runs on the official releases.
    assert [(task.task_type, task.data, task.subset, task.split) for task in suite.suite] == [
        (task.name, dataset, task.data.config, task.data.splits[0])
        for task in find_tasks(name)
        for dataset in task.data.default_datasets
    ]


@pytest.mark.slow
def test_a_suite_runs_on_a_pipeline(pipe):
    suite = evaluate.EvaluationSuite.load(str(suite_folder("ql_bench")))
    suite.suite = subtasks("ql_bench", is_mini=True)[1:]
    with pytest.warns(MiniDataWarning):
        results = suite.run(pipe)
    assert [result["task_name"] for result in results] == ["mini:llsavisionqa/pair"]
    assert all(result["is_mini"] for result in results)
    assert all(0 <= result["score_sa"] <= 100 for result in results)
