"""How entries are ranked: scores of their replies on the release, and paired tests between the rows of a board."""

import datetime
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from scipy import stats

from eyechart.datasets_scripts import mini
from eyechart.evaluators import evaluator
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.comparison.compare import compare_many
from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.requests.types import OutputType
from eyechart.evaluators.results.finished_runs import TaskKey, load_runs
from eyechart.evaluators.results.items import PREDICTIONS_FILE
from eyechart.evaluators.tasks import TASKS
from eyechart.hub_cards.leaderboard.boards import find_board
from eyechart.hub_cards.leaderboard.entries import REPLY, BoardRow, read_entry
from eyechart.hub_cards.leaderboard.page_data import BOARD_FOLDER, ranks_of, write_boards
from eyechart.hub_cards.leaderboard.paired import p_values
from eyechart.hub_cards.leaderboard.scoring import Release, score_on
from eyechart.metrics.scoring.statistics.paired import holm
from tests.evaluators.comparison.test_compare import choices, noisy, qualities
from tests.evaluators.comparison.test_ranking import RIGHT
from tests.evaluators.finished_runs import seal, write
from tests.hub_cards.leaderboard.handed_in import N, OwnBoard, board_named, change_rows, put
from tests.hub_cards.test_recomputing import rate, say


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
        ("q_bench/assessment/koniq10k", rated(a=4, b=9, c=11, d=40)),
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


TAKEN = ("task", "dataset", "split", "id", "pass", "repeat", *REPLY)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> OwnBoard:
    """A board with two entries, and copies of these."""
    return OwnBoard.with_two_models(tmp_path_factory.mktemp("own"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_replies_of_a_run_score_on_its_release_what_the_run_says(tmp_path: Path) -> None:
    tried: set[type] = set()
    for task in TASKS:
        if type(task.protocol) in tried:
            continue
        name = task.data.default_datasets[0]
        loaded = load_data(task, DataRequest(dataset=name, data_dir=mini.release(name), limit=24))
        reply = rate if task.protocol.output_type is OutputType.LOGITS else say
        result = evaluator(task.name).run(FunctionBackend(reply), loaded)
        if result.scores is None or "judge" in result.scores:
            continue
        entry = read_entry(write(tmp_path / task.name.replace("/", "-"), [result]), tmp_path)
        key = TaskKey(result.task, result.dataset, result.split)
        board, answers = find_board(*key), entry.run.answers(key)
        assert board is not None and answers is not None
        scored = score_on(Release(loaded), board, result, answers)
        # As texts, in which nan equals nan.
        assert json.dumps(scored.scores, sort_keys=True) == json.dumps(result.scores, sort_keys=True)
        tried.add(type(task.protocol))
    assert len(tried) == 5


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=5, deadline=None)
@given(data=st.data())
def test_nothing_but_the_replies_changes_a_row(own: OwnBoard, data: st.DataObject) -> None:
    file = own.as_entered() / PREDICTIONS_FILE
    own.build()
    before, table = own.rows(), parquet.read_table(file)
    others = st.sampled_from([name for name in table.column_names if name not in TAKEN])
    for name in data.draw(st.sets(others)):
        values = table[name].take(data.draw(st.permutations(range(len(table)))))
        if pyarrow.types.is_string(values.type):
            texts = st.sampled_from(["A", "D", "", "q3", "1", None])
            values = pyarrow.array(data.draw(st.lists(texts, min_size=len(table), max_size=len(table))), values.type)
        table = table.set_column(table.schema.get_field_index(name), name, values)
    parquet.write_table(table.take(data.draw(st.permutations(range(len(table))))), file)
    seal(file.parent)
    own.stated(file.parent, circular_accuracy=1.0, n_questions=7)
    assert own.build().rejected == []
    assert [row | {"run": ""} for row in own.rows()] == [row | {"run": ""} for row in before]


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=5, deadline=None)
@given(number=st.integers(0, 4 * N - 1), text=st.sampled_from(["A", "B", "The answer is C.", "", "I cannot say."]))
def test_a_reply_changes_its_own_item_alone(own: OwnBoard, number: int, text: str) -> None:
    def items() -> list[Any]:
        (row,) = [row for row in own.build().accepted if row.entry.source == "poor"]
        return row.result.items

    folder = own.as_entered()
    asked = parquet.read_table(folder / PREDICTIONS_FILE, columns=["id"])["id"][number].as_py()
    before = items()
    change_rows(folder, lambda rows: rows[number].update(text=text))
    assert {item.id for item, now in zip(before, items(), strict=True) if item != now} <= {asked}
