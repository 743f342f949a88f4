import sqlite3
import time

import pyarrow.parquet
import pytest

from eyechart.evaluators.requests import store as responses
from eyechart.evaluators.requests.store import ResponseStore
from eyechart.evaluators.requests.types import Answer
from eyechart.evaluators.results.results_file import read_results
from tests.evaluators.command_line import invoke


def fill():
    with ResponseStore.open() as store:
        store.put("a/b", {f"{i}".encode(): Answer(text="x" * 1000) for i in range(300)})
        store.put("c", {b"one": Answer(text="x")})
        store._connection.execute("UPDATE responses SET stored_at = stored_at - 864000 WHERE key < x'32'")


def stored_answers():
    with ResponseStore.open() as store:
        return sum(model.answers for model in store.models())


def test_info_says_where_it_is_what_it_holds_and_that_it_is_whole():
    done = invoke("store", "info")
    assert (done.exit_code, "0 answers" in done.output) == (0, True)
    fill()
    done = invoke("store", "info", code=0)
    assert f"{responses.default_path()}: 301 answers, " in done.output and "undamaged" in done.output
    (line,) = (line for line in done.output.splitlines() if "a/b" in line)
    assert "300" in line and "kB" in line and time.strftime("%Y-") in line


@pytest.mark.parametrize(
    ("options", "removed", "left"),
    [
        (["--model", "c"], ["c: 1 answer removed", "1 answer removed"], 300),
        (["--older-than", "5"], ["a/b: 112 answers removed", "112 answers removed"], 189),
        (["--older-than", "5", "--model", "c"], ["0 answers removed"], 301),
        (["--older-than", "20"], ["0 answers removed"], 301),
        (["--unreadable"], ["unreadable: 0 answers removed", "0 answers removed"], 301),
        (["--all"], ["a/b: 300 answers removed", "c: 1 answer removed", "301 answers removed"], 0),
    ],
)
def test_prune_says_what_it_removed(options, removed, left):
    fill()
    done = invoke("store", "prune", *options, code=0)
    lines = done.output.splitlines()
    assert lines[:-1] == removed[:-1] and lines[-1].startswith(f"{removed[-1]}; the store now takes")
    assert stored_answers() == left


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "choose what to remove"),
        (["--all", "--model", "c"], "choose what to remove"),
        (["--all", "--unreadable"], "choose what to remove"),
        (["--model", "a/c"], "unknown model 'a/c' in the response store; did you mean 'a/b'?"),
        (["--older-than", "-1"], "greater than or equal to 0 "),
    ],
)
def test_prune_removes_nothing_that_is_not_named(options, message):
    fill()
    done = invoke("store", "prune", *options, code=2)
    assert message in done.output
    assert stored_answers() == 301


def test_a_store_that_cannot_be_used_stops_a_run_before_the_model_is_loaded(tmp_path):
    fill()
    other = sqlite3.connect(responses.default_path())
    other.execute("PRAGMA user_version = 99")
    other.close()
    options = ["run", "q_bench/perception", "--limit", "4", "--out", tmp_path / "out"]
    done = invoke(*options, "--model", tmp_path / "nowhere", code=1)
    assert "newer eyechart" in done.output and "--no-store" in done.output and "nowhere" not in done.output
    assert not (tmp_path / "out").exists()
    invoke(*options, "--no-store", code=0)


def test_a_second_run_asks_only_what_is_missing_and_gives_the_same_result(tmp_path):
    def run(name, *options):
        invoke("run", "q_bench/perception", "aes_bench/assessment", "--out", tmp_path / name, *options, code=0)
        tasks = read_results(tmp_path / name).tasks
        table = pyarrow.parquet.read_table(tmp_path / name / "predictions.parquet").to_pylist()
        stored = [task.timings["answers_from_store"] for task in tasks]
        return [(task.scores, task.settings, task.left_out) for task in tasks], table, stored

    *first, stored = run("first", "--limit", "12")
    assert (stored, stored_answers()) == ([0, 0], 24)
    *again, stored = run("again", "--limit", "12")
    assert (stored, again) == ([12, 12], first)
    *_, stored = run("unstored", "--limit", "4", "--no-store")
    assert (stored, stored_answers()) == ([0, 0], 24)
    *_, stored = run("larger", "--limit", "15")
    assert (stored, stored_answers()) == ([12, 12], 30)


def test_scoring_answers_made_elsewhere_uses_no_store(tmp_path):
    (tmp_path / "answers.jsonl").write_text('{"id": "x", "text": "A"}\n')
    options = ["--predictions", tmp_path / "answers.jsonl", "--out", tmp_path / "out", "--limit", "2"]
    invoke("score", "q_bench/perception", "--mini", *options, code=1)
    assert not responses.default_path().exists()
