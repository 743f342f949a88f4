import datetime
import json
import shutil

import pytest

from eyechart.datasets_scripts.common.errors import MissingFileError
from eyechart.evaluators.evaluation.averages import AVERAGE
from eyechart.evaluators.results.results_file import read_results
from eyechart.hub_cards.leaderboard.boards import BOARDS
from eyechart.hub_cards.leaderboard.build import PAGE, Replacement, build
from tests.hub_cards.leaderboard.handed_in import board_named, hand_in, put, result_on

NOW = datetime.datetime(2026, 6, 1, tzinfo=datetime.UTC)
PERCEPTION = board_named("q_bench/perception")


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "entries"


@pytest.fixture
def space(tmp_path, folder):
    """Builds, and gives what became of the entries and the boards of the page by name."""

    def run():
        outcome = build(folder, tmp_path / "space", NOW)
        index = json.loads((tmp_path / "space" / "results" / "index.json").read_text())
        assert index["schema"] == 1
        boards = [json.loads((tmp_path / "space" / one["file"]).read_text()) for one in index["boards"]]
        assert [len(board["rows"]) for board in boards] == [one["models"] for one in index["boards"]]
        return outcome, {board["name"]: board for board in boards}

    return run


def rejected(outcome):
    return {(one.entry, one.task): " ".join(one.reasons) for one in outcome.rejected}


def test_the_space_holds_the_page_the_boards_and_the_runs(folder, space, tmp_path):
    hand_in(folder, "a", [result_on(board, "org/a", 0.6) for board in BOARDS])
    hand_in(folder, "b", [result_on(PERCEPTION, "org/b", 0.3)])
    outcome, boards = space()
    assert (len(outcome.accepted), outcome.rejected, outcome.replaced) == (len(BOARDS) + 1, [], [])
    assert list(boards) == [board.name for board in BOARDS]
    built = tmp_path / "space"
    assert set(PAGE) <= {path.name for path in built.iterdir()}
    first, second = boards["q_bench/perception"]["rows"]
    assert (first["model"], first["rank"], "shared" in first) == ("org/a", 1, False)
    assert (second["model"], second["rank"], second["is_on_hub"]) == ("org/b", 2, True)
    columns = boards["q_bench/perception"]["columns"]
    parts = json.loads((built / boards["q_bench/perception"]["breakdowns"]).read_text())
    values = first["values"] + parts["rows"][0]
    assert len(values) == len(columns) and not any(column["part"] for column in columns[: len(first["values"])])
    assert values[[column["name"] for column in columns].index("what.accuracy")] == [0.6, 0.58, 0.62]
    assert len(parts["references"]) == len(boards["q_bench/perception"]["references"])
    assert boards["two_afc/coarse"]["breakdowns"] is None
    published = read_results(built / second["run"])
    assert [task.model for task in published.tasks] == ["org/b"]
    assert sorted(path.name for path in (built / "results").iterdir()) == sorted(
        ["boards", "index.json", "overview.json", *(row["run"].removeprefix("results/") for row in (first, second))]
    )


def test_a_row_says_what_the_interval_of_its_main_score_rests_on(folder, space):
    clustered, plain = result_on(PERCEPTION, "org/a", 0.6), result_on(PERCEPTION, "org/b", 0.3)
    clustered["scores"]["intervals"] = {"accuracy": {"kind": "wilson-clustered", "units": 1169}}
    plain["scores"]["intervals"] = {"accuracy": {"kind": "wilson", "units": 1495}}
    hand_in(folder, "a", [clustered])
    hand_in(folder, "b", [plain])
    _, boards = space()
    first, second = boards["q_bench/perception"]["rows"]
    assert first["interval"].endswith("(effective number of items): accuracy (1,169 clusters).")
    assert "cluster-robust variance" in first["interval"]
    assert "interval" not in second


def test_rows_of_papers_stand_beside_and_private_ones_apart(folder, space):
    hand_in(folder, "a", [result_on(PERCEPTION, "org/a")])
    _, boards = space()
    assert {row["table"] for row in boards["q_bench/perception"]["references"]} == {"Table 7"}
    assert [one["table"] for one in boards["ql_bench/single"]["set_apart"]] == ["Table I", "Table III"]
    assert boards["ql_bench/single"]["references"] == []
    assert len(boards["q_bench/assessment/spaq"]["references"]) == 17


def test_the_folder_may_be_a_run_itself(folder, space):
    hand_in(folder.parent, folder.name, [result_on(PERCEPTION, "org/run")])
    outcome, _ = space()
    assert len(outcome.accepted) == 1


def test_the_rest_of_a_file_stands_where_one_result_does_not(folder, space, tmp_path):
    pairs = result_on(board_named("q_bench/perception_pairs"), "org/a") | {"complete": False}
    hand_in(folder, "a", [result_on(PERCEPTION, "org/a"), pairs])
    outcome, boards = space()
    assert list(rejected(outcome)) == [("a", "q_bench/perception_pairs")]
    (row,) = boards["q_bench/perception"]["rows"]
    assert [task.task for task in read_results(tmp_path / "space" / row["run"]).tasks] == ["q_bench/perception"]


def test_the_newest_result_of_a_model_counts(folder, space):
    old, new = "2026-01-01T00:00:00+00:00", "2026-02-01T00:00:00+00:00"
    hand_in(folder, "z_old", [result_on(PERCEPTION, "org/a", 0.9), result_on(BOARDS[1], "org/a", 0.9)], old)
    hand_in(folder, "a_new", [result_on(PERCEPTION, "org/a", 0.4)], new)
    outcome, boards = space()
    assert outcome.replaced == [Replacement("org/a", "q_bench/perception", "z_old", "a_new")]
    (row,) = boards["q_bench/perception"]["rows"]
    assert row["values"][0][0] == 0.4
    (other,) = boards[BOARDS[1].name]["rows"]
    assert other["values"][0][0] == pytest.approx(0.9, abs=0.001)


def test_of_results_of_one_time_the_last_folder_counts(folder, space):
    for name, score in (("b", 0.2), ("a", 0.4), ("c", 0.6)):
        hand_in(folder, name, [result_on(PERCEPTION, "org/a", score)])
    outcome, boards = space()
    assert boards["q_bench/perception"]["rows"][0]["values"][0][0] == 0.6
    assert [(one.entry, one.by) for one in outcome.replaced] == [("a", "b"), ("b", "c")]


def test_models_of_different_judges_are_ranked_apart(folder, space):
    board = board_named("q_bench/description")
    for name, judge, score in (("a", "strict", 0.2), ("b", "strict", 0.9), ("c", "mild", 0.5), ("b", "mild", 0.7)):
        result = result_on(board, name, score)
        result["settings"]["judge"]["name"] = result["scores"]["judge"] = judge
        hand_in(folder, f"{name}_{judge}", [result])
    outcome, boards = space()
    assert outcome.replaced == []
    found = {(row["model"], row["judge"]): row["rank"] for row in boards[board.name]["rows"]}
    assert found == {("b", "strict"): 1, ("a", "strict"): 2, ("b", "mild"): 1, ("c", "mild"): 2}


def test_precomputed_predictions_are_marked(folder, space):
    quality = [board for board in BOARDS if board.task.name == "q_bench/assessment"]
    made = [result_on(board, "org/file") for board in (PERCEPTION, *quality)]
    for result in (made[0], made[2]):
        result["settings"]["model"] = {"backend": "predictions_file", "name": "org/file"}
    hand_in(folder, "file", made)
    asked = [result_on(board, "org/asked") for board in (PERCEPTION, *quality)]
    for result in (asked[0], asked[2]):
        result["settings"]["model"] = {"backend": "transformers", "name": "org/asked"}
    hand_in(folder, "asked", asked)
    outcome, boards = space()
    assert outcome.rejected == []
    for board in (PERCEPTION, *quality[:2]):
        found = {row["model"]: row.get("precomputed", False) for row in boards[board.name]["rows"]}
        assert found == {"org/file": True, "org/asked": False}


def test_decoding_that_the_provider_chose_is_accepted_and_marked(folder, space):
    described = board_named("q_bench/description")
    for name, model, judge in (("model", "chosen by the provider", None), ("judge", None, "chosen by the provider")):
        result = result_on(described, f"org/{name}")
        result["settings"]["model"] = {"backend": "openai", "name": f"org/{name}", "decoding": model or "greedy"}
        result["settings"]["judge"]["decoding"] = judge
        hand_in(folder, name, [result])
    hand_in(folder, "greedy", [result_on(described, "org/greedy")])
    outcome, boards = space()
    assert outcome.rejected == []
    found = {row["model"]: row.get("decoded_by_provider", False) for row in boards[described.name]["rows"]}
    assert found == {"org/model": True, "org/judge": True, "org/greedy": False}


def test_an_answer_under_another_name_stands_only_where_that_is_confirmed(folder, space):
    quality = [board for board in BOARDS if board.task.name == "q_bench/assessment"]
    for name, confirmed in (("org/doubtful", None), ("org/confirmed", "other.gguf")):
        results = [result_on(board, name) for board in (PERCEPTION, *quality)]
        for result in (results[0], results[2]):
            model = {"backend": "openai", "name": name, "served": ["other.gguf"], "served_name": confirmed}
            result["settings"]["model"] = model
        hand_in(folder, name, results)
    outcome, boards = space()
    average = next(board for board in quality if board.dataset == AVERAGE)
    assert {(one.task, one.dataset) for one in outcome.rejected} == {
        ("q_bench/perception", PERCEPTION.dataset),
        ("q_bench/assessment", quality[1].dataset),
        ("q_bench/assessment", average.dataset),
    }
    assert (
        "the server answered as 'other.gguf', but 'org/doubtful' was requested"
        in rejected(outcome)["org/doubtful", "q_bench/perception"]
    )
    assert [row["model"] for row in boards[average.name]["rows"]] == ["org/confirmed"]


def test_links_are_published(folder, space):
    hand_in(folder, "run", [result_on(PERCEPTION, "a")])
    given = {"model_url": "https://example.org/model", "run_url": "https://example.org/run?x=1#y"}
    (folder / "run" / "links.json").write_text(json.dumps(given))
    _, boards = space()
    (row,) = boards["q_bench/perception"]["rows"]
    assert (row["model_url"], row["run_url"]) == (given["model_url"], given["run_url"])


def test_size_licence_and_date_are_published(folder, space):
    counted, stated = result_on(PERCEPTION, "org/counted"), result_on(PERCEPTION, "org/stated", 0.4)
    put(counted["settings"], ("model", "parameters"), 4_300_079_472)
    hand_in(folder, "counted", [counted])
    hand_in(folder, "stated", [stated])
    hand_in(folder, "unknown", [result_on(PERCEPTION, "org/unknown", 0.3)])
    for name in ("counted", "stated"):
        (folder / name / "links.json").write_text('{"license": "cc-by-nc-4.0", "parameters": 70}')
    _, boards = space()
    found = [
        (row.get("parameters"), row.get("license"), row["started"]) for row in boards["q_bench/perception"]["rows"]
    ]
    assert found == [
        (4_300_079_472, "cc-by-nc-4.0", "2026-05-01"),
        (70, "cc-by-nc-4.0", "2026-05-01"),
        (None, None, "2026-05-01"),
    ]


@pytest.mark.parametrize(
    "field", [{"license": "<b>free</b>"}, {"license": ""}, {"parameters": 0}, {"parameters": "7B"}]
)
def test_a_licence_or_size_that_is_not_one_is_refused(folder, space, field):
    hand_in(folder, "bad", [result_on(PERCEPTION, "org/bad")])
    (folder / "bad" / "links.json").write_text(json.dumps(field))
    outcome, _ = space()
    assert "identifier such as apache-2.0), parameters (a whole number)" in rejected(outcome)["bad", ""]


def test_a_build_can_be_repeated_and_gives_the_same(folder, space, tmp_path):
    hand_in(folder, "a", [result_on(PERCEPTION, "org/a")])
    (tmp_path / "space" / ".git").mkdir(parents=True)
    (tmp_path / "space" / ".git" / "HEAD").write_text("ref: refs/heads/main")
    space()
    before = {path: path.read_bytes() for path in sorted((tmp_path / "space").rglob("*")) if path.is_file()}
    space()
    assert {path: path.read_bytes() for path in sorted((tmp_path / "space").rglob("*")) if path.is_file()} == before
    shutil.rmtree(folder / "a")
    hand_in(folder, "b", [result_on(PERCEPTION, "org/b")])
    space()
    assert len(list((tmp_path / "space" / "results").glob("*.json"))) == 3


def test_a_folder_that_is_missing_or_has_only_other_contents_is_an_error(tmp_path):
    with pytest.raises(MissingFileError, match="not a folder"):
        build(tmp_path / "nowhere", tmp_path / "space", NOW)
    (tmp_path / "entries" / "unfinished").mkdir(parents=True)
    with pytest.raises(MissingFileError, match="no entries"):
        build(tmp_path / "entries", tmp_path / "space", NOW)
    assert not (tmp_path / "space").exists()


def test_an_empty_folder_builds_boards_with_the_papers_rows(folder, space):
    folder.mkdir()
    (folder / ".gitkeep").touch()
    outcome, boards = space()
    assert (outcome.accepted, outcome.rejected) == ([], [])
    assert all(board["rows"] == [] for board in boards.values())
    assert len(boards["q_bench/perception"]["references"]) == 15
    assert boards["ql_bench/single"]["set_apart"]
