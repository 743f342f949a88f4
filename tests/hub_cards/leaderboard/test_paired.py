"""Paired tests between the entries of a board."""

import datetime
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from eyechart.evaluators.comparison.compare import compare, compare_many
from eyechart.evaluators.results.finished_runs import read_runs
from eyechart.hub_cards.leaderboard.entries import BoardRow, read_entry
from eyechart.hub_cards.leaderboard.page_data import BOARD_FOLDER, ranks_of, write_boards
from eyechart.hub_cards.leaderboard.paired import PairedTests, paired_tests
from eyechart.hub_cards.recomputing import Check
from eyechart.metrics.scoring.statistics.significance import holm
from tests.evaluators.comparison.test_compare import choices, descriptions, noisy, qualities
from tests.evaluators.comparison.test_ranking import RIGHT
from tests.evaluators.finished_runs import write
from tests.hub_cards.leaderboard.handed_in import board_named, put


def board_rows(root: Path, board: str, runs: dict[str, Any], without: tuple[str, ...] = ()) -> list[BoardRow]:
    paired = []
    for name, run in runs.items():
        folder = write(root / name, run if isinstance(run, list) else [run])
        if name in without:
            (folder / "predictions.parquet").unlink()
        entry = read_entry(folder, root)
        result = entry.run.results.tasks[0]
        paired.append(BoardRow(board_named(board), result, entry, datetime.datetime.now(datetime.UTC), Check()))
    return paired


def answers(**changes: str) -> dict[str, Any]:
    return {name: choices(marks, model=name) for name, marks in (RIGHT | changes).items()}


def test_models_with_the_same_mistakes_are_told_apart_where_intervals_overlap(tmp_path: Path) -> None:
    # Ten more items right, and none wrong that the other has right: intervals of 80 and 90 of 100 overlap.
    rows = board_rows(tmp_path, "q_bench/perception", answers(also="1" * 80 + "0" * 20, poor="1" * 79 + "0" * 21))
    paired = paired_tests(rows).p_values
    assert paired[0, 1] == pytest.approx(2 * stats.binomtest(10, 10).pvalue)
    assert ranks_of([0.9, 0.8, 0.79], rows[0].board.main.score, paired) == [1, 2, 2]


def test_entries_without_answers_have_no_test(tmp_path: Path) -> None:
    paired = paired_tests(board_rows(tmp_path, "q_bench/perception", answers(), without=("also",))).p_values
    assert np.isnan(paired[1]).all() and np.isnan(paired[:, 1]).all() and paired[0, 2] < 1e-9


def test_entries_without_answers_are_compared_by_their_intervals(tmp_path: Path) -> None:
    rows = board_rows(tmp_path, "q_bench/perception", answers(), without=tuple(RIGHT))[:2]
    for row, (accuracy, *ends) in zip(rows, [(0.9, 0.85, 0.93), (0.8, 0.73, 0.86)], strict=True):
        row.result.scores |= {"accuracy": accuracy, "accuracy_ci95": ends}
    deviation = np.hypot(0.05, 0.06) / stats.norm.ppf(0.975)
    assert paired_tests(rows).p_values[0, 1] == pytest.approx(2 * stats.norm.sf(0.1 / deviation))
    for row in rows:
        row.result.scores["accuracy_ci95"] = [row.result.scores["accuracy"]] * 2
    assert np.isnan(paired_tests(rows).p_values[0, 1])


def test_models_with_too_few_items_for_a_test_share_a_rank(tmp_path: Path) -> None:
    runs = {name: qualities([[1.0, 0.0], [2.0, 0.0]], np.arange(2.0), model=name) for name in "ab"}
    paired = paired_tests(board_rows(tmp_path, "q_bench/assessment/koniq10k", runs))
    assert (paired.p_values[0, 1], paired.p_values[1, 0], paired.n) == (1, 1, 0)


def rated(**noise: float) -> dict[str, Any]:
    """Models whose predicted qualities are the human ones with noise of these deviations."""
    rng = np.random.default_rng(1)
    return {name: noisy(marked, 60, rng, model=name) for name, marked in noise.items()}


def judged(**shares: float) -> dict[str, Any]:
    """Models whose descriptions get 2 in this share of rounds, else 1."""
    rng = np.random.default_rng(2)
    return {
        name: descriptions((1 + (rng.random((40, 3, 5)) < share)).tolist()).model_copy(update={"model": name})
        for name, share in shares.items()
    }


@pytest.mark.parametrize(
    ("board", "runs"),
    [
        ("q_bench/perception", answers(also="1" * 80 + "0" * 20)),
        ("q_bench/perception", {"a": choices("1" * 27 + "0" * 13), "b": choices("1" * 20 + "0" * 20)}),
        ("q_bench/assessment/koniq10k", rated(a=4, b=9, c=11, d=12, e=40, f=42)),
        ("q_bench/description", judged(a=0.9, b=0.8, c=0.7, d=0.68, e=0.3)),
    ],
)
def test_a_board_and_compare_find_the_same_places(tmp_path: Path, board: str, runs: dict[str, Any]) -> None:
    # A second task of each run, whose tests have no part in this ranking.
    marked = {name: choices("1100", model=name, task="own") for name in runs}
    results = {name: [run.model_copy(update={"model": name}), marked[name]] for name, run in runs.items()}
    rows = board_rows(tmp_path, board, results)
    compared = compare_many(read_runs([tmp_path / name for name in results]))
    ranking = compared.rankings[0]
    for row in rows:
        (score,) = [first.score for first in ranking.runs if first.run == row.result.model]
        put(row.result.scores, row.board.main.name.split("."), score)
    written = {row["model"]: row for row in written_board(rows, tmp_path / "out")}
    assert {name: row["rank"] for name, row in written.items()} == {first.run: first.place for first in ranking.runs}
    pairs = len(runs) * (len(runs) - 1) // 2
    assert ranking.tests == pairs and all(row["tests"] == pairs for row in written.values())
    tests = [test for pair in compared.pairs for test in pair.differences]
    raw = [test.p_value for test in tests if (test.title, test.key) == (ranking.title, ranking.key)]
    assert paired_tests(rows).p_values[np.triu_indices(len(rows), 1)] == pytest.approx(holm(raw))


def written_board(rows: list[BoardRow], out: Path) -> list[dict[str, Any]]:
    said = write_boards(rows, out)
    paired = json.loads((out / BOARD_FOLDER / f"{rows[0].board.name.replace('/', '-')}.json").read_text())
    rows_of = [(row["model"], note) for row in paired["rows"] for note in row.get("notes", [])]
    assert said == [f"{rows[0].board.name}, {model}: {note}" for model, note in rows_of]
    return paired["rows"]


def texts(paired: PairedTests) -> list[list[str]]:
    """The words of the notes."""
    return [[note.text for note in notes] for notes in paired.notes]


def images(of: int = 1) -> list[str]:
    """Each image with this many questions."""
    return [f"image {index // of}" for index in range(100)]


def with_images(**changes: Any) -> dict[str, Any]:
    """The models of `RIGHT` on questions with an image each, some items of one of them changed."""
    runs = {name: choices(marks, images(), model=name) for name, marks in RIGHT.items()}
    items = runs["also"].items
    items[-1] = replace(items[-1], **changes)
    return runs


def test_entries_that_differ_in_an_item_are_tested_on_the_others(tmp_path: Path) -> None:
    rows = board_rows(tmp_path, "q_bench/perception", with_images(id="renamed"))
    paired = paired_tests(rows)
    raw = [
        compare(tmp_path / first, tmp_path / second, common=True).differences[0].p_value
        for first, second in (("good", "also"), ("good", "poor"), ("also", "poor"))
    ]
    assert paired.p_values[np.triu_indices(3, 1)] == pytest.approx(holm(raw))
    tested = "paired test on 99.00 % of the items, which are in common with"
    assert texts(paired) == [[f"{tested} also"], [f"{tested} good, poor"], [f"{tested} also"]]
    assert written_board(rows, tmp_path / "out")[0]["notes"]


def test_entries_on_other_items_or_with_other_answers_have_no_paired_test(tmp_path: Path) -> None:
    runs = with_images(id="renamed")
    runs["also"].items[0] = replace(runs["also"].items[0], id="other")
    paired = paired_tests(board_rows(tmp_path / "items", "q_bench/perception", runs))
    # These results have no interval either.
    assert np.isnan(paired.p_values[0, 1]) and np.isnan(paired.p_values[1, 2]) and paired.n == 1
    assert texts(paired)[0] == ["only 98.00 % of the items in common with also: compared by intervals"]
    runs = with_images(answer="B", label="Fair")
    runs |= {name: runs["poor"].model_copy(update={"model": name}) for name in ("x", "y")}
    paired = paired_tests(board_rows(tmp_path / "answers", "q_bench/perception", runs))
    assert np.isnan(paired.p_values[0, 1]) and paired.p_values[0, 2] < 0.01
    words = "reference differs from {} for 1 item(s): compared by intervals"
    assert texts(paired) == [[words.format(names)] for names in ("also", "good, poor, x, 1 more", *["also"] * 3)]


def test_other_clusters_are_said_and_make_no_test_surer(tmp_path: Path) -> None:
    """Ten questions about each image; one entry says that each has an image of its own."""
    marks = {"good": "1" * 90 + "0" * 10, "also": "1" * 70 + "0" * 30}
    runs = {name: choices(marked, images(of=10), model=name) for name, marked in marks.items()}
    expected = paired_tests(board_rows(tmp_path / "a", "q_bench/perception", runs)).p_values[0, 1]
    for index in (0, 1):
        name = list(marks)[index]
        tampered = runs | {name: choices(marks[name], images(), model=name)}
        paired = paired_tests(board_rows(tmp_path / f"b{index}", "q_bench/perception", tampered))
        assert paired.p_values[0, 1] == expected > 1e-3
        assert texts(paired)[0] == ["groups items by image differently than also: the larger p-value of both counts"]
    # Another name for each image changes nothing.
    renamed = runs | {"also": choices(marks["also"], [f"{name}!" for name in images(of=10)], model="also")}
    paired = paired_tests(board_rows(tmp_path / "c", "q_bench/perception", renamed))
    assert paired.p_values[0, 1] == expected and paired.notes == [[], []]


def test_entries_that_know_no_clusters_take_those_of_others(tmp_path: Path) -> None:
    marks = {"good": "1" * 90 + "0" * 10, "also": "1" * 70 + "0" * 30}
    older = {name: choices(marked, model=name) for name, marked in marks.items()}
    (note,) = paired_tests(board_rows(tmp_path / "a", "q_bench/perception", older)).notes[0]
    assert note.code == "images_unknown" and "whether 100 of 100 items share an image is unknown" in note.text
    newer = older | {"new": choices("1" * 50 + "0" * 50, images(of=10), model="new")}
    paired = paired_tests(board_rows(tmp_path / "b", "q_bench/perception", newer))
    assert paired.notes == [[], [], []]
    known = {name: choices(marked, images(of=10), model=name) for name, marked in marks.items()} | {"new": newer["new"]}
    again = paired_tests(board_rows(tmp_path / "c", "q_bench/perception", known))
    assert np.array_equal(paired.p_values, again.p_values, equal_nan=True)
