"""Paired tests between the entries of a board."""

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from eyechart.evaluators.comparison.compare import compare
from eyechart.hub_cards.leaderboard.boards.ranking import ranks
from eyechart.hub_cards.leaderboard.entries import BoardRow, read_entry
from eyechart.hub_cards.leaderboard.paired import paired_p_values
from eyechart.hub_cards.recomputing import Check
from eyechart.metrics.scoring.statistics.significance import holm
from tests.evaluators.comparison.test_compare import choices, qualities
from tests.evaluators.comparison.test_ranking import RIGHT
from tests.evaluators.finished_runs import write
from tests.hub_cards.leaderboard.handed_in import board_named


def board_rows(root: Path, board: str, runs: dict[str, Any], without: tuple[str, ...] = ()) -> list[BoardRow]:
    found = []
    for name, run in runs.items():
        folder = write(root / name, run if isinstance(run, list) else [run])
        if name in without:
            (folder / "predictions.parquet").unlink()
        entry = read_entry(folder, root)
        result = entry.run.results.tasks[0]
        found.append(BoardRow(board_named(board), result, entry, datetime.datetime.now(datetime.UTC), Check()))
    return found


def answers(**changes: str) -> dict[str, Any]:
    return {name: choices(marks, model=name) for name, marks in (RIGHT | changes).items()}


def test_they_are_those_of_compare(tmp_path: Path) -> None:
    rows = board_rows(tmp_path, "q_bench/perception", answers())
    found = paired_p_values(rows)
    pairs = [("good", "also"), ("good", "poor"), ("also", "poor")]
    raw = [compare(tmp_path / one, tmp_path / other).differences[0].p_value for one, other in pairs]
    assert [found[0, 1], found[0, 2], found[1, 2]] == pytest.approx(holm(raw))
    assert np.array_equal(found, found.T, equal_nan=True)
    scores = [[0.9, 0.83, 0.94], [0.88, 0.8, 0.93], [0.4, 0.31, 0.5]]
    assert [rank.place for rank in ranks(scores, rows[0].board.main, found)] == [1, 1, 3]


def test_models_with_the_same_mistakes_are_told_apart_where_intervals_overlap(tmp_path: Path) -> None:
    # Ten more items right, and none wrong that the other has right: intervals of 80 and 90 of 100 overlap.
    rows = board_rows(tmp_path, "q_bench/perception", answers(also="1" * 80 + "0" * 20, poor="1" * 79 + "0" * 21))
    found = paired_p_values(rows)
    assert found[0, 1] == pytest.approx(2 * stats.binomtest(10, 10).pvalue)
    scores = [[0.9, 0.826, 0.945], [0.8, 0.711, 0.867], [0.79, 0.7, 0.858]]
    assert [rank.place for rank in ranks(scores, rows[0].board.main, found)] == [1, 2, 2]
    assert [rank.place for rank in ranks(scores[:2], rows[0].board.main)] == [1, 2]
    wide = [[0.9, 0.7, 0.945], *scores[1:]]
    assert [rank.place for rank in ranks(wide, rows[0].board.main, found)] == [1, 2, 2]


def test_entries_without_answers_have_no_test(tmp_path: Path) -> None:
    found = paired_p_values(board_rows(tmp_path, "q_bench/perception", answers(), without=("also",)))
    assert np.isnan(found[1]).all() and np.isnan(found[:, 1]).all() and found[0, 2] < 1e-9


def test_correlations_by_a_paired_bootstrap(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    human = np.arange(80.0)
    runs = {
        name: qualities(np.column_stack([human + rng.normal(0, noise, 80), np.zeros(80)]).tolist(), human, model=name)
        for name, noise in (("good", 5), ("also", 6), ("poor", 300))
    }
    found = paired_p_values(board_rows(tmp_path, "q_bench/assessment/koniq10k", runs))
    assert found[0, 2] < 0.01 and found[1, 2] < 0.01 and found[0, 1] > 0.05


def test_an_empty_board() -> None:
    assert paired_p_values([]).shape == (0, 0)
