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
from eyechart.evaluators.backends.processes import ALONE, join_processes
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
PROCESS = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}
NESTED = "[" * 100_000
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
        ("a plan for 1.5 items", [*PLAN, "--n", "1.5"], "Invalid value for '--n'"),
        ("a plan for 10^18 models", [*PLAN, "--models", str(10**18)], "it must be from 2 to 1,000,000"),
        ("a plan with a power of 1e400", [*PLAN, "--power", "1e400"], "--power"),
        ("a task name with a missing letter", ["run", "q_bench/percepton"], "did you mean 'q_bench/perception'?"),
        ("a dataset name with a missing letter", ["run", "--dataset", "kadis700"], "did you mean 'kadis700k'?"),
        ("a dataset of another task", ["run", "q_bench/perception", "--dataset", "kadis700k"], "unknown dataset"),
        ("an unknown split", ["run", "q_bench/perception", "--split", "tset"], "unknown split 'tset' of"),
        ("a split that a task lacks", ["run", "mmbench/en", "mmbench/cc", "--split", "test"], "'test' of mmbench/cc"),
        ("a data folder without a dataset", ["run", "--data-dir", "kadis=x"], "did you mean 'kadis700k'?"),
        ("one data folder for several tasks", ["run", "--data-dir", "."], "does not say which dataset it is"),
        ("a missing data folder for several tasks", ["run", "--data-dir", "missing"], "--data-dir missing does not"),
        ("two folders of a dataset", ["run", "--dataset", "spaq", *2 * ["--data-dir", "a"]], "DATASET=PATH"),
        ("an option of another dataset", ["run", "q_bench/perception", "--data-arg", "place=1"], "option 'place'"),
        ("a negative number of items", ["run", "--limit", "-3"], "--limit"),
        ("a seed of 5,000 digits", ["run", "--seed", "9" * 5000], "--seed"),
        ("`eyechart score` without predictions", ["score", "q_bench/perception"], "--predictions"),
        ("an infinite server timeout", [*SERVER, "--model-arg", "timeout=inf"], "timeout=inf is not"),
        ("a judge timeout of 1e300 s", ["run", "--judge", "j", "--judge-arg", "timeout=1e300"], "timeout=1e+300 is no"),
        ("nested values for a data option", [*PERCEPTION, "--data-arg", f"a={NESTED}"], "option 'a'"),
        ("an infinite temperature", [*SERVER, "--temperature", "1e400"], "--temperature inf is not"),
        ("an infinite age of stored answers", ["store", "prune", "--older-than", "1e400"], "--older-than inf is not"),
        ("an infinite price", [*SERVER, "--judge", "j", "--judge-arg", "price=[1e400,1]"], "--judge-arg price="),
        ("a price that is no list", [*SERVER, "--model-arg", "price=abc"], "expected a list, such as [2.5,10]"),
        ("a setting without its brackets", ["run", "q_bench/assessment", "--set", "levels=a"], "such as [exc"),
        ("a cost limit without a price", [*SERVER, "--model-arg", "max_cost=3"], "max_cost needs a price"),
        ("an infinite number in a field for the server", field("1e999"), "extra_body="),
        ("a lone surrogate in a field for the server", field('"\\ud800"'), "extra_body="),
        ("a setting of 5,000 digits", [*PERCEPTION, "--set", f"shuffle_seed={'9' * 5000}"], "shuffle_seed: "),
        ("an unknown device", [*PERCEPTION, "--device", "gpu"], "unknown device 'gpu'"),
        ("an unknown device map", [*PERCEPTION, "--model-arg", "device_map=all"], "unknown device_map 'all'"),
        ("an unknown attention implementation", [*PERCEPTION, "--model-arg", "attention=x"], "unknown attention 'x'"),
        ("an unknown dtype", [*PERCEPTION, "--dtype", "b16"], "unknown dtype 'b16'"),
        ("a path of 5,000 characters", ["report", "x" * 5000], "File name too long"),
        ("--name is not UTF-8", [*SERVER, "--name", "a\udcff"], "--name 'a"),
        ("--model-arg is not UTF-8", [*SERVER, "--model-arg", "served_name=\udcff"], "--model-arg 's"),
        ("publish --model-repo is not UTF-8", ["publish", "run", "--model-repo", "a\udcff"], "--model-repo 'a"),
        ("a task's name is not UTF-8", ["tasks", "a\udcff"], "name 'a"),
        ("--data-dir '' would take the current folder", [*PERCEPTION, "--data-dir", ""], "--data-dir"),
        ("--data-dir= would take the current folder", [*PERCEPTION, "--data-dir="], "--data-dir"),
        ("--data-dir DATASET= has no path", [*PERCEPTION, "--data-dir", "llvisionqa="], "--data-dir llvisionqa='' is"),
        ("--out '' would write into the current folder", [*PERCEPTION, "--out", ""], "--out"),
        ("--model '' would run the bundled model", [*PERCEPTION, "--model", ""], "--model"),
        ("--judge '' would omit the judge", [*PERCEPTION, "--judge", ""], "--judge"),
        ("leaderboard build '' would take the current folder", ["leaderboard", "build", ""], "argument"),
        ("--base-url '' would send all images to OpenAI", [*PERCEPTION, "--base-url", ""], "--base-url"),
        ("report '' would take the current folder for a run", ["report", ""], "an argument has an empty value"),
        ("store prune --model '' would remove all answers", ["store", "prune", "--model", ""], "--model"),
        ("an empty setting", ["run", "mmbench/en", "--mini", "--set", "human_labels="], "human_labels"),
        ("an empty data option", ["run", "two_afc/coarse", "--mini", "--data-arg", "mm21_dir="], "mm21_dir=''"),
    ),
)
def test_arguments(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused(invoke(*arguments), message)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "message"),
    rows(
        REFUSED,
        ("a check without a requirement", [], "there is nothing to check; set --min TASK"),
        ("a threshold that is no number", ["--min", "q_bench=high"], "--min q_bench='high' is not allowed; expected a"),
        ("an infinite threshold", ["--min", "q_bench=1e400"], "expected a number, such as 0.6 for 60 %"),
        ("a threshold without a task", ["--min", "=0.5"], "--min '=0.5' is not TASK[@DATASET][:SCORE]=VALUE"),
        ("two thresholds of a score", 2 * ["--min", "q_bench=0.5"], "--min 'q_bench=0.5' gives a second value"),
        (
            "a threshold on a task that the run lacks",
            ["--min", "q_bench/percepton=1"],
            "did you mean 'q_bench/percepti",
        ),
        ("a threshold on an unknown dataset", ["--min", "q_bench@koniq=1"], "unknown dataset 'koniq' of q_bench"),
        ("a threshold on an unknown score", ["--min", "q_bench:acuracy=1"], "did you mean 'accuracy'?"),
        ("a threshold on a count", ["--min", "q_bench:n=1"], "unknown score 'n' with a 95 % interval"),
        ("a threshold of 60 for 60 %", ["--min", "q_bench=60"], "accuracy is a number from 0 to 1"),
        ("a maximum of a score of which more is better", ["--max", "q_bench=0.6"], "accuracy is better; use --min"),
        ("a run as its own baseline", ["--not-worse-than", "run"], "is given twice"),
        ("a baseline on other data", ["--not-worse-than", "other"], "no task on the same data in common"),
        ("a setting that may differ from no baseline", ["--min", "q_bench=0", "--allow", "seed"], "--allow has no eff"),
    ),
)
def test_requirements_of_a_run(arguments, message, tmp_path, monkeypatch, any_scores):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "run", [evaluated()])
    write(tmp_path / "other", [evaluated(split="test")])
    done = invoke("check", "run", *arguments, "--junit", "junit.xml")
    refused(done, message)
    assert not (tmp_path / "junit.xml").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    rows(
        REFUSED,
        ("an impossible date in a task file", "note: 2026-02-31", "day is out of range for month"),
        ("a number of 5,000 digits in a task file", "note: " + "9" * 5000, "Exceeds the limit"),
        ("a hexadecimal number of 6,000 digits in a task file", "note: 0x" + "f" * 6000, "thousands of digits"),
        ("a key that is a list", "? [a]\n: b", "found unhashable key"),
        ("a duplicate key", "note: x\nnote: y", "found the key 'note' a second time"),
        ("aliases that expand to millions of values", MANY, "more than 250,000 values"),
        ("a self-referencing alias", "note: &a [*a]", "line 5, column 11: the alias 'a' is within its own value"),
        ("a timestamp that is a word", "note: !!timestamp x", "line 5, column 7: 'x' is not a valid timestamp"),
        ("a truth value that is a word", "note: !!bool maybe", "'maybe' is not a valid bool"),
        ("a merge key without keys", "<<: [x]", "expected a mapping for merging"),
        ("an impossible character in a task file", 'note: "\\U00110000"', "line 5, column 10: chr() arg"),
        ("a date in place of a text", "note: 2026-01-01", "own.yaml: note: "),
        ("a sexagesimal number in place of a text", "note: 12:30", "'12:30' means 750 in YAML 1.1; put it in quotes"),
        ("an octal number", "settings: {max_new_tokens: 010}", "line 5, column 28: '010' means 8 in YAML 1.1"),
        ("a truth value that is a word of a language", "note: no", "'no' means false in YAML 1.1; put it in quotes"),
        ("the name of a Python function", "note: !!python/name:os.system", "could not determine a constr"),
        ("lists nested 1,000,000 times", "groups: " + "[" * 10**6, "nested more than 100 levels deep"),
        ("a binary file", "note: \xff\xfe", "cannot be read"),
        ("a task's description of 1 MB", f"description: {'x' * 10**6}", "description: "),
        ("a lone surrogate in a task file", 'note: "\\ud800"', "Task: note: "),
        ("a form of the hint that reads an attribute", "hint: '{0.__class__}'", "hint: write a text with one {} for"),
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
        ("a prompt shows the label's column through a group", "{answer: gold, correct: gold}", "{correct}"),
        ("a prompt shows a label that is a number", "{answer: {column: number, base: 0}, hint: number}", "{hint}"),
        ("a prompt shows the label as the question's hint", "{answer: gold, hint: gold}", "{hint}"),
        ("a prompt shows the first letter of the label", "{answer: gold}", "{answer[0]}"),
        ("a prompt converts the label", "{answer: gold}", "{answer!r}"),
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


@pytest.mark.parametrize(
    "metadata",
    rows(
        "one line reports it",
        ("an impossible date in a model's card", "date: 2026-02-31"),
        ("a self-referencing alias in a model's card", "tags: &a [*a]"),
        ("aliases that expand to millions of values in a model's card", MANY),
        ("a hexadecimal number of 6,000 digits in a model's card", f"{{size: 0x{'f' * 6000}}}"),
    ),
)
def test_model_cards(metadata):
    with pytest.raises(DataError, match="the card's metadata") as caught:
        merged_card(f"---\n{metadata}\n---\n# Model\n", "model", ENTRIES, "section")
    assert "\n" not in str(caught.value)


KEPT = "license: mit # here\nlanguage: [en]\ntags: [a, '1']\n"


@pytest.mark.parametrize(
    ("line_end", "opening", "closing"),
    rows(
        "its text and the values of all other metadata are unchanged",
        ("a card has CR line ends", "\r", "---", "---"),
        ("a card has CRLF line ends", "\r\n", "---", "---"),
        ("a card's metadata end with three dots", "\n", "---", "..."),
        ("blanks follow the start of a card's metadata", "\n", "--- \t", "---"),
        ("blanks follow the end of a card's metadata", "\n", "---", "--- "),
    ),
)
def test_cards_keep_their_metadata(line_end, opening, closing):
    card = f"{opening}\n{KEPT}{closing}\n# Model\n".replace("\n", line_end)
    once = merged_card(card, "model", ENTRIES, "section")
    metadata, section = once.replace(line_end, "\n").removeprefix("---\n").split("---\n# Model\n\n")
    assert yaml.safe_load(metadata) == yaml.safe_load(KEPT) | {"model-index": [{"name": "model", "results": ENTRIES}]}
    assert section.startswith("<!-- eyechart") and merged_card(once, "model", ENTRIES, "section") == once


@pytest.mark.parametrize(
    "card",
    rows(
        "it is refused; its licence and tags do not become text",
        ("a card's metadata are never closed", f"---\n{KEPT}# Model\n"),
        ("a card's metadata are between lines of four hyphens", f"----\n{KEPT}----\n# Model\n"),
        ("a card has a value that YAML 1.1 reads as another", "---\nlicense: no\n---\n"),
    ),
)
def test_cards_of_other_forms(card):
    with pytest.raises(DataError, match="the card"):
        merged_card(card, "model", ENTRIES, "section")


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


@pytest.mark.parametrize(
    ("weights", "message"),
    rows(
        "one line reports it; no program is started; exit code 1",
        ("a model's folder without weights", None, "contains no weights; expected model.safetensors"),
        ("a model's weights are a damaged pickle", b"rubbish", "Only tensors are read from pickled weights"),
        ("a model's weights are a pickle that starts a program", "program", "Only tensors are read from pickled"),
    ),
)
def test_models(tmp_path, weights, message):
    import torch

    folder = tmp_path / "model"
    shutil.copytree(tiny_vlm.folder(), folder, ignore=shutil.ignore_patterns("*.safetensors"))
    if weights == "program":
        torch.save({"weights": Program(tmp_path / "started")}, folder / "pytorch_model.bin")
    elif weights:
        (folder / "pytorch_model.bin").write_bytes(weights)
    done = invoke(*PERCEPTION, "--model", folder, code=1)
    assert done.stderr.count("\n") == 1 and message in done.stderr
    assert not (tmp_path / "started").exists()


@fault("a missing model folder", "one line reports it before any data are loaded; exit code 1")
def test_missing_model(tmp_path):
    done = invoke("run", "--mini", "--model", tmp_path / "nowhere", "--data-dir", "kadis700k=/does/not/exist", code=1)
    assert "nowhere' does not exist" in done.output and "loading" not in done.output


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


@fault("the output is closed", "the command completes")
def test_output_that_is_closed():
    words = f"{sys.executable} -c 'from eyechart.evaluators.cli import main; main()' store info >&-"
    done = subprocess.run(words, shell=True, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


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
        ("RANK is not below WORLD_SIZE", PROCESS | {"RANK": "2"}, "RANK='2'"),
    ),
)
def test_variables_of_launchers(variables, named, monkeypatch):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    done = invoke("run", "--mini", "--model", "no-such-model")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1) and named in done.stderr


@fault("variables of launchers describe a single process", "the command runs")
def test_variables_of_one_process(monkeypatch):
    for name, value in (PROCESS | {"WORLD_SIZE": "1"}).items():
        monkeypatch.setenv(name, value)
    assert join_processes() is ALONE


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
        ("a model's name contains a lone surrogate", "a\ud800", "a\\ud800"),
        ("a model's name is markup of the table", "[red]", "[red]"),
        ("a model's name closes markup that was never opened", "[/red] and [/x]", "[/red] and [/x]"),
        ("a model's name ends in a backslash", "a\\", "a\\"),
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
