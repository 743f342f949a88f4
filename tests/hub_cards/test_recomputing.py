"""Scores recomputed from predictions, of genuine runs and of runs in which something was changed."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from eyechart.datasets_scripts import mini
from eyechart.evaluators import evaluator
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.evaluation.scoring import with_averages
from eyechart.evaluators.requests.types import OutputType
from eyechart.evaluators.results.finished_runs import load_runs
from eyechart.evaluators.results.items import PREDICTIONS_FILE
from eyechart.evaluators.tasks import TASKS, get_task
from eyechart.evaluators.tasks.q_bench import DATABASES
from eyechart.hub_cards.recomputing import Recomputing
from tests.evaluators.finished_runs import seal, write

pytestmark = pytest.mark.filterwarnings("ignore")
PERCEPTION = "q_bench/perception"
WHOLE = (
    *((PERCEPTION, "llvisionqa"), ("q_bench/description", "lldescribe"), ("q_bench/assessment", "spaq")),
    *(("mmbench/cc", "mmbench"), ("ql_bench/pair", "llsavisionqa"), ("two_afc/fine_mos", "two_afc")),
)
"""A task of each kind with its data."""
Change = Callable[[Any], Any]


def draw(text: str) -> float:
    return hashlib.sha256(text.encode()).digest()[0] / 256


def say(messages: Any) -> str:
    """A letter for most questions, and now and then a text that names no option."""
    drawn = draw(json.dumps(messages, default=str))
    return "I would rather not say." if drawn > 0.9 else "ABCD"[int(4 * drawn)]


def rate(messages: Any, words: Any) -> dict[str, float]:
    return {word: 10 * draw(f"{word} {messages}") for word in words}


def evaluated(task: str, dataset: str, limit: int | None = None) -> Any:
    bound = evaluator(task)
    request = DataRequest(dataset=dataset, data_dir=mini.release(dataset), limit=limit)
    loaded = load_data(bound.definition, request)
    answer = rate if bound.protocol.output_type is OutputType.LOGITS else say
    return bound.run(FunctionBackend(answer), loaded)


@pytest.fixture(scope="module")
def every_task(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of some items of every task."""
    results = [evaluated(task.name, name, 12) for task in TASKS for name in task.data.default_datasets]
    return write(tmp_path_factory.mktemp("every") / "run", with_averages(results))


@pytest.fixture(scope="module")
def six_tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of one task of each kind on all its data."""
    return write(tmp_path_factory.mktemp("whole") / "run", [evaluated(*names) for names in WHOLE])


def differences(run: Path, task: str = "") -> dict[str, tuple[str, ...]]:
    """How each result of a run, or those of one task, differs from its predictions."""
    (read,) = load_runs([run])
    recomputing = Recomputing(read)
    keys = [key for key in read.tasks if task in ("", key.task)]
    return {f"{key.task} {key.dataset}": recomputing.differences(key, get_task(key.task)) for key in keys}


def changed(run: Path, to: Path, results: Change | None = None, rows: Change | None = None, number: int = 0) -> Path:
    """A copy of a run with other scores of one task, or other predictions."""
    content = json.loads((run / "results.json").read_text())
    table = parquet.read_table(run / PREDICTIONS_FILE)
    predictions = table.to_pylist()
    if results is not None:
        results(content["tasks"][number])
    if rows is not None:
        rows(predictions)
    to.mkdir()
    (to / "results.json").write_text(json.dumps(content))
    parquet.write_table(pyarrow.Table.from_pylist(predictions, schema=table.schema), to / PREDICTIONS_FILE)
    return seal(to)


@pytest.mark.slow
def test_every_score_of_a_genuine_run_is_computed_again(every_task: Path) -> None:
    outcomes = differences(every_task)
    assert {name.split()[0] for name in outcomes} == {task.name for task in TASKS}
    assert "q_bench/assessment average" in outcomes and len(outcomes) == len(TASKS) + len(DATABASES)
    assert {name: differ for name, differ in outcomes.items() if differ} == {}


@pytest.mark.parametrize(
    ("number", "name", "factor", "differ"),
    [(0, "accuracy", 9e-7, 0), (0, "accuracy", 1.1e-6, 1), (4, "score_sa", 9e-7, 0), (4, "score_sa", 1.1e-6, 1)],
)
def test_scores_may_differ_as_much_as_those_of_two_processors(
    six_tasks: Path, tmp_path: Path, number: int, name: str, factor: float, differ: int
) -> None:
    def change(task: dict[str, Any]) -> None:
        task["scores"][name] += factor * max(1, task["scores"][name])

    (found,) = differences(changed(six_tasks, tmp_path / "run", change, number=number), WHOLE[number][0]).values()
    assert len(found) == differ, found


def test_without_predictions_nothing_differs(six_tasks: Path, tmp_path: Path) -> None:
    content = json.loads((six_tasks / "results.json").read_text())
    missing = "its predictions are missing; repeat the run (stored answers are reused)"
    for sha256, found in (("", ()), ("x", (missing,))):
        (tmp_path / "results.json").write_text(json.dumps({**content, "predictions_sha256": sha256}))
        assert set(differences(tmp_path).values()) == {found}


def test_scores_by_word_overlap_are_computed_again(six_tasks: Path, tmp_path: Path) -> None:
    def empty(rows: list[dict[str, Any]]) -> None:
        next(row for row in rows if row["empty_prediction"] is False)["empty_prediction"] = True

    (found,) = differences(changed(six_tasks, tmp_path / "run", rows=empty), "q_bench/description").values()
    assert "(main).empty_prediction is True; its predictions give False" in found[-1].replace("'", "")


@pytest.mark.parametrize(
    "change", [lambda scores: scores.pop("fit_parameters"), lambda scores: scores.update(fit_parameters=[1.0] * 4)]
)
def test_parameters_of_a_fit_are_no_score(six_tasks: Path, tmp_path: Path, change: Change) -> None:
    run = changed(six_tasks, tmp_path / "run", lambda task: change(task["scores"]), number=2)
    assert differences(run, "q_bench/assessment") == {"q_bench/assessment spaq": ()}


@pytest.mark.slow
def test_an_average_is_of_the_results_of_its_databases(every_task: Path, tmp_path: Path) -> None:
    def change(name: str, by: Any) -> tuple[str, ...]:
        content = json.loads((every_task / "results.json").read_text())
        tasks = [task for task in content["tasks"] if task["task"] == "q_bench/assessment"]
        by(next(task for task in tasks if task["dataset"] == name), tasks)
        folder = tmp_path / name
        folder.mkdir()
        (folder / "results.json").write_text(json.dumps({**content, "tasks": tasks, "predictions_sha256": ""}))
        return differences(folder)["q_bench/assessment average"]

    assert change("koniq10k", lambda task, tasks: None) == ()
    other = change("average", lambda task, tasks: task["scores"].update(srcc=0.9))
    assert other[0].startswith("scores.srcc is 0.9; its predictions give ")
    fewer = change("spaq", lambda task, tasks: tasks.remove(task))
    assert fewer[0].startswith("the average lacks a result or score of a database: ") and "'spaq'" in fewer[0]
    bare = change("live_fb", lambda task, tasks: task["scores"].pop("krcc"))
    assert bare == ("the average lacks a result or score of a database: 'krcc'",)
