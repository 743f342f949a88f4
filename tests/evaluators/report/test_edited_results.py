"""Results files of which one value was edited: each is refused with its key, or gives a page."""

import copy
import json
import random
import warnings

import pytest

from eyechart.datasets_scripts.common.errors import BadResultsError
from eyechart.evaluators import evaluator
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.report.charts import charts_of
from eyechart.evaluators.report.page import TaskContent, render
from eyechart.evaluators.report.reported_task import reported_tasks
from eyechart.evaluators.report.samples import Samples
from eyechart.evaluators.report.tables import tables_of
from eyechart.evaluators.results.finished_runs import read_runs
from eyechart.evaluators.results.results_file import collect
from eyechart.evaluators.tasks import get_task

EDITS = 400
TASKS = ("q_bench/perception", "q_bench/description", "q_bench/assessment", "two_afc/coarse", "mmbench/en")
AGREEMENT = {"all": {"agreement": 0.5, "agreement_ci95": [0.1, 0.9], "n": 2}, "after_exact": None}
BEYOND = "a number beyond all floats"
DEEP = json.loads("[" * 100 + "]" * 100)
VALUES = ("x", [], {}, None, -1, True, 0.5, 1e308, 10**400, BEYOND, DEEP, [[1]], ["x", None], {"a": {"b": []}})


def answer(messages, words=None):
    """The same to all, and a number for words."""
    return "A" if words is None else {word: float(place) for place, word in enumerate(words)}


@pytest.fixture(scope="module")
def results():
    """The contents of a real results file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [
            evaluator(name).run(FunctionBackend(answer), load_data(get_task(name), DataRequest(is_mini=True)))
            for name in TASKS
        ]
    found[-1].diagnostics["extractor_agreement"] = AGREEMENT
    return json.loads(collect(found, [], "2026-01-01T00:00:00+00:00").model_dump_json(by_alias=True))


def edit(results, rng):
    """One task's results with one value changed, and the way to it; near and far places are as likely."""
    edited = copy.deepcopy({**results, "tasks": [rng.choice(results["tasks"])]})
    task = edited["tasks"][0]
    value = rng.choice([edited, task, task["scores"], task["scores"], task["diagnostics"], task["settings"]])
    way = []
    while value:
        place = rng.choice(list(value) if isinstance(value, dict) else range(len(value)))
        way.append(place)
        if not isinstance(value[place], dict | list) or not value[place] or rng.random() < 0.2:
            value[place] = rng.choice(VALUES)
            break
        value = value[place]
    return json.dumps(edited).replace(json.dumps(BEYOND), "1e400"), f"{task['task']}: {way}"


def report(folder):
    """All of a report that draws nothing."""
    runs, contents = read_runs([folder]), []
    for task in reported_tasks(runs):
        for chart in charts_of(task):
            assert chart.table.columns and chart.table.rows
        contents.append(TaskContent(task, [], tables_of(task)))
    return render(runs, contents, Samples([], [], []))


def test_each_is_refused_or_gives_a_page(results, tmp_path):
    rng, refused = random.Random(0), 0
    for _ in range(EDITS):
        text, way = edit(results, rng)
        (tmp_path / "results.json").write_text(text)
        try:
            read_runs([tmp_path])
        except BadResultsError:
            refused += 1
            continue
        try:
            assert "</html>" in report(tmp_path)
        except Exception as error:
            error.add_note(f"edited was {way}")
            raise
    assert 0 < refused < EDITS
