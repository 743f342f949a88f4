import evaluate
import pytest
from transformers import pipeline

from eyechart import evaluators
from eyechart.datasets_scripts.common.errors import MiniDataWarning, UsageError
from eyechart.evaluators import tiny_vlm
from eyechart.evaluators.evaluation.evaluator import list_suites, subtasks, suite_folder
from eyechart.evaluators.tasks import find_tasks


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
    suite.suite = subtasks("ql_bench", is_mini=True)
    with pytest.warns(MiniDataWarning):
        results = suite.run(pipe)
    assert [result["task_name"] for result in results] == ["mini:llsavisionqa/single", "mini:llsavisionqa/pair"]
    assert all(result["is_mini"] for result in results)
    assert all(0 <= result["score_sa"] <= 100 for result in results)
