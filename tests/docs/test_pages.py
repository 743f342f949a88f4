"""Every code block and every command of README and the site works on its own and prints the output that is shown."""

import ast
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from eyechart.evaluators.cli import app
from eyechart.evaluators.tasks import TASKS
from tests.docs.pages import Block, Line, blocks, commands, not_printed

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*the fit inflates plcc_fitted",
    "ignore:.*maximum likelihood",
    "ignore:.*left out of its mean",
    "ignore:.*undefined",
    "ignore:`is_gradient_checkpointing`:FutureWarning",
    "ignore:Synthetic demo data:eyechart.datasets_scripts.common.errors.MiniDataWarning",
)
RECORDED = ("eyechart", "run")
"""The command that test_recordings.py runs."""
BENCHMARKS = {task.name.partition("/")[0] for task in TASKS}
GROUPS = ("leaderboard", "store", "text-to-score")
PYTHON = [block for block in blocks("python") if not block.not_run]
_SHELL = sorted(blocks("shell"), key=lambda block: bool(block.output))
SHELL = list({line.words: line for block in _SHELL for line in commands(block)}.values())
"""Each distinct command once, with its output if a page shows it."""


def _shape(line: Line) -> tuple[object, ...]:
    """The subcommand, the options and the kinds of files, whatever the task, the model and the values."""
    words = line.words[1:]
    marks = {word for word in words if word.startswith("--")} | {Path(word).suffix for word in words if "=" not in word}
    return (*words[: 2 if words[0] in GROUPS else 1], *sorted(marks), bool(line.block.output))


_OURS = [line for line in SHELL if not line.block.not_run and line.words[0] == "eyechart" and line.words != RECORDED]
RUN = list({_shape(line): line for line in reversed(_OURS)}.values())
"""The first command of each shape."""
OTHERS = {"git", "cd", "pytest", "sphinx-build", "torchrun", "accelerate", "python", "docker", "inspect"}
"""Programs other than eyechart; the pages give a reason for not running them."""
INSTALLATION = {"python3", ".", "pip"}
"""Programs that install eyechart; `.ci/run` runs README's line."""
OWN_RUNS = {"submit": "private", "text-to-score": "described"}
"""Commands that need a different run as `eyechart_runs/mine`: on private questions, or on descriptions."""


def test_what_pages_print_is_compared_with_what_is_printed() -> None:
    shown = [block for block in blocks("text") if not block.not_run]
    compared = {block.output for block in blocks("shell", "python") if not block.not_run}
    assert len(PYTHON) >= 10 and len(RUN) >= 50 and len(shown) >= 6
    assert [str(block) for block in shown if block.text not in compared] == []


def test_changed_names_in_an_output_are_found() -> None:
    printed = " score   value\n ─────\n accuracy on a\n  b   92.22 %   < 0.0001\n n   60\n"
    assert not_printed("score value\n───\naccuracy on a b   +1.5 % 0.0002\n...\nn 7\n", printed) == []
    assert not_printed("score chance\n...\nn 7\n", printed) == ["score chance"]


def invoke(words: tuple[str, ...] | list[str]) -> str:
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == 0, done.output if done.exception is None else f"{done.output}\n{done.exception!r}"
    return done.output


def smaller(words: list[str], *, is_whole: bool = False) -> list[str]:
    """The arguments for a smaller run: synthetic data instead of downloads, and few items unless `is_whole`."""
    if words[0] != "run":
        return words
    files = [word for word in words[1:] if word.endswith((".yaml", ".py"))]
    if "--like" in words:
        # The run that is repeated has its limits.
        return words
    if not files and "--data-dir" not in words and "--mini" not in words:
        words = [*words, "--mini"]
    return words if is_whole or {"--limit", "--sample"} & set(words) else [*words, "--limit", "8"]


@pytest.mark.slow
@pytest.mark.parametrize("line", RUN, ids=str)
def test_a_command_alone_does_what_the_page_says(
    line: Line, at_hand: Callable[[str], str], request: pytest.FixtureRequest
) -> None:
    words = [at_hand(word) for word in line.words[1:]]
    _write_files(line.block.page)
    if words[0] in OWN_RUNS:
        shutil.rmtree("eyechart_runs/mine")
        os.rename(f"eyechart_runs/{OWN_RUNS[words[0]]}", "eyechart_runs/mine")
    if words[0] == "text-to-score" and words[1] in ("train", "validate"):
        words += ["--epochs", "1"]
        shutil.rmtree("regressor")
    if words[0] == "store":
        invoke(["run", "q_bench/perception", "--model", "path/to/checkpoint", "--mini", "--limit", "2"])
    if words[0] == "publish":
        request.getfixturevalue("hub").make("me/model", {"README.md": b"# A model"})
    # A page shows the output of the block's last command.
    output = line.block.output if line == list(commands(line.block))[-1] else ""
    if words[0] == "run" and not output:
        request.getfixturevalue("no_report")
    assert not_printed(output, invoke(smaller(words, is_whole=bool(output)))) == []


def _write_files(page: str) -> None:
    """Write the task files that the page shows; a local table replaces the one on the Hub."""
    for block in blocks("yaml"):
        if block.page == page and "protocol" in (task := yaml.safe_load(block.text)):
            Path(f"{task['name']}.yaml").write_text(block.text.replace("lmms-lab/SEED-Bench", "seed.parquet"))


def test_every_option_of_a_command_that_is_not_run_exists() -> None:
    for line in SHELL:
        program, *words = line.words
        # A threshold is a task with a value.
        values = [word.partition("=")[0] for word in words]
        names = [word for word in values if word.partition("/")[0] in BENCHMARKS and "/" in word and "*" not in word]
        assert {*names} <= {task.name for task in TASKS}, line
        if line in RUN or line.words == RECORDED:
            continue
        if program != "eyechart":
            assert program in INSTALLATION or (program in OTHERS and line.block.not_run), line
            if "eyechart.evaluators.cli" not in words:
                continue
            words = words[words.index("eyechart.evaluators.cli") + 1 :]
        command = [] if words[0].startswith("--") else words[:2] if words[0] in GROUPS else words[:1]
        shown = CliRunner().invoke(app, [*command, "--help"], env={"COLUMNS": "200"}).output
        for option in words[len(command) :]:
            if re.fullmatch(r"--[a-z-]+", option):
                assert f"{option} " in shown or f"{option}," in shown, f"{line}: {option}"


@pytest.mark.slow
@pytest.mark.parametrize("block", PYTHON, ids=str)
def test_a_python_block_runs_alone(block: Block, at_hand: Callable[[str], str]) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    tree = ast.parse(at_hand(block.text))
    last = tree.body.pop() if block.output else None
    exec(compile(tree, str(block), "exec"), names)
    if isinstance(last, ast.Expr):
        value = eval(compile(ast.Expression(last.value), str(block), "eval"), names)
        assert not_printed(block.output, repr(value)) == []
    assert last is None or isinstance(last, ast.Expr)
    # Results of evaluate's suites.
    assert all(result["is_mini"] and result["task_name"].startswith("mini:") for result in names.get("results", ()))


def test_json_blocks_are_json_or_json_lines() -> None:
    for block in blocks("json"):
        is_object = block.text.startswith("{\n")
        for text in [block.text] if is_object else block.text.splitlines():
            json.loads(text)
