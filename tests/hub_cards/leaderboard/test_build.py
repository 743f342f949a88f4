"""The Space that is built from entries: its files, the rows of its boards, and the overview."""

import datetime
import html
import json
import re
import shlex
import shutil
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
import typer

from eyechart.datasets_scripts.common.errors import MissingFileError, UsageError
from eyechart.evaluators.cli import app
from eyechart.evaluators.evaluation.evaluator import list_suites
from eyechart.evaluators.results.results_file import AVERAGE, read_results
from eyechart.evaluators.tasks import get_task
from eyechart.hub_cards.leaderboard.boards import BOARDS, Board
from eyechart.hub_cards.leaderboard.build import PAGE, Outcome, Replacement, build, write_space
from eyechart.hub_cards.leaderboard.entries import About
from tests.evaluators.command_line import invoke
from tests.evaluators.report.test_view import get, names, serving
from tests.hub_cards.leaderboard.handed_in import board_named, hand_in, put, ranked, result_on

NOW = datetime.datetime(2026, 6, 1, tzinfo=datetime.UTC)
NAMES = ("perception", "perception_pairs", "description", "assessment/spaq")
PERCEPTION, PAIRS, DESCRIPTION, SPAQ = (board_named(f"q_bench/{name}") for name in NAMES)
MMBENCH, CHINESE = board_named("mmbench/en"), board_named("mmbench/cn")
QUALITY = [board for board in BOARDS if board.task.name == "q_bench/assessment"]
(AVERAGES,) = [board for board in QUALITY if board.dataset == AVERAGE]


@dataclass
class Space:
    """Built from the entries in a folder."""

    entries: Path
    folder: Path

    def hand_in(self, name: str, *results: dict[str, Any], started: str = "2026-05-01T12:00:00+00:00") -> Path:
        return hand_in(self.entries, name, results, started)

    def build(self) -> Outcome:
        return build(self.entries, self.folder, NOW)

    def write(self) -> None:
        """As if all scores were those of replies."""
        write_space(ranked(self.entries), self.folder)

    def read(self, file: str) -> Any:
        return json.loads((self.folder / file).read_text())

    @property
    def boards(self) -> dict[str, Any]:
        index = self.read("results/index.json")
        boards = [self.read(board["file"]) for board in index["boards"]]
        assert index["schema"] == 1
        assert [len(board["rows"]) for board in boards] == [board["models"] for board in index["boards"]]
        return {board["name"]: board for board in boards}

    def rows(self, board: Any = PERCEPTION) -> list[dict[str, Any]]:
        return self.boards[board.name]["rows"]

    @property
    def files(self) -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in sorted(self.folder.rglob("*")) if path.is_file()}


@pytest.fixture
def space(tmp_path: Path) -> Space:
    return Space(tmp_path / "entries", tmp_path / "space")


def test_the_space_holds_the_page_the_boards_and_the_runs(space: Space) -> None:
    space.hand_in("a", *(result_on(board, "org/a", 0.6) for board in BOARDS))
    space.hand_in("b", result_on(PERCEPTION, "org/b", 0.3))
    outcome = space.build()
    assert (len(outcome.accepted), outcome.rejected, outcome.replaced) == (len(BOARDS) + 1, [], [])
    assert list(space.boards) == [board.name for board in BOARDS]
    assert set(PAGE) <= {path.name for path in space.folder.iterdir()}
    board = space.boards[PERCEPTION.name]
    first, second = board["rows"]
    assert (first["model"], first["stated"], "rank" in first) == ("org/a", "there are no predictions", False)
    assert (second["model"], second["is_on_hub"]) == ("org/b", True)
    parts = space.read(board["breakdowns"])
    values = first["values"] + parts["rows"][0]
    assert len(values) == len(board["columns"])
    assert not any(column["part"] for column in board["columns"][: len(first["values"])])
    assert values[[column["name"] for column in board["columns"]].index("what.accuracy")] == [0.6, 0.5749, 0.6245]
    assert len(parts["references"]) == len(board["references"])
    assert space.boards["two_afc/coarse"]["breakdowns"] is None
    assert [task.model for task in read_results(space.folder / second["run"]).tasks] == ["org/b"]
    runs = [row["run"].removeprefix("results/") for row in (first, second)]
    names = {path.name for path in (space.folder / "results").iterdir()}
    assert names == {"boards", "index.json", "overview.json", "owners.json", *runs}


def test_a_rejected_result_leaves_the_others_of_its_file(space: Space) -> None:
    space.hand_in("a", result_on(PERCEPTION, "org/a"), result_on(PAIRS, "org/a") | {"complete": False})
    assert [(rejection.entry, rejection.task) for rejection in space.build().rejected] == [("a", PAIRS.name)]
    (row,) = space.rows()
    assert [task.task for task in read_results(space.folder / row["run"]).tasks] == [PERCEPTION.name]


def test_the_newest_result_of_a_model_counts(space: Space) -> None:
    old, new = "2026-01-01T00:00:00+00:00", "2026-02-01T00:00:00+00:00"
    space.hand_in("z_old", result_on(PERCEPTION, "org/a", 0.9), result_on(PAIRS, "org/a", 0.9), started=old)
    space.hand_in("a_new", result_on(PERCEPTION, "org/a", 0.4), started=new)
    assert space.build().replaced == [Replacement("org/a", PERCEPTION.name, "z_old", "a_new")]
    assert [row["values"][0][0] for row in (*space.rows(), *space.rows(PAIRS))] == pytest.approx([0.4, 0.9], abs=0.001)
    # Of equal times, the last folder counts.
    for name, score in (("b", 0.2), ("c", 0.6)):
        space.hand_in(name, result_on(PERCEPTION, "org/a", score))
    assert [(each.entry, each.by) for each in space.build().replaced][-1] == ("b", "c")
    assert space.rows()[0]["values"][0][0] == 0.6


def test_only_entries_of_the_owner_update_a_models_rows(space: Space) -> None:
    space.hand_in("first", result_on(PERCEPTION, "org/a", 0.4), started="2026-04-01T00:00:00+00:00")
    space.build()
    copied = result_on(PERCEPTION, "ORG/\N{FULLWIDTH LATIN SMALL LETTER A}", 0.9)
    for name, about in (("copy", '{"model_url": "https://example.org"}'), ("other", '{"owner": "somebody-else"}')):
        space.hand_in(name, copied).with_name("entry.json").write_text(about)
    outcome = space.build()
    assert [rejection.entry for rejection in outcome.rejected] == ["copy", "other"]
    assert "belongs to the owner someone" in outcome.rejected[0].reasons[0]
    # The Space remembers: an earlier date takes nothing.
    shutil.rmtree(space.entries / "first")
    space.hand_in("early", copied, started="2026-01-01T00:00:00+00:00").with_name("entry.json").write_text("{}")
    assert {rejection.entry for rejection in space.build().rejected} == {"early", "copy", "other"}
    space.hand_in("second", copied)
    assert [row.entry.source for row in space.build().accepted] == ["second"]
    assert space.rows()[0]["model"] == "ORG/a"
    (space.folder / "results/owners.json").write_text('{"org/a": {"name": 5, "folder": "a", "is_ranked": false}}')
    with pytest.raises(UsageError, match=r"owners\.json cannot be read"):
        space.build()
    (space.folder / "results/owners.json").unlink()
    with pytest.raises(UsageError, match=r"owners\.json cannot be read"):
        space.build()


def test_who_was_first_is_not_known_in_a_first_build(space: Space) -> None:
    for name, started in (("a", "2026-01-01T00:00:00+00:00"), ("b", "2026-02-01T00:00:00+00:00")):
        about = space.hand_in(name, result_on(PERCEPTION, "org/a"), started=started).with_name("entry.json")
        about.write_text(json.dumps({"owner": name}))
    outcome = space.build()
    assert outcome.accepted == [] and [rejection.entry for rejection in outcome.rejected] == ["a", "b"]
    assert "for the first time from several folders" in outcome.rejected[0].reasons[0]


def test_without_an_owner_a_name_belongs_to_its_folder(space: Space) -> None:
    path = space.hand_in("a", result_on(PERCEPTION, "org/a", 0.4)).with_name("entry.json")
    path.unlink()
    space.build()
    space.hand_in("b", result_on(PERCEPTION, "org/a", 0.9)).with_name("entry.json").unlink()
    assert "the folder 'a', which names no owner" in space.build().rejected[0].reasons[0]
    path.write_text('{"owner": "me"}')
    assert [row.entry.source for row in space.build().accepted] == ["a"]
    owner = {"name": "me", "folder": "a", "is_ranked": False}
    assert json.loads((space.folder / "results/owners.json").read_text()) == {"org/a": owner}


def test_a_folder_of_entries_may_be_an_entry(space: Space) -> None:
    space.hand_in("", result_on(PERCEPTION, "org/root"))
    space.hand_in("a", result_on(PERCEPTION, "org/a"))
    assert {row.entry.source for row in space.build().accepted} == {".", "a"}


def with_settings(board: Any, model: str, **settings: Any) -> dict[str, Any]:
    result = result_on(board, model)
    for name, value in settings.items():
        put(result["settings"], tuple(name.split("__")), value)
    return result


ABOUT = {"model_url": "https://example.org/model", "run_url": "https://example.org/run?x=1#y", "license": "mit"}


@pytest.mark.parametrize(
    ("board", "settings", "marks"),
    [
        (PERCEPTION, {"model__backend": "predictions_file"}, {"tags": ["stated", "precomputed"]}),
        (PERCEPTION, {"model__parameters": 1}, {"tags": ["stated"], "parameters": 1}),
        (DESCRIPTION, {"model__decoding": "chosen by the provider"}, {"tags": ["stated", "provider_decoding"]}),
        (PERCEPTION, {}, ABOUT | {"is_on_hub": None, "started": "2026-05-01"}),
    ],
)
def test_a_row_says_where_it_comes_from(space: Space, board: Any, settings: Any, marks: dict[str, Any]) -> None:
    path = space.hand_in("a", with_settings(board, "org/a", **settings))
    path.with_name("entry.json").write_text(json.dumps(ABOUT | {"parameters": 10**15 - 1}).ljust(5000))
    assert space.build().rejected == []
    (row,) = space.rows(board)
    assert {name: row.get(name) for name in marks} == marks
    assert list(space.boards[board.name]["tags"]) == row["tags"]


@pytest.mark.parametrize("diagnostics", [{"extraction": 5}, {"unread": 0, "replies": 1}])
def test_diagnostics_do_not_hide_that_most_replies_cannot_be_parsed(space: Space, diagnostics: dict[str, Any]) -> None:
    poor = result_on(PERCEPTION, "org/poor", 0.4) | {"diagnostics": diagnostics}
    steps = ("declared", "judge", "random", "cut_off", "unfinished_reasoning", "refused")
    parsed = {"exact": 0.5, "unmatched": 0.5, "unparseable": 0.5}
    poor["scores"]["extraction"] = dict.fromkeys(steps, 0.0) | parsed
    space.hand_in("poor", poor)
    space.hand_in("good", result_on(PERCEPTION, "org/good"))
    assert len(space.build().accepted) == 2
    assert "mostly_unparsed" in next(row for row in space.rows() if row["model"] == "org/poor")["tags"]


def test_an_average_has_the_marks_of_its_databases(space: Space) -> None:
    quality = [result_on(board, "org/file") for board in QUALITY]
    put(quality[1]["settings"], ("model", "backend"), "predictions_file")
    others = [with_settings(board, "org/file", model__decoding="chosen by the provider") for board in (MMBENCH, PAIRS)]
    space.hand_in("file", *quality, *others)
    assert space.build().rejected == []
    tags = [space.rows(board)[0]["tags"] for board in QUALITY[:3]]
    assert tags == [*[["stated", "precomputed"]] * 2, ["stated"]]


def test_a_row_says_what_the_interval_of_its_main_score_rests_on(space: Space) -> None:
    result = result_on(PERCEPTION, "org/a")
    result["scores"]["intervals"] = {"accuracy": {"kind": "wilson-clustered", "units": 1169}}
    pairs = result_on(board_named("two_afc/coarse"), "org/a")
    pairs["scores"]["n_images"] = 60
    space.hand_in("a", result, pairs)
    space.build()
    assert space.rows()[0]["interval"].endswith("(effective number of items): accuracy (1,169 clusters).")
    # That another score, the fitted PLCC, never has an interval is not said.
    assert "interval" not in space.rows(board_named("two_afc/coarse"))[0]


def test_an_answer_under_another_name_stands_only_where_that_is_confirmed(space: Space) -> None:
    for name, confirmed in (("org/doubtful", None), ("org/confirmed", "other.gguf")):
        results = [result_on(board, name) for board in (PERCEPTION, *QUALITY)]
        for result in (results[0], results[2]):
            model = {"backend": "openai", "name": name, "served": ["other.gguf"], "served_name": confirmed}
            result["settings"]["model"] = model
        space.hand_in(name, *results)
    rejected = {rejection.dataset: rejection.reasons[0] for rejection in space.build().rejected}
    assert set(rejected) == {PERCEPTION.dataset, QUALITY[1].dataset, AVERAGE}
    assert "The server answered as 'other.gguf', but 'org/doubtful' was requested" in rejected[PERCEPTION.dataset]
    assert [row["model"] for row in space.rows(AVERAGES)] == ["org/confirmed"]


def test_a_build_can_be_repeated_and_gives_the_same(space: Space) -> None:
    space.hand_in("a", result_on(PERCEPTION, "org/a"))
    (space.folder / ".git").mkdir(parents=True)
    (space.folder / ".git" / "HEAD").write_text("ref: refs/heads/main")
    space.build()
    before = space.files
    shutil.rmtree(space.folder / "results")
    space.build()
    assert space.files == before
    shutil.rmtree(space.entries / "a")
    space.hand_in("b", result_on(PERCEPTION, "org/b"))
    space.build()
    assert len(list((space.folder / "results").glob("*.json"))) == 4


def test_a_folder_that_is_missing_or_has_only_other_contents_is_an_error(space: Space) -> None:
    with pytest.raises(MissingFileError, match="not a folder"):
        space.build()
    (space.entries / "unfinished").mkdir(parents=True)
    with pytest.raises(MissingFileError, match="no entries"):
        space.build()
    assert not space.folder.exists()


def test_the_overview_has_one_row_a_model(space: Space) -> None:
    space.hand_in("a", result_on(PERCEPTION, "org/a", 0.61239), started="2026-04-01T00:00:00+00:00")
    space.hand_in("b", with_settings(MMBENCH, "org/a", model__parameters=7))
    space.hand_in("c", result_on(MMBENCH, "org/both"), result_on(CHINESE, "org/both", 0.9))
    space.hand_in("d", result_on(CHINESE, "org/other", 0.6), result_on(SPAQ, "org/other", 0.81239))
    space.write()
    overview = space.read("results/overview.json")
    half = [0.5, 0.4713, 0.5287]
    assert [column["board"] for column in overview["columns"]] == [PERCEPTION.name, MMBENCH.name]
    assert {row["model"]: row["cells"] for row in overview["rows"]} == {
        "org/a": [[0.6127, 0.5878, 0.6371], half],
        "org/both": [None, half],
        # Without a result on the first board of a benchmark, that on another.
        "org/other": [[0.812, 0.792, 0.832, SPAQ.name], [0.5997, 0.5712, 0.6274, CHINESE.name]],
    }
    titles = {name: board["title"] for name, board in overview["others"].items()}
    assert titles == {SPAQ.name: "A3 Assessment, SPAQ", CHINESE.name: "Chinese"}
    facts = {name: value for name, value in overview["rows"][0].items() if name not in ("model", "cells")}
    assert facts == {"is_on_hub": True, "parameters": 7, "started": "2026-05-01"}


def test_the_chance_level_is_that_of_the_entries_else_that_of_the_score_or_paper(space: Space) -> None:
    space.entries.mkdir()
    space.build()
    papers = {column["board"]: column["chance"] for column in space.read("results/overview.json")["columns"]}
    for name, chance in (("a", 0.1234567), ("b", 0.1234567), ("c", 0.9)):
        result = result_on(MMBENCH, f"org/{name}")
        result["scores"]["random_guess"] = chance
        space.hand_in(name, result)
    space.write()
    entries = {column["board"]: column["chance"] for column in space.read("results/overview.json")["columns"]}
    # Q-Bench prints 37.80 in Table 7, AesBench 35.02 in Table 2; a self-awareness score has no chance level.
    expected = {"q_bench/perception": 0.378, "mmbench/en": 0.123457, "ql_bench/single": None}
    assert papers | entries == expected | {"aes_bench/perception": 0.3502, "two_afc/coarse": 0.25}


TEXT = (resources.files("eyechart.hub_cards") / "leaderboard" / "page" / "index.html").read_text(encoding="utf-8")
CODE = [html.unescape(re.sub("<.*?>", "", code)) for code in re.findall(r"<code>(.*?)</code>", TEXT)]
RUN, BUILD, SERVE = (
    shlex.split(re.sub("<.*?>", "", code)) for code in re.findall(r"<pre.*?><code>(.*?)</code></pre>", TEXT)
)


def test_the_pages_first_command_names_a_benchmark() -> None:
    assert RUN[:3] == ["eyechart", "run", "TASK"]
    assert [code for code in CODE if code in list_suites()]


@pytest.mark.parametrize("board", [pytest.param(board, id=board.name) for board in BOARDS])
def test_on_a_board_the_first_command_runs_its_task_data_and_split(board: Board) -> None:
    # Refuses arguments and options that there are not.
    command = typer.main.get_command(app).get_command(None, "run")
    given = command.make_context("run", [*shlex.split(board.run), *RUN[3:]]).params
    task = get_task(board.task.name)
    assert (given["tasks"], given["model"]) == ([task.name], ["OWNER/MODEL"])
    assert (given["split"] or task.data.splits[0]) == board.split
    assert list(given["dataset"]) == ([board.dataset] if board.dataset != "average" and task.data.run_on else [])
    assert bool(given["judge"]) == board.judged


def test_the_second_command_checks_what_the_first_wrote_and_the_third_shows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    entry = RUN[RUN.index("--out") + 1]
    path = hand_in(tmp_path, entry, [result_on(board_named("mmbench/en"), "OWNER/MODEL")])
    (about,) = [code for code in CODE if code.startswith("{")]
    path.with_name("entry.json").write_text(about.replace("\N{HORIZONTAL ELLIPSIS}", "example.org/"))
    assert set(json.loads(about)) == set(About.model_fields)
    assert BUILD[0] == "eyechart"
    done = invoke(*BUILD[1:], code=0)
    assert "1 accepted" in done.output, done.output
    assert SERVE[:2] == ["eyechart", "view"]
    with serving(*map(Path, SERVE[2:])) as server:
        (board,) = names(server).values()
        assert get(server, f"{board}index.html")[1] == (tmp_path / SERVE[2] / "index.html").read_text()
