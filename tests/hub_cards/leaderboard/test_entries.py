"""Paired tests between the entries of a board."""

import datetime
import html
import json
import re
import shlex
import subprocess
import sys
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from scipy import stats

from eyechart.evaluators.cli import app
from eyechart.evaluators.comparison.compare import compare_many
from eyechart.evaluators.evaluation.evaluator import list_suites
from eyechart.evaluators.results.finished_runs import load_runs
from eyechart.evaluators.tasks import get_task
from eyechart.hub_cards.leaderboard.boards import BOARDS
from eyechart.hub_cards.leaderboard.entries import About, BoardRow, read_entry
from eyechart.hub_cards.leaderboard.page_data import BOARD_FOLDER, ranks_of, write_boards
from eyechart.hub_cards.leaderboard.paired import p_values
from eyechart.metrics.scoring.statistics.paired import holm
from tests.evaluators.command_line import invoke
from tests.evaluators.comparison.test_compare import choices, noisy, qualities
from tests.evaluators.comparison.test_ranking import RIGHT
from tests.evaluators.finished_runs import write
from tests.hub_cards.leaderboard.handed_in import board_named, hand_in, put, result_on


def board_rows(root: Path, board: str, runs: dict[str, Any]) -> list[BoardRow]:
    """Rows whose scores are those of their items."""
    rows = []
    for name, run in runs.items():
        result, *_ = results = run if isinstance(run, list) else [run]
        entry = read_entry(write(root / name, results), root)
        rows.append(BoardRow(board_named(board), result, entry, datetime.datetime.now(datetime.UTC), parts=(result,)))
    return rows


def answers(**changes: str) -> dict[str, Any]:
    return {name: choices(marks, model=name) for name, marks in (RIGHT | changes).items()}


def test_models_with_the_same_mistakes_are_told_apart_where_intervals_overlap(tmp_path: Path) -> None:
    # Ten more items right, and none wrong that the other has right: intervals of 80 and 90 of 100 overlap.
    rows = board_rows(tmp_path, "q_bench/perception", answers(also="1" * 80 + "0" * 20, poor="1" * 79 + "0" * 21))
    paired = p_values(rows)
    assert paired[0, 1] == pytest.approx(2 * stats.binomtest(10, 10).pvalue)
    assert ranks_of([0.9, 0.8, 0.79], rows[0].board.main.score, paired) == [1, 2, 2]


def test_models_with_too_few_items_for_a_test_share_a_rank(tmp_path: Path) -> None:
    runs = {name: qualities([[1.0, 0.0], [2.0, 0.0]], np.arange(2.0), model=name) for name in "ab"}
    paired = p_values(board_rows(tmp_path, "q_bench/assessment/koniq10k", runs))
    assert (paired[0, 1], paired[1, 0]) == (1, 1)


def rated(**noise: float) -> dict[str, Any]:
    """Models whose predicted qualities are the human ones with noise of these deviations."""
    rng = np.random.default_rng(1)
    return {name: noisy(marked, 60, rng, model=name) for name, marked in noise.items()}


@pytest.mark.parametrize(
    ("board", "runs"),
    [
        ("q_bench/perception", answers(also="1" * 80 + "0" * 20)),
        ("q_bench/perception", {"a": choices("1" * 27 + "0" * 13), "b": choices("1" * 20 + "0" * 20)}),
        ("q_bench/assessment/koniq10k", rated(a=4, b=9, c=11, d=12, e=40, f=42)),
    ],
)
def test_a_board_and_compare_find_the_same_places(tmp_path: Path, board: str, runs: dict[str, Any]) -> None:
    # A second task of each run, whose tests have no part in this ranking.
    marked = {name: choices("1100", model=name, task="own") for name in runs}
    results = {name: [run.model_copy(update={"model": name}), marked[name]] for name, run in runs.items()}
    rows = board_rows(tmp_path, board, results)
    compared = compare_many(load_runs([tmp_path / name for name in results]))
    ranking = compared.rankings[0]
    for row in rows:
        (score,) = [first.score for first in ranking.runs if first.run == row.result.model]
        put(row.result.scores, row.board.main.name.split("."), score)
    written = {row["model"]: row for row in written_board(rows, tmp_path / "out")}
    assert {name: row["rank"] for name, row in written.items()} == {first.run: first.place for first in ranking.runs}
    tests = [test for pair in compared.pairs for test in pair.differences]
    raw = [test.p_value for test in tests if (test.title, test.key) == (ranking.title, ranking.key)]
    assert p_values(rows)[np.triu_indices(len(rows), 1)] == pytest.approx(holm(raw))


def written_board(rows: list[BoardRow], out: Path) -> list[dict[str, Any]]:
    write_boards(rows, out)
    shown = json.loads((out / BOARD_FOLDER / f"{rows[0].board.name.replace('/', '-')}.json").read_text())["rows"]
    assert isinstance(shown, list)
    return shown


PAGE = (resources.files("eyechart.hub_cards") / "leaderboard" / "page" / "index.html").read_text(encoding="utf-8")
CODE = [html.unescape(re.sub("<.*?>", "", code)) for code in re.findall(r"<code>(.*?)</code>", PAGE)]
RUN, BUILD, SERVE = (
    shlex.split(re.sub("<.*?>", "", code)) for code in re.findall(r"<pre.*?><code>(.*?)</code></pre>", PAGE)
)


def test_the_first_command_is_one_and_names_a_benchmark():
    assert RUN[:3] == ["eyechart", "run", "TASK"]
    assert [code for code in CODE if code in list_suites()]


@pytest.mark.parametrize("board", [pytest.param(board, id=board.name) for board in BOARDS])
def test_on_a_board_the_first_command_runs_its_task_data_and_split(board):
    # Refuses arguments and options that there are not.
    command = typer.main.get_command(app).get_command(None, "run")
    given = command.make_context("run", [*shlex.split(board.run), *RUN[3:]]).params
    task = get_task(board.task.name)
    assert (given["tasks"], given["model"]) == ([task.name], ["OWNER/MODEL"])
    assert (given["split"] or task.data.splits[0]) == board.split
    assert list(given["dataset"]) == ([board.dataset] if board.dataset != "average" and task.data.run_on else [])
    assert bool(given["judge"]) == board.judged


def test_the_second_command_checks_what_the_first_wrote_and_the_third_shows_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    entry = RUN[RUN.index("--out") + 1]
    path = hand_in(tmp_path, entry, [result_on(board_named("mmbench/en"), "OWNER/MODEL")])
    (about,) = [code for code in CODE if code.startswith("{")]
    path.with_name("entry.json").write_text(about.replace("\N{HORIZONTAL ELLIPSIS}", "example.org/"))
    assert set(json.loads(about)) == set(About.model_fields)
    assert BUILD[0] == "eyechart"
    done = invoke(*BUILD[1:], code=0)
    assert "1 accepted" in done.output, done.output
    assert SERVE[:2] == ["python", "-m"] and (tmp_path / SERVE[SERVE.index("--directory") + 1] / "index.html").is_file()
    # The server's own parser takes the arguments; --help ends it before it serves.
    subprocess.run([sys.executable, *SERVE[1:], "--help"], check=True, capture_output=True)
