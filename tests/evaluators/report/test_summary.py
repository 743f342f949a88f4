"""What stands side by side in the page's tables."""

import dataclasses

import pytest

from eyechart.evaluators.report.runs import read_runs
from eyechart.evaluators.report.summary import settings_of, summarise
from tests.evaluators.report.conftest import PERCEPTION

SINGLE, PAIRS = "q_bench/perception on llvisionqa (dev)", "q_bench/perception_pairs on llvisionqa (dev)"
NONE = "\N{EN DASH}"


def single(**settings):
    return dataclasses.replace(PERCEPTION, settings=settings)


def pairs(**settings):
    return dataclasses.replace(PERCEPTION, task="q_bench/perception_pairs", settings=settings)


@pytest.fixture
def side_by_side(make_run):
    def make(*runs):
        folders = [make_run(*evaluations, name=f"run_{place}") for place, evaluations in enumerate(runs)]
        return dict(settings_of(read_runs(folders)))

    return make


def test_settings_are_compared_among_the_runs_that_have_the_task(side_by_side):
    second = pairs(seed=0, prompt_id="pairs/1")
    assert side_by_side([single(seed=0, prompt_id="one/1"), second], [second]) == {
        SINGLE: [("seed", ["0", NONE], False), ("prompt_id", ["one/1", NONE], False)],
        PAIRS: [("seed", ["0", "0"], False), ("prompt_id", ["pairs/1", "pairs/1"], False)],
    }


def test_settings_that_differ_within_a_task_are_marked(side_by_side):
    found = side_by_side([single(seed=0, prefill="A")], [single(seed=1)])
    assert found == {SINGLE: [("seed", ["0", "1"], True), ("prefill", ["A", ""], True)]}


def notes(make_run, **changes):
    (task,) = summarise(read_runs([make_run(dataclasses.replace(PERCEPTION, **changes))]))
    return task.notes


def test_scores_out_of_their_range_are_named_with_it(make_run):
    yes_no = {**PERCEPTION.scores["yes_no"], "n_yes": -1}
    variants = {"closed": {"accuracy_ci95": [0.5, 1.5]}}
    extras = {"table": {"CSIQ": {"srcc": -2.0}}}
    scores = {**PERCEPTION.scores, "accuracy": 5.0, "accuracy_ci95": None, "yes_no": yes_no}
    assert notes(make_run)[1:] == []
    assert notes(make_run, scores=scores, variants=variants, diagnostics=extras)[1:] == [
        "No metric returns this: scores.accuracy is 5.0; expected 0 to 1.",
        "No metric returns this: scores.yes_no.n_yes is -1; expected a whole number from 0 on.",
        "No metric returns this: variants.closed.accuracy_ci95 is [0.5, 1.5]; expected 0 to 1.",
        "No metric returns this: diagnostics.table.CSIQ.srcc is -2.0; expected -1 to 1.",
    ]


def test_of_very_many_scores_out_of_range_the_first_are_named(make_run):
    parts = {f"kind {number}": {"accuracy": -1.0} for number in range(30)}
    found = notes(make_run, scores={**PERCEPTION.scores, "by_concern": parts})[1:]
    assert len(found) == 21
    assert found[-1] == "10 more such scores are in the results."
