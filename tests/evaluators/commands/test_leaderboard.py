import json

import pytest

from eyechart.datasets_scripts import load_dataset
from tests.evaluators.command_line import invoke
from tests.hub_cards.leaderboard.handed_in import board_named, hand_in, result_on

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


def test_build_takes_an_empty_folder_and_refuses_one_that_does_not_exist(tmp_path):
    (tmp_path / "in").mkdir()
    done = build(tmp_path / "in", "--out", tmp_path / "space")
    assert f"no entries in {tmp_path / 'in'} yet" in done.output and "0 accepted" in done.output
    done = build(tmp_path / "im", "--out", tmp_path / "other", code=1)
    assert "not a folder" in done.output
    assert not (tmp_path / "other").exists()


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
    """Precomputed predictions on a whole split of 2AFC, and the same with another stated score."""
    data = f"two_afc={reference / 'two-afc'}"
    rows = load_dataset("two_afc", "fine_levels", split="test", data_dir=reference / "two-afc", images="skip")
    lines = [
        {"id": row["id"], "pass": name, "text": "A" if (row["first_quality"] > row["second_quality"]) == main else "B"}
        for row in rows
        for name, main in (("main", True), ("reversed", False))
    ]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    entry = tmp_path / "in" / "run"
    made = ["score", "two_afc/fine_levels", "--predictions", tmp_path / "answers.jsonl", "--data-dir", data]
    invoke(*made, "--out", entry, "--model", "org/a", code=0)
    done = build(tmp_path / "in", "--out", tmp_path / "space", "--data-dir", data)
    assert "1 accepted, 0 replaced, 0 rejected" in done.output, done.output
    (row,) = json.loads((tmp_path / "space/results/boards/two_afc-fine_levels.json").read_text())["rows"]
    assert row["values"][0][0] == 1.0 and (row["tags"], row["rank"]) == (["precomputed"], 1)
    results = json.loads((entry / "results.json").read_text())
    results["tasks"][0]["scores"]["accuracy_all"] = 0.5
    (entry / "results.json").write_text(json.dumps(results))
    done = build(tmp_path / "in", "--out", tmp_path / "space", "--data-dir", data)
    (again,) = json.loads((tmp_path / "space/results/boards/two_afc-fine_levels.json").read_text())["rows"]
    assert again | {"run": ""} == row | {"run": ""}


def test_a_run_on_mini_data_is_rejected_for_that(tmp_path):
    invoke("run", "q_bench/perception", "--limit", 4, "--out", tmp_path / "in" / "run", code=0)
    done = build(tmp_path / "in", "--out", tmp_path / "space", code=1)
    for reason in ("synthetic demo data", "run used --limit 4; "):
        assert reason in done.output
    assert "settings.prompt_id" not in done.output


def test_a_dataset_with_a_wrong_letter_is_refused():
    assert "did you mean 'spaq'" in build(".", "--data-dir", "spaqq=x", code=2).output


@pytest.mark.parametrize(
    ("option", "place", "named"),
    [
        ("--out", "file/space", "the Space in '{}'"),
        ("--outcome", "folder", "outcome='{}'"),
        ("--outcome", "file/why.json", "outcome='{}'"),
    ],
)
def test_what_cannot_be_written_is_one_line(tmp_path, option, place, named):
    hand_in(tmp_path / "in", "a", [result_on(PERCEPTION, "org/a")])
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("x")
    done = build(tmp_path / "in", "--out", tmp_path / "space", option, tmp_path / place, code=2)
    assert done.stderr.startswith(f"eyechart: {named.format(tmp_path / place)} cannot be written: ")
    assert done.stderr.count("\n") == 1
