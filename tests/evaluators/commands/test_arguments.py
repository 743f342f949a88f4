import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.cli import app
from eyechart.evaluators.commands.arguments import parse_pairs
from eyechart.evaluators.comparison.compare import compare
from eyechart.evaluators.results.finished_runs import read_runs
from eyechart.evaluators.results.results_file import read_results, with_nan
from eyechart.evaluators.runs.console import console
from eyechart.evaluators.tasks import TASKS
from eyechart.metrics.scores import spec
from tests.evaluators.command_line import invoke
from tests.terminal import in_a_terminal


def test_a_run_has_at_most_36_options():
    command = typer.main.get_command(app).get_command(None, "run")
    assert len(command.params) <= 36


def test_help_lists_every_rare_option_with_its_meaning():
    shown = invoke("run", "--help-args")
    lines = [line.strip() for line in shown.output.splitlines() if line.startswith("  ")]
    assert shown.exit_code == 0 and len(lines) > 20 and all(line.partition(": ")[2] for line in lines)
    assert any(line.startswith("device_map: Device map") for line in lines)


GIVEN = ("q_bench/perception", "--mini", "--seed", 3, "--set", "shuffle_seed=7", "--set", "prompt=answer-mark")
LEAST = {("run", option): 1 for option in ("--batch-size", "--max-new-tokens", "--concurrency", "--repeats", "--limit")}
LEAST |= {("run", "--temperature"): 0, ("compare", "--seed"): 0, ("plan", "--seed"): 0, ("report", "--samples"): 0}


@pytest.mark.parametrize(("command", "option"), LEAST, ids=str)
def test_numbers_have_a_least_value(command, option):
    least = LEAST[command, option]
    shown = invoke(command, "x", option, least - 1, columns=200, code=2).output
    assert option in shown and f"greater than or equal to {least} " in shown


@pytest.mark.parametrize("words", [("--out", ""), ("--out=",), ("--set", "a=b", "--out=")], ids=str)
def test_an_empty_value_is_refused(words):
    assert "--out has an empty value" in invoke("run", "none", *words, columns=200, code=2).output
    assert "an argument has an empty value" in invoke("tasks", "", columns=200, code=2).output
    assert "an empty value" not in invoke("run", "none", "--set", "a=", "--set=b=", columns=200, code=2).output


def test_a_run_can_be_repeated(tmp_path):
    sampled = ("--temperature", 0.7, "--model-arg", "sampling_seed=5", "--model-arg", "top_p=0.9")
    invoke("run", *GIVEN, *sampled, "--sample", 8, "--no-store", "--out", tmp_path / "first", code=0)
    invoke("run", "--like", tmp_path / "first", "--no-store", "--out", tmp_path / "again", code=0)
    first, again = (read_results(tmp_path / name) for name in ("first", "again"))
    assert again.request == first.request
    (one,), (other,) = first.tasks, again.tasks
    assert (other.scores, other.settings) == (one.scores, one.settings)


def test_options_that_are_given_replace_those_of_the_run(tmp_path):
    invoke("run", *GIVEN, "--limit", 4, "--name", "first", "--out", tmp_path / "first", code=0)
    changed = ("q_bench/perception_pairs", "--set", "shuffle_seed=8", "--sample", 6, "--model", "eyechart/tiny-vlm")
    invoke("run", *changed, "--like", tmp_path / "first", "--out", tmp_path / "other", code=0)
    (task,) = read_results(tmp_path / "other").tasks
    assert (task.task, task.model, task.settings["limit"]) == ("q_bench/perception_pairs", "eyechart/tiny-vlm", None)
    assert (task.settings["shuffle_seed"], task.settings["sample"]["n"]) == (8, 6)
    assert (task.settings["prompt_id"].endswith("answer-mark"), task.settings["seed"]) == (True, 3)
    assert task.settings["data"]["is_mini"]


def test_results_that_no_run_wrote_cannot_be_repeated(tmp_path):
    invoke("run", "--like", tmp_path, code=1)
    invoke("run", *GIVEN, "--limit", 2, "--out", tmp_path, code=0)
    written = json.loads((tmp_path / "results.json").read_text())
    (tmp_path / "results.json").write_text(json.dumps({**written, "request": None}))
    done = invoke("run", "--like", tmp_path, code=2)
    assert f"--like {tmp_path}" in done.output


def test_values_are_json_and_else_text():
    parsed = {"rounds=3": 3, "blind=true": True, "shuffle_seed=null": None}
    # What cannot be written as JSON again, or is too deep to be read, is text.
    texts = {
        "prompt": "answer-mark",
        "words": "a=b",
        "empty": "",
        "nan": "NaN",
        "half": r'"\ud800"',
        "deep": "[" * 10**5,
    }
    found = parse_pairs("--set", [*parsed, *(f"{name}={text}" for name, text in texts.items())])
    assert found == {given.partition("=")[0]: value for given, value in parsed.items()} | texts


@pytest.mark.parametrize("given", [["rounds"], ["rounds=1", "rounds=2"]])
def test_a_value_without_a_name_and_a_name_given_twice_are_refused(given):
    with pytest.raises(UsageError, match=r"--set 'rounds.*' is not NAME=VALUE, or gives NAME twice"):
        parse_pairs("--set", given)


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


RUN = ["run", "q_bench/perception_pairs", "mmbench/cc", "two_afc/fine_types", "q_bench/description", "--limit", "12"]
WIDTHS = (80, 100, 120, 140)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folders = [tmp_path_factory.mktemp("runs") / name for name in ("a", "b")]
    for folder, more in zip(folders, ([], ["--set", "shuffle_seed=5"]), strict=True):
        invoke("run", "q_bench/perception", *more, "--limit", "40", "--out", folder, code=0)
    return folders


def line_of(shown: str, name: str) -> list[str]:
    """The lines from the one that begins with a name on, folded as it may be."""
    lines = shown.splitlines()
    first = name.split()[0]
    return next(lines[at:] for at, line in enumerate(lines) if line.split()[:1] == [first])


def test_what_is_no_terminal_has_140_columns() -> None:
    assert console().width == 140


@pytest.fixture(scope="module")
def terminals(runs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[int, dict[str, str]]]:
    """A folder with a run for each width, and what the commands show at that width."""
    two = [str(run) for run in runs]
    allowed = ["--allow", "shuffle_seed"]
    folder = tmp_path_factory.mktemp("shown")
    others = [["compare", *two, *allowed], ["plan", *two, *allowed, "--difference", "0.05"], ["tasks"]]
    return folder, in_a_terminal({width: [[*RUN, "--out", str(folder / f"{width}")], *others] for width in WIDTHS})


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS)
def test_every_number_stands_with_its_name(
    runs: list[Path], terminals: tuple[Path, dict[int, dict[str, str]]], width: int
) -> None:
    folder, at_each_width = terminals
    shown = at_each_width[width]
    assert list(shown) == ["run", "compare", "plan", "tasks"]
    for text in shown.values():
        table = [line for line in text.splitlines() if line.startswith(" ") or "│" in line]
        assert table and all(len(line) <= width for line in table)
        assert not any("…" in line for line in table)

    (run,) = read_runs([folder / f"{width}"])
    screen = shown["run"].splitlines()
    title = next(line for line in screen if line.startswith("eyechart/tiny-vlm on"))
    assert title.startswith("eyechart/tiny-vlm on 4 tasks, synthetic demo data, 47 of ") and len(screen) <= 20
    for task in run.tasks.values():
        line = next(line for line in screen if line.startswith(task.task))
        spec_of, scores = task.headline_spec(), with_nan(task.scores)
        assert spec_of.label in line and spec_of.shown(spec_of.value(scores)) in line, line
        assert line.split()[-1] == str(spec_of.n(scores)), line

    (one,) = compare(str(runs[0]), str(runs[1]), allowed=["shuffle_seed"]).differences
    first, second, *_ = line_of(shown["compare"].partition("q_bench/perception")[2], one.score)
    assert spec(one.key).shown(one.first) in first and f"{one.p_value:.4f}" in first and f"{one.n:,}" in first
    assert spec(one.key).shown(one.second) in second
    low, high = (f"{100 * end:+.2f}" for end in one.difference_ci95)
    assert f"{low} to {high}" in second
    (line, *_) = line_of(shown["plan"].partition("q_bench/perception")[2], one.score)
    assert " 5.00 % " in line and line.split()[-1].replace(",", "").isdigit()

    for task, after in zip(TASKS, [*TASKS[1:], None], strict=True):
        part = shown["tasks"].partition(f" {task.name} ")[2]
        words = " ".join(
            re.sub(r"[│└─┴┘]", " ", part if after is None else part.partition(f" {after.name} ")[0]).split()
        )
        assert task.description in words and words.endswith(f"; {task.metric}")
        assert all(name in words for name in (*task.data.datasets, *task.data.splits))
