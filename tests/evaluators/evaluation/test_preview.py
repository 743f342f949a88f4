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


@pytest.mark.parametrize(
    ("task", "ways"),
    [
        (
            "q_bench/perception",
            [
                "prompt=default (q_bench_a1/2)",
                "prompt=answer-mark (q_bench_a1/2/answer-mark)",
                "prompt=vlmevalkit (q_bench_a1/2/vlmevalkit)",
                "prompt=lmms-eval (q_bench_a1/2/lmms-eval)",
                "blind=true (q_bench_a1/2/blind)",
                "inference=closed-set (q_bench_a1/2/closed-set)",
            ],
        ),
        (
            "mmbench/en",
            [
                "prompt=default (mmbench/2)",
                "prompt=lmms-eval (mmbench/2/lmms-eval)",
                "blind=true (mmbench/2/blind)",
                "grade_open_answers=true (mmbench/2)",
            ],
        ),
    ],
)
def test_every_setting_that_changes_the_prompt_is_shown(task, ways):
    assert list(example_requests(get_task(task))) == ways
