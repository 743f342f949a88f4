"""What a difference goes with, on runs of a model of our own: its replies are read again as the other run read them."""

from dataclasses import replace

import pytest
from typer.testing import CliRunner

from eyechart.evaluators import evaluator
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.cli import app
from eyechart.evaluators.comparison.compare import compare
from eyechart.evaluators.evaluation.data import load_data
from eyechart.evaluators.tasks import get_task
from tests.evaluators.finished_runs import write

TASK = "q_bench/perception"
DECLARES = "B and C are too much for it. Therefore, the correct answer is (A)."


def model(messages):
    """Answers A, declaring it in every second question; asked in lmms-eval's words it answers B."""
    text = "".join(part.get("text", "") for part in messages[0]["content"])
    if "given choices directly" in text:
        return "B"
    return DECLARES if len(text) % 2 else "A"


@pytest.fixture
def run(tmp_path):
    data = load_data(get_task(TASK), is_mini=True)

    def run_into(name, **settings):
        done = evaluator(TASK, settings=settings).run(FunctionBackend(model), data, limit=40)
        return write(tmp_path / name, [done]), done.scores["accuracy"]

    return run_into


def test_what_goes_with_the_reading_of_replies_is_what_reading_them_again_changes(run):
    first, declared = run("declared")
    second, strict = run("strict", extraction="strict")
    assert declared > strict > 0
    (causes,) = compare(first, second, allowed=["extraction"]).causes.values()
    assert (causes.reading_settings, causes.others) == (("extraction",), ())
    assert causes.reading == pytest.approx(causes.whole) == declared - strict


def test_the_rest_goes_with_what_else_differs(run):
    first, declared = run("declared")
    second, other = run("other", extraction="strict", prompt="lmms-eval")
    _, strict = run("strict", extraction="strict")
    (causes,) = compare(first, second, allowed=["extraction", "prompt_id"]).causes.values()
    assert causes.others == ("the prompt",)
    assert causes.whole == pytest.approx(declared - other)
    assert causes.reading == pytest.approx(declared - strict)
    shown = (
        CliRunner()
        .invoke(app, ["compare", str(first), str(second), "--allow", "extraction", "--allow", "prompt_id"])
        .output
    )
    words = " ".join(shown.split())
    assert f"from parsing (extraction), {100 * (strict - other):+.2f} points from the prompt" in words


@pytest.mark.parametrize("runs", [2, 3])
def test_another_system_prompt_is_named_even_if_the_scores_agree(tmp_path, runs):
    class Prompted(FunctionBackend):
        prompt = None

        def settings(self):
            return {**super().settings(), "system_prompt": self.prompt}

    data, made = load_data(get_task(TASK), is_mini=True), []
    for name, prompt in (("a", None), ("b", "Be short."), ("c", None))[:runs]:
        backend = Prompted(model)
        backend.prompt = prompt
        done = evaluator(TASK).run(backend, data, limit=20)
        made.append(str(write(tmp_path / name, [replace(done, model=name)])))
    shown = CliRunner().invoke(app, ["compare", *made]).output
    if runs == 2:
        assert "no accuracy difference, although A and B differ in the system prompt" in shown
    else:
        for pair in ("a and b", "b and c"):
            assert f"{pair} also differ in the system prompt, which can change scores." in shown
        assert "a and c also" not in shown


def test_runs_that_differ_in_nothing_else_have_no_causes(run):
    assert compare(run("a")[0], run("b")[0]).causes == {}


def test_sampling_is_a_cause_and_repeats_are_none(run, tmp_path):
    class Drawn(FunctionBackend):
        def settings(self):
            return {**super().settings(), "sampling": {"temperature": 0.7, "top_p": 1.0, "seed": 0}}

    greedy, accuracy = run("greedy")
    data = load_data(get_task(TASK), is_mini=True)
    done = evaluator(TASK).run(Drawn(model), data, limit=40, repeats=2)
    found = compare(greedy, write(tmp_path / "drawn", [done]))
    (causes,) = found.causes.values()
    assert causes.others == ("the sampling",) and causes.whole == accuracy - done.scores["accuracy"] == 0


def test_causes_are_of_the_items_that_are_compared(tmp_path):
    """With `--common` the difference is that of the items that both runs have, and so are its parts."""
    data = load_data(get_task(TASK), is_mini=True)

    def run_into(name, limit, **settings):
        done = evaluator(TASK, settings=settings).run(FunctionBackend(model), data, limit=limit)
        return write(tmp_path / name, [done]), done.scores["accuracy"]

    first, all_declared = run_into("first", 40)
    _, declared = run_into("fewer", 15)
    _, strict = run_into("strict", 15, extraction="strict")
    second, other = run_into("second", 15, extraction="strict", prompt="lmms-eval")
    found = compare(first, second, allowed=["extraction", "prompt_id"], common=True)
    (causes,) = found.causes.values()
    assert causes.whole == pytest.approx(found.differences[0].difference) == pytest.approx(declared - other)
    assert causes.reading == pytest.approx(declared - strict) and all_declared != declared
