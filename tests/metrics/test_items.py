"""Items: every metric computes its scores from the columns that it returns with `return_items`, and nothing else."""

import json
import math
from typing import Any

import pytest

import eyechart.metrics
from eyechart.metrics.scoring.choices.self_awareness import OUTCOMES
from eyechart.metrics.scoring.quality.scores import QualitySettings, quality_scores
from tests.metrics.module_cases import CASES, QUALITY, computed

pytestmark = pytest.mark.filterwarnings("ignore::eyechart.metrics.scoring.errors.ScoringWarning")


def _text(scores: dict[str, Any]) -> str:
    """Scores as text, because nan differs from itself; the order of keys counts."""
    return json.dumps(scores)


@pytest.mark.parametrize("name", CASES)
def test_scores_follow_from_the_items(name: str) -> None:
    module, given, scores_of, settings = CASES[name]
    whole = dict(computed(name))
    items = whole.pop("items")
    assert _text(whole) == _text(eyechart.metrics.load(module).compute(**given))
    assert {len(column) for column in items.values()} == {len(given["predictions"])}
    stored = json.loads(json.dumps(items))
    assert stored == items and "nan" not in json.dumps(items).lower(), "plain values, and None for nothing"
    assert _text(scores_of(stored, given, **settings)) == _text(whole)


def test_scores_given_as_they_are() -> None:
    given = QUALITY | {"predictions": [math.sin(level) for level in range(24)]}
    whole = eyechart.metrics.load("softmax_iqa", "scores").compute(**given, return_items=True)
    items = whole.pop("items")
    assert items == {"quality_score": given["predictions"], "rank_score": given["predictions"]}
    settings = QualitySettings(resamples=20, seed=3)
    assert _text(quality_scores(items, given["references"], given["groups"], settings)) == _text(whole)


def test_items_by_hand() -> None:
    def items(name: str) -> dict[str, list[Any]]:
        return computed(name)["items"]

    assert items("choice_accuracy, judge") == {
        "choice": ["A", "B", "C", None, None, "B"],
        "step": ["judge", "judge", "judge", "unparseable", "unparseable", "judge"],
        "correct": [True, True, True, False, False, True],
        "judge_failed_rounds": [3, 3, 3, 5, None, 3],
    }
    assert items("circular_eval")["circular_correct"] == [True, True, False, False, False, False]
    assert items("circular_eval, judge")["step"] == ["exact"] * 3 + ["unparseable", "exact", "judge"]
    refused = items("self_awareness")
    assert refused["forced_choice"] == [None, "A", "B", None, None, None, None]
    assert refused["outcome"] == [OUTCOMES[place] for place in (0, 3, 2, 4, 4, 4, 4)]
    judged = items("self_awareness, judge")
    assert judged["forced_choice"][:5] == [None, "A", "B", None, "C"]
    assert judged["outcome"] == [OUTCOMES[place] for place in (0, 3, 2, 2, 2, 4, 4)]
    described = items("judge_description")
    assert described["completeness"] == [4 / 3, None, 0.0, None, 4 / 3]
    assert described["rounds"][1] is None and described["rounds"][0][0] == [1, None, 1, 2, None]
    assert described["empty_prediction"] == [False, None, True, False, False]
    assert described["finish_reason"] == ["length", "length", "stop", "refusal", None]
    assert items("judge_answer")["exact_match"] == [False, None, False, False, True]
    compared = items("paired_comparison")
    assert compared["choice"][0] is None and compared["correct"][0] is None and not compared["consistent"][0]


def test_a_question_without_all_its_passes_is_dropped_in_every_row() -> None:
    given = {"predictions": ["x", "y"], "references": ["A", "A"], "choices": [["x", "y"], ["y", "x"]]}
    found = eyechart.metrics.load("circular_eval").compute(
        **given, question_ids=["p", "q"], rotations=[0, 0], missing="drop", return_items=True
    )
    assert found["items"]["circular_correct"] == [None, None] and found["dropped"] == 2
