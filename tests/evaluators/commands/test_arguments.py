import json

import pytest
import typer

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.cli import app
from eyechart.evaluators.commands.arguments import parse_pairs
from eyechart.evaluators.results.results_file import read_results
from tests.evaluators.command_line import invoke


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
