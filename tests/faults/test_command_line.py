"""Command line: invalid, empty and untrusted arguments and files, its environment, and text on the terminal."""

import io
import json
import os
import re
import shutil
import subprocess
import sys

import pytest
import yaml
from rich.console import Console

from eyechart.datasets_scripts import load_dataset
from eyechart.datasets_scripts.common.errors import DataError, UsageError
from eyechart.evaluators import evaluator, tiny_vlm
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.evaluation.data import load_data
from eyechart.evaluators.report import write_report
from eyechart.evaluators.results.notes import note
from eyechart.evaluators.results.results_file import FailedTask
from eyechart.evaluators.runs.console import print_line
from eyechart.evaluators.runs.screen import print_screen
from eyechart.hub_cards.model_card.publication import merged_card
from tests.datasets_scripts.common.files.test_readers import encoded, noise
from tests.evaluators.command_line import invoke
from tests.evaluators.finished_runs import ACCURACY, evaluated, item, write
from tests.faults.fault import fault, rows

ENTRIES = [{"task": {"type": "x", "name": "y (eyechart)"}}]
REFUSED = "one line names the value and what to do; exit code 2"
PERCEPTION = ["run", "q_bench/perception", "--mini", "--limit", "1", "--no-store"]
SERVER = [*PERCEPTION, "--model", "m", "--base-url", "http://127.0.0.1:9/v1"]
TASK = 'name: own\nprotocol: multiple_choice\nprompt: "{images} {question} {options}"\ndata: {path: x.jsonl}\n'
PLAN = ["plan", "runs/a", "--difference", "0.1"]
MANY = "a0: &a0 x\n" + "".join(f"a{i + 1}: &a{i + 1} [*a{i}, *a{i}]\n" for i in range(30))


def field(value):
    """A field in the requests to a server."""
    return [*SERVER, "--model-arg", f'extra_body={{"a": {value}}}']


def refused(done, message):
    """Check a usage error; typer frames its messages and breaks their lines."""
    assert (done.exit_code, type(done.exception)) == (2, SystemExit), done.output
    assert message in " ".join(done.output.replace("│", " ").split()) and "Traceback" not in done.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    rows(
        REFUSED,
        ("a plan for 10^18 items", [*PLAN, "--n", str(10**18)], f"--n {10**18} is not allowed; it must be from 2 to"),
        ("a task name with a missing letter", ["run", "q_bench/percepton"], "did you mean 'q_bench/perception'?"),
        ("an unknown split", ["run", "q_bench/perception", "--split", "tset"], "unknown split 'tset' of"),
        ("one data folder for several tasks", ["run", "--data-dir", "."], "does not say which dataset it is"),
        ("an option of another dataset", ["run", "q_bench/perception", "--data-arg", "place=1"], "option 'place'"),
        ("a seed of 5,000 digits", ["run", "--seed", "9" * 5000], "--seed"),
        ("`eyechart score` without predictions", ["score", "q_bench/perception"], "--predictions"),
        ("an infinite temperature", [*SERVER, "--temperature", "1e400"], "--temperature inf is not"),
        ("a lone surrogate in a field for the server", field('"\\ud800"'), "extra_body="),
        ("a setting of 5,000 digits", [*PERCEPTION, "--set", f"shuffle_seed={'9' * 5000}"], "shuffle_seed: "),
        ("an unknown device", [*PERCEPTION, "--device", "gpu"], "unknown device 'gpu'"),
        ("a path of 5,000 characters", ["report", "x" * 5000], "File name too long"),
        ("--name is not UTF-8", [*SERVER, "--name", "a\udcff"], "--name 'a"),
        ("--data-dir '' would take the current folder", [*PERCEPTION, "--data-dir", ""], "--data-dir"),
        ("--base-url '' would send all images to OpenAI", [*PERCEPTION, "--base-url", ""], "--base-url"),
        ("report '' would take the current folder for a run", ["report", ""], "an argument has an empty value"),
        ("store prune --model '' would remove all answers", ["store", "prune", "--model", ""], "--model"),
        ("an empty setting", ["run", "mmbench/en", "--mini", "--set", "human_labels="], "human_labels"),
    ),
)
def test_arguments(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused(invoke(*arguments), message)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "message"),
    rows(
        REFUSED,
        ("an impossible date in a task file", "note: 2026-02-31", "day is out of range for month"),
        ("a number of 5,000 digits in a task file", "note: " + "9" * 5000, "Exceeds the limit"),
        ("a duplicate key", "note: x\nnote: y", "found the key 'note' a second time"),
        ("aliases that expand to millions of values", MANY, "more than 250,000 values"),
        ("a self-referencing alias", "note: &a [*a]", "line 5, column 11: the alias 'a' is within its own value"),
        ("a sexagesimal number in place of a text", "note: 12:30", "'12:30' means 750 in YAML 1.1; put it in quotes"),
        ("the name of a Python function", "note: !!python/name:os.system", "could not determine a constr"),
        ("lists nested 1,000,000 times", "groups: " + "[" * 10**6, "nested more than 100 levels deep"),
        ("a lone surrogate in a task file", 'note: "\\ud800"', "Task: note: "),
    ),
)
def test_task_files(tmp_path, text, message):
    (tmp_path / "own.yaml").write_text(f"{TASK}{text}\n", encoding="latin-1")
    refused(invoke("tasks", tmp_path / "own.yaml"), message)


@pytest.mark.parametrize(
    ("columns", "prompt"),
    rows(
        "nothing is asked; the message names the field",
        ("a prompt shows the label", "{}", "{answer}"),
        ("a prompt shows the label's column", "{answer: gold}", "{gold}"),
        ("a prompt formats a column by the label", "{answer: gold}", "{question:{answer}}"),
    ),
)
def test_prompts_that_show_the_label(tmp_path, columns, prompt):
    (tmp_path / "1.png").write_bytes(encoded(noise(), "PNG"))
    row = {"images": ["1.png"], "question": "?", "options": ["a", "b"], "answer": "A", "gold": "A", "number": 0}
    (tmp_path / "own.jsonl").write_text(json.dumps(row))
    task = {"name": "own", "protocol": "multiple_choice", "data": {"path": "own.jsonl"}}
    task |= {"columns": yaml.safe_load(columns), "prompt": "{images}{options}" + prompt}
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(task))
    with pytest.raises(UsageError, match=re.escape(prompt.strip("{}"))):
        own = evaluator(str(tmp_path / "own.yaml"))
        own.run(FunctionBackend(lambda messages: pytest.fail("asked")), load_data(own.definition))


@fault("aliases that expand to millions of values in a model's card", "one line reports it")
def test_model_cards():
    with pytest.raises(DataError, match="the card's metadata") as caught:
        merged_card(f"---\n{MANY}\n---\n# Model\n", "model", ENTRIES, "section")
    assert "\n" not in str(caught.value)


@fault("a card has CR line ends", "its text and the values of all other metadata are unchanged")
def test_cards_keep_their_metadata():
    kept = "license: mit # here\nlanguage: [en]\ntags: [a, '1']\n"
    once = merged_card(f"---\n{kept}---\n# Model\n".replace("\n", "\r"), "model", ENTRIES, "section")
    metadata, section = once.replace("\r", "\n").removeprefix("---\n").split("---\n# Model\n\n")
    assert yaml.safe_load(metadata) == yaml.safe_load(kept) | {"model-index": [{"name": "model", "results": ENTRIES}]}
    assert section.startswith("<!-- eyechart") and merged_card(once, "model", ENTRIES, "section") == once


@pytest.mark.parametrize(
    "make",
    rows(
        "it is refused before it is read",
        ("a card is a link to /dev/zero", lambda path: path.symlink_to("/dev/zero")),
        ("a card is a sparse file of 10 GB", lambda path: path.touch() or os.truncate(path, 10**10)),
    ),
)
def test_odd_cards(tmp_path, make):
    make(tmp_path / "card.md")
    write(tmp_path / "run", [evaluated(scores=ACCURACY, data={"source": "official release"})])
    done = invoke("publish", tmp_path / "run", "--model-repo", "a/m", "--same-model", "--card", tmp_path / "card.md")
    assert (done.exit_code, done.stderr.count("\n")) == (1, 1), done.output
    assert "card.md: cannot be read: it " in done.stderr


@fault(
    "a model's weights are a pickle that starts a program", "one line reports it; no program is started; exit code 1"
)
def test_models(tmp_path):
    import torch

    folder = tmp_path / "model"
    shutil.copytree(tiny_vlm.folder(), folder, ignore=shutil.ignore_patterns("*.safetensors"))
    torch.save({"weights": Program(tmp_path / "started")}, folder / "pytorch_model.bin")
    done = invoke(*PERCEPTION, "--model", folder, code=1)
    assert done.stderr.count("\n") == 1 and "Only tensors are read from pickled weights" in done.stderr
    assert not (tmp_path / "started").exists()


class Program:
    """Starts a program when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


def command(*arguments, code="from eyechart.evaluators.cli import main; main()", **options):
    return subprocess.run([sys.executable, "-c", code, *arguments], stderr=subprocess.PIPE, text=True, **options)


@fault("the output goes to a full disk", "one line reports it; exit code 1")
def test_output_to_a_full_disk():
    with open("/dev/full", "w") as full:
        done = command("store", "info", stdout=full, check=False)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert done.stderr.startswith("eyechart: a file cannot be written: No space left on device; free disk space")


@fault("the reader of the output closes the pipe", "the command ends without a message")
def test_output_that_nobody_reads():
    reading, writing = os.pipe()
    os.close(reading)
    done = command("store", "info", stdout=writing, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")


@fault("the output has only ASCII characters (PYTHONIOENCODING=ascii)", "`?` is printed for each other character")
def test_output_in_ascii(tmp_path):
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "EYECHART_HOME": str(tmp_path / "\u00e9")}
    done = command("store", "info", stdout=subprocess.PIPE, env=environment)
    assert (done.returncode, done.stderr) == (0, "") and "/?/responses.sqlite" in done.stdout


@fault("EYECHART_HOME names the home folder of an unknown user", "one line reports it; exit code 2")
def test_home_of_nobody(monkeypatch):
    monkeypatch.setenv("EYECHART_HOME", "~nobody-has-this-name/x")
    done = invoke("store", "info")
    assert done.exit_code == 2
    assert "EYECHART_HOME='~nobody-has-this-name/x' names the home folder of an unknown user" in done.output


@pytest.mark.parametrize(
    ("variables", "named"),
    rows(
        "one line names the variables, at once; exit code 2",
        ("WORLD_SIZE of an earlier job is set", {"WORLD_SIZE": "8"}, "without RANK, LOCAL_RANK, MASTER_ADDR"),
        ("WORLD_SIZE is a word", {"WORLD_SIZE": "two"}, "WORLD_SIZE='two'"),
    ),
)
def test_variables_of_launchers(variables, named, monkeypatch):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    done = invoke("run", "--mini", "--model", "no-such-model")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1) and named in done.stderr


@fault("the working directory was deleted", "one line reports it; exit code 1")
def test_working_directory(tmp_path):
    code = "import os, sys; os.rmdir(os.getcwd()); from eyechart.evaluators.cli import main; main()"
    (tmp_path / "gone").mkdir()
    done = command("tasks", code=code, cwd=tmp_path / "gone", stdout=subprocess.PIPE, check=False)
    reason = "the working directory cannot be read: No such file or directory; change to one that exists"
    assert (done.returncode, done.stderr) == (1, f"eyechart: {reason}\n")


SHOWN = "it is shown as plain text, with control characters escaped"


@pytest.mark.parametrize(
    ("text", "shown"),
    rows(
        SHOWN,
        ("a model's name reverses the text direction", "\u202egnp.exe\u2066", "\\u202egnp.exe\\u2066"),
        ("a model's name clears the terminal and rings its bell", "\x1b[2J\x07\x9b31m", "\\x1b[2J\\x07\\x9b31m"),
        ("a model's name closes markup that was never opened", "[/red] and [/x]", "[/red] and [/x]"),
    ),
)
def test_terminal(text, shown):
    to = io.StringIO()
    console = Console(file=to, width=240, force_terminal=True, color_system=None)
    result = evaluated(model=text, scores=ACCURACY | {"by_concern": {text: ACCURACY}})
    print_screen(console, [result], [FailedTask(task=text, dataset=text, error=text)])
    lines = [line.rstrip() for line in to.getvalue().splitlines()]
    assert lines[0].startswith(f"{shown} on llvisionqa")
    assert any(line.startswith(f"  {shown} ") for line in lines)
    assert any(line.startswith(f"{shown} ") and line.endswith("failed, see above") for line in lines)
    print_line(console, f"line {text} end")
    assert to.getvalue().endswith(f"line {shown} end\n")


@fault("an error names a path with control characters", SHOWN)
def test_path(tmp_path):
    done = invoke("report", tmp_path / "a\u202eb\x1b[2J", "--samples", 0)
    assert done.exit_code == 1 and "a\\u202eb\\x1b[2J" in done.stderr


@pytest.mark.usefixtures("any_scores")
@fault("a reply and a model's name reverse the text direction", "the report shows these characters escaped")
def test_report(tmp_path):
    reply = item("1", text="\u202eA\r\nB", options=["x", "y"], answer="A", question="Which?\u2066")
    folder = write(
        tmp_path / "run", [evaluated(items=[reply], notes=[note("average_missing", of=7, missing=["\u2067caveat"])])]
    )
    text = write_report([folder]).read_text(encoding="utf-8")
    assert not set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069") & set(text)
    assert "\\\\u202eA\\nB" in text and "\\u2067caveat" in text


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
