"""The commands that ask a judge, build a leaderboard and manage the store."""

import json
import time

import pyarrow.parquet
import pytest

from eyechart.evaluators.requests import store as responses
from eyechart.evaluators.requests.store import ResponseStore
from eyechart.evaluators.requests.types import Answer
from eyechart.evaluators.results.results_file import read_results
from tests.evaluators.command_line import invoke
from tests.evaluators.scripted_server import always
from tests.hub_cards.leaderboard.handed_in import board_named, hand_in, result_on


@pytest.fixture
def described(http, tmp_path, no_report):
    """Describes three pictures and has them judged; returns the command's end and the one result."""

    def run(name, *arguments):
        url = http.url_for("/v1")
        judge = ("--judge", "judge", "--judge-arg", f"base_url={url}")
        done = invoke("run", "q_bench/description", "--limit", 3, *judge, *arguments, "--out", tmp_path / name)
        found = read_results(tmp_path / name).tasks if done.exit_code == 0 else []
        return done, *found

    return run


def test_a_judge_is_asked_once_and_a_repeated_run_costs_nothing(script, described):
    script.say(always("Score: 1", prompt_tokens=100, completion_tokens=5))
    done, first = described("first")
    assert done.exit_code == 0, done.output
    scored = first.scores["n"]
    assert first.scores["judge"] == "judge" and first.scores["completeness"]["score"] == 1.0
    assert len(script.bodies) == 3 * scored and all(body["n"] == 5 for body in script.bodies)
    told = first.settings["judge"]
    assert (told["replies"], told["prompt_tokens"], told["incomplete"]) == (15 * scored, 300 * scored, False)
    assert first.complete and first.timings["judge_requests"] == 3 * scored
    _, second = described("second")
    assert len(script.bodies) == 3 * scored
    assert (second.scores, second.settings["judge"]) == (first.scores, told)
    assert second.timings["judge_requests"] == 0


@pytest.mark.parametrize(("replies", "code"), [(("As a model, I cannot",), 1), (("Score: 1", "I cannot"), 0)], ids=str)
def test_a_judge_that_gives_nothing_usable_ends_with_exit_code_1(script, http, tmp_path, no_report, replies, code):
    script.say(*map(always, replies))
    judge = ("--judge", "judge", "--judge-arg", f"base_url={http.url_for('/v1')}", "--judge-arg", "concurrency=1")
    done = invoke("run", "q_bench/description", "--limit", 2, *judge, "--out", tmp_path / "run")
    (task,) = read_results(tmp_path / "run").tasks
    assert done.exit_code == code and not task.complete and task.settings["judge"]["incomplete"]
    said = "q_bench/description on lldescribe: The judge judge gave no usable reply in 30 of 30 rounds (30 not in"
    assert (said in " ".join(done.output.split())) == bool(code)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--set", "rounds=3"), "rounds=3 has no effect on q_bench/perception without --judge"),
        (("--judge", "x", "--set", "inference=closed-set"), "--judge has no effect"),
        (("--judge-arg", "max_cost=3"), "--judge-arg max_cost=3 has no effect without --judge"),
        (("--judge", "x", "--judge-arg", "max_costs=3"), "did you mean 'max_cost'?"),
    ],
)
def test_wrong_usage_of_judges(tmp_path, arguments, problem):
    done = invoke("run", "q_bench/perception", *arguments, "--out", tmp_path / "run", code=2)
    assert problem in done.output and not (tmp_path / "run").exists()


PERCEPTION = board_named("q_bench/perception")


def test_build_says_what_it_accepted_rejected_and_replaced_and_where_the_space_is(tmp_path):
    build = ("leaderboard", "build", tmp_path / "in", "--out", tmp_path / "space")
    hand_in(tmp_path / "in", "a", [result_on(PERCEPTION, "org/a")])
    done = invoke(*build, code=0)
    assert (
        "1 accepted, 0 replaced, 0 rejected" in done.output and f"`eyechart view {tmp_path / 'space'}`" in done.output
    )
    stated = {"entry": "a", "board": PERCEPTION.name, "reason": "there are no predictions"}
    outcome = json.loads((tmp_path / "space_outcome.json").read_text())
    assert outcome == {"rejected": [], "replaced": [], "stated": [stated]}
    assert "stated, not checked a, q_bench/perception: there are no predictions" in done.output
    hand_in(tmp_path / "in", "b", [result_on(PERCEPTION, "org/a")])
    bad = board_named("aes_bench/perception")
    hand_in(tmp_path / "in", "bad", [result_on(bad, "\x1b[31mred") | {"complete": False}])
    done = invoke(*build, "--outcome", tmp_path / "why.json", code=1)
    assert "rejected bad, aes_bench/perception on aesbench:" in done.output and "\x1b" not in done.output
    assert "incomplete: the scores are based on fewer requests" in done.output
    assert "replaced a, q_bench/perception, org/a: by b" in done.output
    written = json.loads((tmp_path / "why.json").read_text())
    assert [len(one["reasons"]) for one in written["rejected"]] == [2] and len(written["replaced"]) == 1


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
        (["--model", "a/c"], "unknown model 'a/c' in the response store; did you mean 'a/b'?"),
    ],
)
def test_prune_removes_nothing_that_is_not_named(options, message):
    fill()
    done = invoke("store", "prune", *options, code=2)
    assert message in done.output
    assert stored_answers() == 301


@pytest.mark.usefixtures("no_report")
def test_a_second_run_asks_only_what_is_missing_and_gives_the_same_result(tmp_path):
    def run(name, *options):
        invoke("run", "q_bench/perception", "--out", tmp_path / name, *options, code=0)
        (task,) = read_results(tmp_path / name).tasks
        table = pyarrow.parquet.read_table(tmp_path / name / "predictions.parquet").to_pylist()
        return (task.scores, task.settings, task.left_out, table), task.timings["answers_from_store"], stored_answers()

    first, *counts = run("first", "--limit", "8")
    assert counts == [0, 8]
    assert run("again", "--limit", "8") == (first, 8, 8)
    assert run("unstored", "--limit", "3", "--no-store")[1:] == (0, 8)
    assert run("larger", "--limit", "10")[1:] == (8, 10)


def test_scoring_answers_made_elsewhere_uses_no_store(tmp_path):
    (tmp_path / "answers.jsonl").write_text('{"id": "x", "text": "A"}\n')
    options = ["--predictions", tmp_path / "answers.jsonl", "--out", tmp_path / "out", "--limit", "2"]
    invoke("score", "q_bench/perception", "--mini", *options, code=1)
    assert not responses.default_path().exists()
