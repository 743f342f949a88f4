"""What two runs differ in besides the model, on runs of a model of our own."""

import pytest
from typer.testing import CliRunner

from eyechart.evaluators import evaluator
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.cli import app
from eyechart.evaluators.comparison.compare import compare
from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.tasks import get_task
from tests.evaluators.finished_runs import write

TASK = "q_bench/perception"


class Backend(FunctionBackend):
    def __init__(self, **settings):
        super().__init__(lambda messages: "A")
        self.more = settings

    def settings(self):
        return {**super().settings(), **self.more}


@pytest.fixture
def run(tmp_path):
    data = load_data(get_task(TASK), DataRequest(is_mini=True, limit=20))

    def run_into(name, *, settings=None, repeats=1, **backend):
        done = evaluator(TASK, settings=settings, repeats=repeats).run(Backend(**backend), data)
        return write(tmp_path / name, [done.model_copy(update={"model": name})])

    return run_into


def test_settings_are_named_by_what_they_affect(run):
    first = run("first", settings={"extraction": "strict"})
    second = run("second", settings={"prompt": "lmms-eval"}, sampling={"temperature": 0.7}, repeats=2)
    found = compare(first, second, allowed=["extraction", "prompt_id"])
    assert found.also_differ == ("the parsing of replies, the prompt and the sampling",)
    assert compare(first, run("third", settings={"extraction": "strict"})).also_differ == ()


@pytest.mark.parametrize("runs", [2, 3])
def test_another_system_prompt_is_named_even_if_the_scores_agree(run, runs):
    prompts = {"a": None, "b": "Be short.", "c": None}
    made = [str(run(name, system_prompt=prompts[name])) for name in "abc"[:runs]]
    shown = CliRunner().invoke(app, ["compare", *made]).output
    for pair in ("a and b", "b and c")[: runs - 1]:
        assert f"{pair} also differ in the system prompt, which can change scores." in shown
    assert "a and c also" not in shown
