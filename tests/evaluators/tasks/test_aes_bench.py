"""The four tasks of AesBench: prompt ids, breakdowns, explicit and ambiguous answers, and the guard of the level."""

import json
import re
import shutil

import pytest

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.evaluation.data import DataRequest, LoadedData, load_data
from eyechart.evaluators.results.results_file import read_results
from eyechart.evaluators.runs.run import ModelRun, execute
from eyechart.evaluators.runs.task_runs import make_task_runs
from eyechart.evaluators.tasks import TASKS, get_task
from tests.evaluators import running
from tests.evaluators.tasks.doors import Judge, ran, scored

CHOICES = ("aes_bench/perception", "aes_bench/empathy", "aes_bench/assessment")
ASSESSMENT, INTERPRETATION = "aes_bench/assessment", "aes_bench/interpretation"
LEVEL = re.compile(r"with (high|medium|low) aesthetics")


def run(name, model, dataset, **options):
    return running.run(name, model, LoadedData(dataset, "aesbench", "test", "given"), **options)


def rows_of(name, count):
    return load_data(get_task(name), DataRequest(is_mini=True)).dataset.select(range(count))


def test_the_tiny_model_runs_them_and_sees_distortions(tmp_path):
    (perception, assessment, interpretation), _ = ran(tmp_path, CHOICES[0], ASSESSMENT, INTERPRETATION, "--limit", 24)
    # It was taught distortions; what a colour is taken to evoke it was not, nor the level with the question first.
    assert perception.scores["accuracy"] > perception.scores["random_guess"]
    assert set(perception.scores["by_question_type"]) == {"yes-or-no", "what", "how", "why"}
    assert set(perception.scores["by_image_source"]) == {"natural", "artistic", "AI-generated", "unknown"}
    assert assessment.scores["random_guess"] == pytest.approx(1 / 3)
    scores = interpretation.scores
    assert (scores["template"], scores["judge"]) == ("aesbench", "lexical")
    assert set(scores["by_level"]) == {"high", "medium", "low"}


def test_explicit_answers_are_compared_and_ambiguous_ones_put_to_a_judge():
    dataset = rows_of(ASSESSMENT, 6)
    levels = ("High", "Medium", "Low")
    right = [levels["ABC".index(letter)] for letter in dataset["answer"]]
    wrong = {"High": "Low", "Medium": "High", "Low": "Medium"}
    replies = [f"{dataset['answer'][0]}) {right[0]}", right[1], wrong[right[2]]]
    replies += ["It is rather lovely.", "somewhere between high and low", ""]

    def ask(judge):
        left = iter(replies)
        return run(ASSESSMENT, lambda messages: next(left), dataset, judge=judge).scores

    alone = ask(None)
    assert alone["accuracy"] == pytest.approx(2 / 6)
    shares = {name: share for name, share in alone["extraction"].items() if share}
    assert shares == {"exact": 0.5, "unmatched": 0.5, "unparseable": 0.5}
    parts = alone["by_response"]
    assert (parts["explicit"]["n"], parts["explicit"]["accuracy"]) == (3, pytest.approx(2 / 3))
    assert (parts["ambiguous"]["n"], parts["ambiguous"]["accuracy"]) == (3, 0.0)
    judge = Judge("Result: 1")
    judged = ask(judge)
    # Nobody is asked about an empty reply.
    assert judged["judge_asked"] == len(judge.asked) == 2
    assert judged["by_response"]["explicit"] == parts["explicit"]
    assert judged["by_response"]["ambiguous"]["accuracy"] == pytest.approx(2 / 3)
    assert judged["accuracy"] == pytest.approx(4 / 6) and judged["judge_template"] == "q_bench_vote"
    seen = judge.asked[0][0][-1]["content"]
    assert "It is rather lovely." in seen and right[3] in seen and "aesthetic quality" in seen
    assert ask(Judge("Result: 0"))["accuracy"] == pytest.approx(2 / 6)


@pytest.mark.parametrize("column", ["question", "options"])
def test_an_assessment_that_states_a_level_is_refused(column):
    level = "This is an image With High aesthetics"
    value = [level, "Medium", "Low"] if column == "options" else level
    broken = rows_of(ASSESSMENT, 2).map(lambda row, index: {column: value} if index else {}, with_indices=True)
    with pytest.raises(DataError, match="states the aesthetic level"):
        run(ASSESSMENT, lambda messages: pytest.fail("asked"), broken)
    result = run(ASSESSMENT, lambda messages: "A", broken, skip_bad=True)
    assert result.scores["n"] == 1 and "With High aesthetics" in result.left_out[0].reason


class Recorder(FunctionBackend):
    """Remembers what was asked together."""

    def __init__(self):
        super().__init__(lambda messages: "A")
        self.asked = []

    def answer(self, requests):
        self.asked.append(list(requests))
        return super().answer(requests)


def test_no_run_asks_an_interpretation_before_or_together_with_an_assessment(tmp_path):
    recorder = Recorder()
    task_runs = make_task_runs([INTERPRETATION, ASSESSMENT], DataRequest(limit=5, is_mini=True))
    known = {task.name: task for task in TASKS}
    # What others come after comes after nothing itself, which one look at the order could not settle.
    assert all(not known[name].after for task in TASKS for name in task.after)
    assert execute(task_runs, ModelRun(lambda device: recorder, tmp_path))
    states_level = [{bool(LEVEL.search(request.prompt[0])) for request in wave} for wave in recorder.asked]
    assert states_level == [{False}, {True}]
    assert [result.task for result in read_results(tmp_path).tasks] == [ASSESSMENT, INTERPRETATION]


def test_the_released_sample_is_answered_in_its_form(reference, tmp_path):
    file = reference / "aesbench" / "AesBench_evaluation.sample3.json"
    folder = tmp_path / "release"
    folder.mkdir()
    shutil.copy(file, folder / "AesBench_evaluation.json")
    entries = json.loads(file.read_text("utf-8"))
    for name, part in zip((*CHOICES, INTERPRETATION), ("AesP", "AesE", "AesA1", "AesI"), strict=True):
        result, _ = scored(tmp_path, name, [{"id": id, "text": "A) 好"} for id in entries], "--data-dir", folder)
        written = json.loads((tmp_path / "scored" / name / "aesbench" / f"test_{part}.json").read_text("utf-8"))
        assert written == {id: {f"{part}_response": "A) 好"} for id in entries} and result.scores is None
