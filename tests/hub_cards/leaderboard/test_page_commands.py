"""The commands that the page shows under "Add a model"."""

import html
import json
import re
import shlex
import subprocess
import sys
from importlib import resources

import pytest
import typer

from eyechart.evaluators.cli import app
from eyechart.evaluators.evaluation.evaluator import list_suites
from eyechart.evaluators.tasks import get_task
from eyechart.hub_cards.leaderboard.boards import BOARDS
from eyechart.hub_cards.leaderboard.entries import About
from tests.evaluators.command_line import invoke
from tests.hub_cards.leaderboard.handed_in import board_named, hand_in, result_on

PAGE = (resources.files("eyechart.hub_cards") / "leaderboard" / "page" / "index.html").read_text(encoding="utf-8")
CODE = [html.unescape(re.sub("<.*?>", "", code)) for code in re.findall(r"<code>(.*?)</code>", PAGE)]
RUN, BUILD, SERVE = (
    shlex.split(re.sub("<.*?>", "", code)) for code in re.findall(r"<pre.*?><code>(.*?)</code></pre>", PAGE)
)


def test_the_first_command_is_one_and_names_a_benchmark():
    assert RUN[:3] == ["eyechart", "run", "TASK"]
    assert [code for code in CODE if code in list_suites()]


@pytest.mark.parametrize("board", [pytest.param(board, id=board.name) for board in BOARDS])
def test_on_a_board_the_first_command_runs_its_task_data_and_split(board):
    # Refuses arguments and options that there are not.
    command = typer.main.get_command(app).get_command(None, "run")
    given = command.make_context("run", [*shlex.split(board.run), *RUN[3:]]).params
    task = get_task(board.task.name)
    assert (given["tasks"], given["model"]) == ([task.name], ["OWNER/MODEL"])
    assert (given["split"] or task.data.splits[0]) == board.split
    assert list(given["dataset"]) == ([board.dataset] if board.dataset != "average" and task.data.run_on else [])
    assert bool(given["judge"]) == board.judged


def test_the_second_command_checks_what_the_first_wrote_and_the_third_shows_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    entry = RUN[RUN.index("--out") + 1]
    path = hand_in(tmp_path, entry, [result_on(board_named("mmbench/en"), "OWNER/MODEL")])
    (about,) = [code for code in CODE if code.startswith("{")]
    path.with_name("entry.json").write_text(about.replace("\N{HORIZONTAL ELLIPSIS}", "example.org/"))
    assert set(json.loads(about)) == set(About.model_fields)
    assert BUILD[0] == "eyechart"
    done = invoke(*BUILD[1:], code=0)
    assert "1 accepted" in done.output, done.output
    assert SERVE[:2] == ["python", "-m"] and (tmp_path / SERVE[SERVE.index("--directory") + 1] / "index.html").is_file()
    # The server's own parser takes the arguments; --help ends it before it serves.
    subprocess.run([sys.executable, *SERVE[1:], "--help"], check=True, capture_output=True)
