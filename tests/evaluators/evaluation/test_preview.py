"""`eyechart tasks NAME` shows what a model would be sent."""

import pytest

from eyechart.evaluators.commands.tasks import example_requests, first_row
from eyechart.evaluators.evaluation.evaluator import Evaluator
from eyechart.evaluators.tasks import TASKS, get_task


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


BLIND = "blind=true ({0}/blind)"
QUESTIONS = ["prompt=default ({0})", "prompt=answer-mark ({0}/answer-mark)", "prompt=vlmevalkit ({0}/vlmevalkit)"]
LETTERS = "prompt=lmms-eval ({0}/lmms-eval)"


@pytest.mark.parametrize(
    ("task", "prompt", "ways"),
    [
        ("q_bench/perception", "q_bench_a1/2", [*QUESTIONS, LETTERS, BLIND, "inference=closed-set ({0}/closed-set)"]),
        ("mmbench/en", "mmbench/2", [QUESTIONS[0], LETTERS, BLIND, "grade_open_answers=true ({0})"]),
    ],
)
def test_every_setting_that_changes_the_prompt_is_shown(task, prompt, ways):
    assert list(example_requests(get_task(task))) == [way.format(prompt) for way in ways]
