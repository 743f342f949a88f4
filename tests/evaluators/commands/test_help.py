"""What a user meets before a command runs: help pages, names that the shell completes, near misses."""

import itertools
import os
import re
import signal
import subprocess
import sys
import time

import pytest
import typer
from typer.testing import CliRunner

from eyechart.evaluators.cli import app
from tests.evaluators.command_line import invoke

EYECHART = [sys.executable, "-m", "eyechart.evaluators"]


def commands(group, names=()):
    yield list(names)
    for name in getattr(group, "commands", {}):
        yield from commands(group.get_command(None, name), (*names, name))


@pytest.mark.parametrize("names", list(commands(typer.main.get_command(app))), ids=" ".join)
def test_help_shows_no_python_types(names):
    shown = invoke(*names, "--help", columns=200).output
    assert "--help" in shown and not re.search(r"<(?!time>|out>)[\w|\[\] ]+>", shown), shown


@pytest.mark.parametrize("names", [["compare"], ["plan"], ["submit"], ["publish"], []], ids=" ".join)
def test_paragraphs_of_help_are_folded_to_the_terminal(names):
    """Not where a line of the docstring ends."""
    shown = invoke(*names, "--help", columns=80).output
    lines = [line.strip() for line in shown.partition("╭")[0].splitlines()]
    for line, after in itertools.pairwise(lines):
        assert not (line and after) or len(f"{line} {after.split()[0]}") > 78, line


def test_help_groups_the_options_of_a_run():
    shown = invoke("run", "--help", columns=200).output
    panels = {text.split(" ─")[0]: text for text in shown.split("╭─ ")[1:]}
    for panel, option in {
        "Model": "--model-arg",
        "Model on a server": "--base-url",
        "Sampling": "--temperature",
        "Data": "--skip-bad",
        "Task and scoring": "--prompt-style",
        "Judge": "--judge-arg",
        "Output": "--no-store",
        "Options": "--like",
    }.items():
        assert f"{option} " in panels[panel], panel
    assert "eyechart|vlmevalkit|lmms-eval" in shown and "on|off|N" in shown


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("run ql_b", ["ql_bench", "ql_bench/single", "ql_bench/pair"]),
        ("score aes_bench/e", ["aes_bench/empathy"]),
        ("run --prompt-style ", ["eyechart", "vlmevalkit", "lmms-eval"]),
        ("export live_", ["live_itw", "live_fb"]),
        ("leader", ["leaderboard"]),
    ],
)
def test_a_shell_completes_names(words, offered):
    typed = f"eyechart {words}"
    asked = {"_EYECHART_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split(" ")) - 1)}
    shown = CliRunner().invoke(app, [], prog_name="eyechart", env=asked).output
    assert sorted(shown.split()) == sorted(offered)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "All answers so far are stored. Run the same command again to resume"),
        (["--no-store"], "--no-store keeps no answers"),
    ],
)
def test_ctrl_c_says_how_to_go_on(options, message, tmp_path):
    tasks = ["two_afc/coarse", "mmbench/en", "--limit", "40"]
    command = [*EYECHART, "run", *tasks, "--out", str(tmp_path / "out"), *options]
    env = {**os.environ, "EYECHART_HOME": str(tmp_path / "home")}
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=env)
    # The results of the first task are written before the second is loaded.
    while child.poll() is None and not (tmp_path / "out" / "results.json").exists():
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=120)
    # A CPython that was interrupted inside `exec` of a string ends `python -m` by the signal: the same 130 to a shell.
    assert child.returncode in {130, -signal.SIGINT} and message in said, said
    assert f"Finished tasks are in {tmp_path / 'out'}." in said
    assert (tmp_path / "out" / "results.json").exists()
