"""What stands side by side in the page's tables."""

import dataclasses

import pytest

from eyechart.evaluators.report.runs import read_runs
from eyechart.evaluators.report.summary import settings_of
from tests.evaluators.report.conftest import PERCEPTION

SHARED = "Shared by all tasks that have them"
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
        return {settings.title: settings.rows for settings in settings_of(read_runs(folders))}

    return make


def test_settings_are_compared_among_the_runs_that_have_the_task(side_by_side):
    second = pairs(seed=0, prompt_id="pairs/1")
    assert side_by_side([single(seed=0, prompt_id="one/1"), second], [second]) == {
        SHARED: [("seed", ["0", "0"], False)],
        SINGLE: [("prompt_id", ["one/1", NONE], False)],
        PAIRS: [("prompt_id", ["pairs/1", "pairs/1"], False)],
    }


def test_settings_that_differ_within_a_task_are_marked(side_by_side):
    found = side_by_side([single(seed=0, prefill="A"), pairs(seed=0)], [single(seed=1), pairs(seed=1)])
    assert found[SHARED] == [("seed", ["0", "1"], True)]
    assert found[SINGLE] == [("prefill", ["A", ""], True)]


def test_runs_without_a_common_task_differ_in_no_setting(side_by_side):
    assert side_by_side([single(prompt_id="one/1")], [pairs(prompt_id="pairs/1")]) == {
        SINGLE: [("prompt_id", ["one/1", NONE], False)],
        PAIRS: [("prompt_id", [NONE, "pairs/1"], False)],
    }
