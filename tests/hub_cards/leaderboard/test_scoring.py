"""A board scores the replies of an entry on the release, and takes nothing else from it."""

import json
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from eyechart.datasets_scripts import mini
from eyechart.evaluators import evaluator
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.requests.types import OutputType
from eyechart.evaluators.results.finished_runs import TaskKey
from eyechart.evaluators.results.items import PREDICTIONS_FILE
from eyechart.evaluators.tasks import TASKS
from eyechart.hub_cards.leaderboard.boards import find_board
from eyechart.hub_cards.leaderboard.entries import REPLY, read_entry
from eyechart.hub_cards.leaderboard.scoring import Release, score_on
from tests.evaluators.finished_runs import seal, write
from tests.hub_cards.leaderboard.own_board import N, OwnBoard, change_rows
from tests.hub_cards.test_recomputing import rate, say

pytestmark = pytest.mark.filterwarnings("ignore")
TAKEN = ("task", "dataset", "split", "id", "pass", "repeat", *REPLY)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> OwnBoard:
    """A board with two entries, and copies of these."""
    return OwnBoard.with_two_models(tmp_path_factory.mktemp("own"))


@pytest.mark.slow
def test_the_replies_of_a_run_score_on_its_release_what_the_run_says(tmp_path: Path) -> None:
    tried = set()
    for task in TASKS:
        name = task.data.default_datasets[0]
        loaded = load_data(task, DataRequest(dataset=name, data_dir=mini.release(name)))
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
        tried.add(type(task.protocol).__name__)
    assert len(tried) == 5


@settings(max_examples=12, deadline=None)
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


@settings(max_examples=12, deadline=None)
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
