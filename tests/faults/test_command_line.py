"""Command line: invalid arguments and files, and untrusted text on the terminal."""

import io
import os
import shutil
import subprocess
import sys

import pytest
from rich.console import Console
from typer.testing import CliRunner

from eyechart.datasets_scripts.common.errors import DataError, UsageError
from eyechart.evaluators import tiny_vlm
from eyechart.evaluators.cli import app
from eyechart.evaluators.judging import JudgeOptions
from eyechart.evaluators.report import write_report
from eyechart.evaluators.results.results_file import FailedTask
from eyechart.evaluators.runs.console import print_line
from eyechart.evaluators.runs.screen import print_screen
from eyechart.hub_cards.model_card.card import merged_card
from tests.evaluators.finished_runs import ACCURACY, answer, evaluated, write
from tests.faults.fault import fault, row

REFUSED = "one line names the value and what to do; exit code 2"
PERCEPTION = ["run", "q_bench/perception", "--mini", "--limit", "1", "--no-store"]
SERVER = [*PERCEPTION, "--backend", "openai", "--model", "m", "--base-url", "http://127.0.0.1:9/v1"]
TASK = 'name: own\nprotocol: multiple_choice\nprompt: "{images} {question} {options}"\ndata: {path: x.jsonl}\n'
NESTED = "[" * 100_000


def invoke(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def said(done):
    """A command's output on one line, without the frame of typer's messages."""
    return " ".join(done.output.replace("│", " ").split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        row(
            "a task name with a missing letter",
            REFUSED,
            ["run", "q_bench/percepton"],
            "did you mean 'q_bench/perception'?",
        ),
        row(
            "a dataset name with a missing letter",
            REFUSED,
            ["run", "--dataset", "kadis700"],
            "did you mean 'kadis700k'?",
        ),
        row(
            "a dataset of another task",
            REFUSED,
            ["run", "q_bench/perception", "--dataset", "kadis700k"],
            "unknown dataset 'kadis700k'",
        ),
        row(
            "an unknown split",
            REFUSED,
            ["run", "q_bench/perception", "--split", "tset"],
            "unknown split 'tset' of q_bench/perception",
        ),
        row("a data folder without a dataset", REFUSED, ["run", "--data-dir", "kadis=x"], "did you mean 'kadis700k'?"),
        row(
            "one data folder for several tasks",
            REFUSED,
            ["run", "--data-dir", "."],
            "does not say which dataset it is",
        ),
        row(
            "a missing data folder for several tasks",
            REFUSED,
            ["run", "--data-dir", "missing"],
            "--data-dir missing does not exist",
        ),
        row(
            "two folders for one dataset",
            REFUSED,
            ["run", "--dataset", "kadis700k", "--data-dir", "a", "--data-dir", "b"],
            "write --data-dir DATASET=PATH",
        ),
        row(
            "a dataset that no task of the paper has",
            REFUSED,
            ["run", "mmbench", "--dataset", "koniq10k"],
            "unknown dataset 'koniq10k'; available: mmbench",
        ),
        row(
            "a split that only one of two tasks has",
            REFUSED,
            ["run", "mmbench/en", "mmbench/cc", "--split", "test"],
            "unknown split 'test' of mmbench/cc",
        ),
        row(
            "an option that belongs to another dataset",
            REFUSED,
            ["run", "q_bench/perception", "--data-option", "place=1"],
            "unknown llvisionqa option 'place'",
        ),
        row("a batch size of 0", REFUSED, ["run", "--batch-size", "0"], "--batch-size"),
        row("a negative number of items", REFUSED, ["run", "--limit", "-3"], "--limit"),
        row("a negative seed", REFUSED, ["run", "--seed", "-1"], "--seed"),
        row("a seed of 5,000 digits", REFUSED, ["run", "--seed", "9" * 5000], "--seed"),
        row("`eyechart score` without predictions", REFUSED, ["score", "q_bench/perception"], "--predictions"),
        row("an infinite server timeout", REFUSED, [*SERVER, "--timeout", "inf"], "timeout=inf is not"),
        row("a judge timeout of 1e300 s", REFUSED, ["run", "--judge-timeout", "1e300"], "--judge-timeout"),
        row(
            "nested values for a data option",
            REFUSED,
            [*PERCEPTION, "--data-option", f"a={NESTED}"],
            "nested too deeply",
        ),
        row("nested fields for the server", REFUSED, [*SERVER, "--extra-body", '{"a":' + NESTED], "nested too deeply"),
        row(
            "fields nested as deep as JSON allows",
            REFUSED,
            [*SERVER, "--extra-body", '{"a":' + "[" * 400 + "]" * 400 + "}"],
            "at most 50 levels are allowed",
        ),
        row(
            "an infinite number in a field for the server",
            REFUSED,
            [*SERVER, "--extra-body", '{"a": 1e999}'],
            "is not JSON",
        ),
        row(
            "a lone surrogate in a field for the server",
            REFUSED,
            [*SERVER, "--extra-body", '{"a": "\\ud800"}'],
            "is not JSON",
        ),
        row(
            "a setting of 5,000 digits", REFUSED, [*PERCEPTION, "--set", f"shuffle_seed={'9' * 5000}"], "shuffle_seed: "
        ),
        row("an unknown device", REFUSED, [*PERCEPTION, "--device", "gpu"], "unknown device 'gpu'"),
        row("an unknown device map", REFUSED, [*PERCEPTION, "--device-map", "all"], "unknown device_map 'all'"),
        row("an unknown attention implementation", REFUSED, [*PERCEPTION, "--attention", "x"], "unknown attention 'x'"),
        row("an unknown dtype", REFUSED, [*PERCEPTION, "--dtype", "b16"], "unknown dtype 'b16'"),
        row("a path of 5,000 characters", REFUSED, ["report", "x" * 5000], "File name too long"),
        row("a suite file name of 5,000 characters", REFUSED, ["run", "--suite", "x" * 5000], "File name too long"),
        row(
            "a suite file without an end, such as /dev/zero",
            REFUSED,
            ["run", "--suite", "/dev/zero"],
            "expected a regular file",
        ),
    ],
)
def test_arguments(arguments, message):
    done = invoke(*arguments)
    assert (done.exit_code, type(done.exception)) == (2, SystemExit), done.output
    assert message in said(done) and "Traceback" not in done.output


@pytest.mark.parametrize(
    ("values", "message"),
    [
        row("an infinite judge temperature", REFUSED, {"temperature": float("inf")}, "temperature=inf"),
        row("a cost limit that is not a number", REFUSED, {"max_cost": float("nan")}, "max_cost=nan"),
        row("an infinite price", REFUSED, {"price": (1.0, float("inf"))}, r"price=\(1.0, inf\)"),
        row("a cost limit without a price", REFUSED, {"max_cost": 1.0}, "max_cost needs a price"),
        row("a judge without a name", REFUSED, {"model": ""}, "model='' is not allowed"),
    ],
)
def test_judge(values, message):
    with pytest.raises(UsageError, match=message):
        JudgeOptions(**{"model": "judge", **values})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        row("an impossible date in a suite file", REFUSED, "name: 2026-02-31", "2026-02-31, which is not valid"),
        row("a number of 5,000 digits in a suite file", REFUSED, "seed: " + "9" * 5000, "put text in quotes"),
        row("a key that is a list", REFUSED, "? [a]\n: b", "found unhashable key"),
        row("a duplicate key", REFUSED, "seed: 1\nseed: 2", "found the key 'seed' a second time"),
        row("aliases that expand to millions of values", REFUSED, "a: &a [x]\nb: &b [*a, *a]", "found the alias 'a'"),
        row("a self-referencing alias", REFUSED, "name: &a [*a]", "found the alias 'a'"),
        row("the name of a Python function", REFUSED, "name: !!python/name:os.system", "could not determine a constr"),
        row("lists nested 5,000 times", REFUSED, "tasks: " + "[" * 5_000, "nested too deeply for a suite file"),
        row("a binary file", REFUSED, "name: \xff\xfe", "cannot be read"),
        row(
            "a folder name of 5,000 characters in a suite file",
            REFUSED,
            f"tasks: [{{task: q_bench/perception, data_dir: {'x' * 5000}}}]",
            "File name too long",
        ),
    ],
)
def test_suite_files(tmp_path, text, message):
    (tmp_path / "suite.yaml").write_text(text, encoding="latin-1")
    done = invoke("run", "--suite", tmp_path / "suite.yaml")
    assert (done.exit_code, type(done.exception)) == (2, SystemExit), done.output
    assert message in said(done) and "Traceback" not in done.output


@pytest.mark.parametrize(
    ("text", "message"),
    [
        row("a task's description of 1 MB", REFUSED, f"description: {'x' * 10**6}", "description: "),
        row(
            "a lone surrogate in a task file",
            REFUSED,
            'note: "\\ud800"',
            "note: ",
        ),
        row(
            "a hexadecimal number of 6,000 digits in a task file",
            REFUSED,
            "note: 0x" + "f" * 6000,
            "thousands of digits",
        ),
    ],
)
def test_task_files(tmp_path, text, message):
    (tmp_path / "own.yaml").write_text(f"{TASK}{text}\n")
    done = invoke("tasks", tmp_path / "own.yaml")
    assert (done.exit_code, type(done.exception)) == (2, SystemExit), done.output
    assert message in said(done)


@pytest.mark.parametrize(
    "metadata",
    [
        row("an impossible date in a model's card", "one line reports it", "date: 2026-02-31"),
        row("a number of 5,000 digits in a model's card", "one line reports it", "size: " + "9" * 5000),
        row("lists nested 5,000 times in a model's card", "one line reports it", "tags: " + "[" * 5000),
        row(
            "a hexadecimal number of 6,000 digits in a model's card",
            "one line reports it",
            "{size: 0x" + "f" * 6000 + "}",
        ),
    ],
)
def test_model_cards(metadata):
    with pytest.raises(DataError, match="the card's metadata"):
        merged_card(f"---\n{metadata}\n---\n# Model\n", "model", [{"task": {}}], "section")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        row(
            "a model's folder without weights",
            "one line says what was expected; exit code 1",
            None,
            b"",
            "The folder contains no weights; expected model.safetensors",
        ),
        row(
            "a model's weights are a damaged pickle",
            "one line says that only tensors are read; exit code 1",
            "pytorch_model.bin",
            b"rubbish",
            "Only tensors are read from pickled weights (pytorch_model.bin)",
        ),
        row(
            "a model's weights are a pickle that starts a program",
            "the program is not started; one line reports it; exit code 1",
            "pytorch_model.bin",
            None,
            "Only tensors are read from pickled weights (pytorch_model.bin)",
        ),
    ],
)
def test_models(tmp_path, name, content, message):
    folder = tmp_path / "model"
    shutil.copytree(tiny_vlm.folder(), folder, ignore=shutil.ignore_patterns("*.safetensors"))
    if name is not None and content is not None:
        (folder / name).write_bytes(content)
    elif name is not None:
        import torch

        torch.save({"weights": Program(tmp_path / "started")}, folder / name)
    done = invoke(*PERCEPTION, "--model", folder)
    assert (done.exit_code, done.stderr.count("\n")) == (1, 1), done.output
    assert message in done.stderr
    assert not (tmp_path / "started").exists()


class Program:
    """Starts a program when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


@fault("a missing model folder", "one line reports it before any data are loaded; exit code 1")
def test_missing_model(tmp_path):
    done = invoke("run", "--mini", "--model", tmp_path / "nowhere", "--data-dir", "kadis700k=/does/not/exist")
    assert done.exit_code == 1
    assert "nowhere' does not exist" in done.output and "loading" not in done.output


@fault("the working directory was deleted", "one line reports it; exit code 1")
def test_working_directory(tmp_path):
    code = "import os, sys; os.rmdir(os.getcwd()); from eyechart.evaluators.cli import main; main()"
    (tmp_path / "gone").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", code, "tasks"], cwd=tmp_path / "gone", capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr == (
        "eyechart: the working directory cannot be read: No such file or directory; change to one that exists\n"
    )


SHOWN = "it is shown as plain text, with control characters escaped"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        row("a model's name reverses the text direction", SHOWN, "\u202egnp.exe\u2066", "\\u202egnp.exe\\u2066"),
        row(
            "a model's name contains control sequences that clear the terminal and ring its bell",
            SHOWN,
            "\x1b[2J\x07\x9b31m",
            "\\x1b[2J\\x07\\x9b31m",
        ),
        row("a model's name contains a lone surrogate", SHOWN, "a\ud800", "a\\ud800"),
        row("a model's name is markup of the table", SHOWN, "[red]", "[red]"),
        row("a model's name closes markup that was never opened", SHOWN, "[/red] and [/x]", "[/red] and [/x]"),
        row(
            "a model's name is a link in the table's markup",
            SHOWN,
            "[link=http://x]y[/link]",
            "[link=http://x]y[/link]",
        ),
        row("a model's name ends in a backslash", SHOWN, "a\\", "a\\"),
    ],
)
def test_terminal(text, shown):
    to = io.StringIO()
    console = Console(file=to, width=240, force_terminal=True, color_system=None)
    found = evaluated(model=text, scores=ACCURACY | {"by_concern": {text: ACCURACY}})
    print_screen(console, [found], [FailedTask(task=text, dataset=text, error=text)])
    lines = [line.rstrip() for line in to.getvalue().splitlines()]
    assert lines[0].startswith(f"{shown} on llvisionqa")
    assert any(line.startswith(f"  {shown} ") for line in lines)
    assert any(line.startswith(f"{shown} ") and line.endswith("failed, see above") for line in lines)
    print_line(console, f"line {text} end")
    assert to.getvalue().endswith(f"line {shown} end\n")


@fault("an error names a path with control characters", SHOWN)
def test_path(tmp_path):
    done = invoke("report", tmp_path / "a\u202eb\x1b[2J")
    assert done.exit_code == 1 and "a\\u202eb\\x1b[2J" in done.stderr


@fault("a reply and a model's name reverse the text direction", "the report shows these characters escaped")
def test_report(tmp_path):
    reply = answer("1", text="\u202eA\r\nB", options=["x", "y"], answer="A", question="Which?\u2066")
    folder = write(tmp_path / "run", [evaluated(scores=ACCURACY, predictions=[reply], caveats=["\u2067caveat"])])
    text = write_report([folder]).read_text(encoding="utf-8")
    assert not set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069") & set(text)
    assert "\\\\u202eA\\nB" in text and "\\u2067caveat" in text
