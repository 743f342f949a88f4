"""The commands that ask a judge, build a leaderboard and manage the store."""

import json
import shutil
import time
from pathlib import Path

import pyarrow.parquet
import pytest

from eyechart.datasets_scripts import load_dataset
from eyechart.evaluators import tiny_vlm
from eyechart.evaluators.requests import store as responses
from eyechart.evaluators.requests.store import ResponseStore
from eyechart.evaluators.requests.types import Answer
from eyechart.evaluators.results.results_file import read_results
from tests.evaluators.command_line import invoke
from tests.evaluators.scripted_server import always
from tests.evaluators.tasks.doors import N_PHOTOS, write_photos
from tests.hub_cards.leaderboard.handed_in import board_named, hand_in, result_on


def args(*pairs):
    return [word for pair in pairs for word in ("--judge-arg", pair)]


@pytest.fixture
def described(http, tmp_path):
    """Describes five pictures and has them judged; returns the command's end and the one result."""

    def run(name, *arguments):
        url = http.url_for("/v1")
        judge = ("--judge", "judge", "--judge-arg", f"base_url={url}")
        done = invoke("run", "q_bench/description", "--limit", 5, *judge, *arguments, "--out", tmp_path / name)
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
def test_a_judge_that_gives_nothing_usable_ends_with_exit_code_1(script, http, tmp_path, replies, code):
    script.say(*map(always, replies))
    judge = ("--judge", "judge", *args(f"base_url={http.url_for('/v1')}", "concurrency=1"))
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
        (args("max_cost=3", "price=[1, 1]"), "--judge-arg max_cost=3 has no effect without --judge"),
        (("--judge", "x", *args("timeout=0")), "timeout=0.0 is not allowed"),
        (("--judge", "x", *args("max_costs=3")), "did you mean 'max_cost'?"),
    ],
)
def test_wrong_usage_of_judges(tmp_path, arguments, problem):
    done = invoke("run", "q_bench/perception", *arguments, "--out", tmp_path / "run", code=2)
    assert problem in done.output and not (tmp_path / "run").exists()


PERCEPTION = board_named("q_bench/perception")


def build(*arguments, code=0):
    return invoke("leaderboard", "build", *arguments, code=code)


def test_build_accepts_and_says_where_the_space_is(tmp_path):
    hand_in(tmp_path / "in", "a", [result_on(PERCEPTION, "org/a")])
    done = build(tmp_path / "in", "--out", tmp_path / "space")
    assert "1 accepted, 0 replaced, 0 rejected" in done.output and f"--directory {tmp_path / 'space'}" in done.output
    assert json.loads((tmp_path / "space_outcome.json").read_text()) == {
        "rejected": [],
        "replaced": [],
        "stated": [{"entry": "a", "board": PERCEPTION.name, "reason": "there are no predictions"}],
    }
    assert "stated, not checked a, q_bench/perception: there are no predictions" in done.output
    assert (tmp_path / "space" / "index.html").is_file()


def test_build_tells_what_it_rejected_and_replaced_and_ends_with_one(tmp_path):
    hand_in(tmp_path / "in", "a", [result_on(PERCEPTION, "org/a")])
    hand_in(tmp_path / "in", "b", [result_on(PERCEPTION, "org/a")])
    bad = board_named("aes_bench/perception")
    hand_in(tmp_path / "in", "bad", [result_on(bad, "\x1b[31mred") | {"complete": False}])
    done = build(tmp_path / "in", "--out", tmp_path / "space", "--outcome", tmp_path / "why.json", code=1)
    assert "rejected bad, aes_bench/perception on aesbench:" in done.output
    assert "incomplete: the scores are based on fewer requests" in done.output
    assert "replaced a, q_bench/perception, org/a: by b" in done.output
    assert "\x1b" not in done.output
    written = json.loads((tmp_path / "why.json").read_text())
    assert [one["entry"] for one in written["rejected"]] == ["bad"]
    assert len(written["rejected"][0]["reasons"]) == 2
    assert len(written["replaced"]) == 1


@pytest.mark.filterwarnings("ignore")
def test_an_entry_on_the_authors_pairs_is_scored_on_them(tmp_path, reference):
    """Precomputed predictions on a whole split of 2AFC."""
    data = f"two_afc={reference / 'two-afc'}"
    rows = load_dataset("two_afc", "fine_levels", split="test", data_dir=reference / "two-afc", images="skip")
    lines = [
        {"id": row["id"], "pass": name, "text": "A" if (row["first_quality"] > row["second_quality"]) == main else "B"}
        for row in rows
        for name, main in (("main", True), ("reversed", False))
    ]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    made = ["score", "two_afc/fine_levels", "--predictions", tmp_path / "answers.jsonl", "--data-dir", data]
    invoke(*made, "--out", tmp_path / "in" / "run", "--model", "org/a", code=0)
    done = build(tmp_path / "in", "--out", tmp_path / "space", "--data-dir", data)
    assert "1 accepted, 0 replaced, 0 rejected" in done.output, done.output
    (row,) = json.loads((tmp_path / "space/results/boards/two_afc-fine_levels.json").read_text())["rows"]
    assert row["values"][0][0] == 1.0 and (row["tags"], row["rank"]) == (["precomputed"], 1)


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
        (["--model", "a/c"], "unknown model 'a/c' in the response store; did you mean 'a/b'?"),
    ],
)
def test_prune_removes_nothing_that_is_not_named(options, message):
    fill()
    done = invoke("store", "prune", *options, code=2)
    assert message in done.output
    assert stored_answers() == 301


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


def test_a_benchmark_of_ones_own_gets_its_board(tmp_path):
    files = ("opinion_scores.yaml", "my_photos.csv")
    write_photos(tmp_path)
    shutil.copy(Path(__file__).parents[3] / "docs" / "examples" / files[0], tmp_path)
    for name in ("me", "them"):
        entry = tmp_path / "entries" / name
        invoke("run", tmp_path / files[0], "--model", tiny_vlm.folder(), "--name", name, "--out", entry, code=0)
        for file in files:
            shutil.copy(tmp_path / file, entry)

    def built(*tasks, code):
        given = [word for task in tasks for word in ("--tasks", task)]
        return build(tmp_path / "entries", *given, "--out", tmp_path / "space", code=code).output

    first, second = (tmp_path / "entries" / name / files[0] for name in ("me", "them"))
    shown = built(code=1)
    assert "rejected me, my_photos:" in shown and "--tasks" in shown
    assert "2 accepted, 0 replaced, 0 rejected" in built(first, second, code=0)
    board = json.loads((tmp_path / "space/results/boards/my_photos.json").read_text())
    assert (board["items"], board["columns"][0]["label"]) == (N_PHOTOS, "SRCC")
    assert [(row["model"], row["rank"]) for row in board["rows"]] == [("me", 1), ("them", 1)]
    second.write_text(second.read_text(encoding="utf-8").replace("good/poor", "fine/bad"), encoding="utf-8")
    assert "both define 'my_photos'" in built(first, second, code=2)
