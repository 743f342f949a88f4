"""Empty values: an unset shell variable must not mean the current folder, OpenAI or no model."""

import pytest
from typer.testing import CliRunner

from eyechart.datasets_scripts import load_dataset
from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators import evaluator
from eyechart.evaluators.cli import app
from tests.faults.fault import rows

REFUSED = "usage error (exit code 2); the message names the option"
PERCEPTION = ("run", "q_bench/perception")


@pytest.mark.parametrize(
    ("arguments", "named"),
    rows(
        REFUSED,
        ("--data-dir '' would take the current folder", (*PERCEPTION, "--data-dir", ""), None),
        ("--data-dir= would take the current folder", (*PERCEPTION, "--data-dir="), None),
        ("--out '' would write into the current folder", (*PERCEPTION, "--mini", "--out", ""), None),
        ("--model '' would run the bundled model", (*PERCEPTION, "--mini", "--model", ""), None),
        ("--base-url '' would send all images to OpenAI", (*PERCEPTION, "--base-url", ""), None),
        ("--system-prompt '' is empty", (*PERCEPTION, "--mini", "--system-prompt", ""), None),
        ("--judge '' would omit the judge", (*PERCEPTION, "--mini", "--judge", ""), None),
        ("score --predictions '' would read the current folder", ("score", "t", "--predictions", ""), None),
        ("report '' would take the current folder for a run", ("report", ""), "an argument"),
        ("leaderboard build '' would take the current folder", ("leaderboard", "build", ""), "argument"),
        ("store prune --model '' would remove all answers", ("store", "prune", "--model", ""), "--model"),
        ("an empty setting", (*PERCEPTION, "--mini", "--set", "blind_run="), "blind_run"),
        ("an empty data option", ("run", "two_afc/coarse", "--mini", "--data-arg", "mm21_dir="), "mm21_dir=''"),
        ("--data-dir DATASET= has no path", (*PERCEPTION, "--data-dir", "llvisionqa="), "--data-dir llvisionqa='' is"),
    ),
)
def test_an_empty_value_is_wrong_usage(arguments, named, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, list(arguments))
    named = named or next(argument for argument in arguments[::-1] if argument.startswith("--")).rstrip("=")
    assert (
        done.exit_code == 2
        and named in done.output
        and any(word in done.output for word in ("empty", "=''", "found ''"))
    )
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "load",
    rows(
        "a UsageError that names the argument",
        ("load_dataset gets data_dir=''", lambda: load_dataset("llvisionqa", data_dir="")),
        ("compute gets model=''", lambda: evaluator("q_bench/perception").compute("")),
        ("compute gets data=''", lambda: evaluator("q_bench/perception").compute(len, data="")),
    ),
)
def test_an_empty_argument_in_python(load, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"(data|data_dir|model)='' is empty; give one, or leave it out"):
        load()
