import io

import pytest
from rich.console import Console

from eyechart.evaluators.console import print_line
from eyechart.evaluators.results import FailedTask
from eyechart.evaluators.table import score_table
from tests.evaluators.finished_runs import ACCURACY
from tests.evaluators.finished_runs import evaluated

HOSTILE = ["[red]", "[/red] and [/x]", "\x1b[2J\x07\x9b31m", "a\\", "a\\[b]", "[link=http://x]y[/link]"]


def printed(something):
    to = io.StringIO()
    Console(file=to, width=200, force_terminal=True, color_system=None).print(something)
    return to.getvalue()


def as_shown(text):
    return text.replace("\x1b", "\\x1b").replace("\x07", "\\x07").replace("\x9b", "\\x9b")


@pytest.mark.parametrize("text", HOSTILE)
def test_models_groups_and_errors_are_shown_as_they_are(text):
    found = evaluated(model=text, scores=ACCURACY | {"by_concern": {text: ACCURACY}})
    lines = printed(score_table([found], [FailedTask(task="mmbench/en", subset="mmbench", error=text)]))
    for expected in (f"model: {text}", f"{text}: accuracy", f"failed: {text}"):
        assert as_shown(expected) in lines


def test_a_line_holds_nothing_that_a_terminal_obeys():
    to = io.StringIO()
    print_line(Console(file=to, width=20, force_terminal=True, color_system=None), "[red]\x1b[2J" + "x" * 30)
    assert to.getvalue() == "[red]\\x1b[2J" + "x" * 30 + "\n"
