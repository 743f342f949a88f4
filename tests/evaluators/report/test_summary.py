"""What stands side by side in the page's tables."""

import pytest

from eyechart.evaluators.report.summary import settings_of
from eyechart.evaluators.results.finished_runs import read_runs
from tests.evaluators.report.conftest import PERCEPTION, replaced

SINGLE, PAIRS = "Q-Bench A1 Perception (LLVisionQA, dev)", "Q-Bench A1 Perception of pairs (LLVisionQA, dev)"
NONE = "\N{EN DASH}"


def single(**settings):
    return replaced(PERCEPTION, settings=settings)


def pairs(**settings):
    return replaced(PERCEPTION, task="q_bench/perception_pairs", settings=settings)


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
