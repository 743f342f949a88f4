"""Empty values: an unset shell variable must not mean the current folder, OpenAI or no model."""

import pytest
from typer.testing import CliRunner

from eyechart.datasets_scripts import load_dataset
from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators import evaluator
from eyechart.evaluators.cli import app
from tests.faults.fault import fault, row

REFUSED = "usage error (exit code 2); the message names the option"
PERCEPTION = ("run", "q_bench/perception")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        row(
            "--data-dir '' would take the current folder",
            REFUSED,
            (*PERCEPTION, "--data-dir", ""),
            None,
        ),
        row("--data-dir= would take the current folder", REFUSED, (*PERCEPTION, "--data-dir="), None),
        row("--out '' would write into the current folder", REFUSED, (*PERCEPTION, "--mini", "--out", ""), None),
        row("--model '' would run the bundled model", REFUSED, (*PERCEPTION, "--mini", "--model", ""), None),
        row("--base-url '' would send all images to OpenAI", REFUSED, (*PERCEPTION, "--base-url", ""), None),
        row("--system-prompt '' is empty", REFUSED, (*PERCEPTION, "--mini", "--system-prompt", ""), None),
        row("--adapter '' would omit the adapter", REFUSED, (*PERCEPTION, "--model", "m", "--adapter", ""), None),
        row("score --predictions '' would read the current folder", REFUSED, ("score", "t", "--predictions", ""), None),
        row("report '' would take the current folder for a run", REFUSED, ("report", ""), "an argument"),
        row("leaderboard build '' would take the current folder", REFUSED, ("leaderboard", "build", ""), "argument"),
        row("store prune --model '' would remove all answers", REFUSED, ("store", "prune", "--model", ""), "--model"),
        row(
            "a setting that names a folder is empty",
            REFUSED,
            ("run", "mmbench/en", "--mini", "--set", "exclude_blind_solved="),
            "exclude_blind_solved",
        ),
        row(
            "a data option that names a folder is empty",
            REFUSED,
            ("run", "two_afc/coarse", "--mini", "--data-option", "mm21_dir="),
            "mm21_dir='' is empty",
        ),
        row(
            "--data-dir DATASET= has no path",
            REFUSED,
            (*PERCEPTION, "--data-dir", "llvisionqa="),
            "--data-dir llvisionqa='' is empty",
        ),
    ],
)
def test_an_empty_value_is_wrong_usage(arguments, named, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, list(arguments))
    named = named or next(argument for argument in arguments[::-1] if argument.startswith("--")).rstrip("=")
    assert done.exit_code == 2 and named in done.output and ("empty" in done.output or "=''" in done.output)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "load",
    [
        row(
            "load_dataset gets data_dir=''",
            "a UsageError that names the argument",
            lambda: load_dataset("llvisionqa", data_dir=""),
        ),
        row(
            "compute gets model=''",
            "a UsageError that names the argument",
            lambda: evaluator("q_bench/perception").compute(""),
        ),
        row(
            "compute gets data=''",
            "a UsageError that names the argument",
            lambda: evaluator("q_bench/perception").compute(len, data=""),
        ),
    ],
)
def test_an_empty_argument_in_python(load, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"(data|data_dir|model)='' is empty; give one, or leave it out"):
        load()


@fault("--serve-args '' is passed", "it is valid: the server gets no options")
def test_the_options_of_a_server_may_be_none(tmp_path):
    done = CliRunner().invoke(app, [*PERCEPTION, "--serve", "vllm", "--serve-args", "", "--out", str(tmp_path / "out")])
    assert done.exit_code == 2 and "--serve needs --model" in done.output
