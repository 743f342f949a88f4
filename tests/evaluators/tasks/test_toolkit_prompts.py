"""The words of other toolkits, byte for byte; where their code has them is in `prompts`."""

import pytest
from typer.testing import CliRunner

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators import evaluator
from eyechart.evaluators.cli import app
from eyechart.evaluators.requests.types import IMAGE
from eyechart.evaluators.results.results_file import read_results
from eyechart.evaluators.tasks import get_task

ROW = {"question": "Which is\nsharper?", "hint": "Look {twice}.", "options": ["The cat", "No: the dog"], "images": [0]}
PLAIN = ROW | {"hint": None}
PAIR = PLAIN | {"images": [0, 1]}
LISTED = "A. The cat\nB. No: the dog\n"
SELECT = "Please select the correct answer from the options above. \n"
DIRECTLY = "Answer with the option's letter from the given choices directly."
IN_CHINESE = "请直接使用所提供的选项字母作为答案回答。"
VLMEVALKIT = f"Question: Which is\nsharper?\nOptions:\n{LISTED}{SELECT}"
LMMS_EVAL = f"Which is\nsharper? There are several options:\n{LISTED}\n{DIRECTLY}"

CASES = [
    ("mmbench/en", "vlmevalkit", ROW, (IMAGE, f"Hint: Look {{twice}}.\n{VLMEVALKIT}")),
    ("mmbench/cn_v11", "vlmevalkit", PLAIN, (IMAGE, VLMEVALKIT)),
    ("mmbench/cc", "vlmevalkit", PLAIN, (IMAGE, VLMEVALKIT)),
    ("q_bench/perception", "vlmevalkit", PLAIN, (IMAGE, VLMEVALKIT)),
    ("aes_bench/empathy", "vlmevalkit", PLAIN, (IMAGE, VLMEVALKIT)),
    ("aes_bench/assessment", "vlmevalkit", PLAIN, (IMAGE, VLMEVALKIT)),
    ("mmbench/en", "lmms-eval", ROW, (IMAGE, f"Look {{twice}}. {LMMS_EVAL}")),
    ("mmbench/en_v11", "lmms-eval", PLAIN, (IMAGE, LMMS_EVAL)),
    ("mmbench/cn", "lmms-eval", PLAIN, (IMAGE, LMMS_EVAL.replace(DIRECTLY, IN_CHINESE))),
    ("mmbench/cc", "lmms-eval", PLAIN, (IMAGE, LMMS_EVAL.replace(DIRECTLY, IN_CHINESE))),
    ("q_bench/perception", "lmms-eval", PLAIN, (IMAGE, f"Which is\nsharper?\n{LISTED}{DIRECTLY}\n")),
    ("q_bench/perception_pairs", "lmms-eval", PAIR, (IMAGE, IMAGE, f"Which is\nsharper?\n{LISTED}{DIRECTLY}\n")),
]


@pytest.mark.parametrize(("task", "style", "row", "expected"), CASES)
def test_a_question_in_the_words_of_another_toolkit(task, style, row, expected):
    protocol = evaluator(task, settings={"prompt": style}).protocol
    assert protocol.prompt_of(row) == expected
    assert protocol.settings()["prompt_id"] == f"{get_task(task).protocol.prompt_id}/{style}"


def test_mmbench_is_asked_as_its_authors_ask_it():
    assert get_task("mmbench/en").protocol.prompt_of(PLAIN) == (IMAGE, VLMEVALKIT)


def test_a_style_is_the_setting_prompt(tmp_path):
    mini = ("run", "mmbench/en", "--mini", "--limit", "1", "--out", str(tmp_path))
    for style, added in (("lmms-eval", "/lmms-eval"), ("eyechart", "")):
        done = CliRunner().invoke(app, [*mini, "--prompt-style", style])
        assert done.exit_code == 0, done.output
        expected = get_task("mmbench/en").protocol.prompt_id + added
        assert read_results(tmp_path).tasks[0].settings["prompt_id"] == expected
    done = CliRunner().invoke(app, [*mini, "--prompt-style", "eyechart", "--set", "prompt=paper"])
    assert done.exit_code == 2 and "--prompt-style" in done.output and "--set" in done.output


def test_a_toolkit_that_does_not_have_the_benchmark_has_no_words_for_it():
    with pytest.raises(UsageError, match="'lmms-eval'"):
        evaluator("aes_bench/empathy", settings={"prompt": "lmms-eval"})
