import math

import pytest

import eyechart.metrics
from eyechart.metrics.scoring.errors import UndefinedScoreWarning

ROWS = {
    "predictions": ["leather bag is on right side", "Plastic.", "It is bright"],
    "references": ["right", "plastic", "dark"],
    "questions": ["On which side is the bag?", "What is the pen made of?", "How is the light?"],
}
SETTINGS = {
    "judge": "lexical",
    "template": "mmbench_marking",
    "template_version": 1,
    "wording": "eyechart",
    "rounds": 1,
    "resamples": 1000,
    "seed": 0,
}
SCORES = {"mean_score", "mean_score_ci95", "score_distribution", "exact_match", "exact_match_ci95"}
COUNTS = {"n", "n_scored", "failed_rounds", "empty_predictions", "without_reference"}


@pytest.fixture
def metric():
    return eyechart.metrics.load("judge_answer")


def test_keys_and_settings(metric) -> None:
    scores = metric.compute(**ROWS)
    assert set(scores) == SCORES | COUNTS | set(SETTINGS)
    assert {name: scores[name] for name in SETTINGS} == SETTINGS
    assert scores["mean_score"] == pytest.approx(11 / 3) and scores["exact_match"] == pytest.approx(1 / 3)
    assert sum(scores["score_distribution"].values()) == pytest.approx(1)


def test_the_judge_sees_question_correct_answer_and_answer(metric) -> None:
    asked = []

    def fair(messages, n):
        asked.append(messages[-1]["content"])
        return ["Score: 3"] * n

    scores = metric.compute(**ROWS, judge=fair, rounds=2)
    assert scores["judge"] == "fair" and scores["mean_score"] == 3.0 and scores["rounds"] == 2
    for row, content in enumerate(asked):
        assert all(f"<data>{column[row]}</data>" in content for column in ROWS.values())


def test_a_broken_judge_leaves_exact_match(metric) -> None:
    with pytest.warns(UndefinedScoreWarning, match="overall: nan for mean_score"):
        scores = metric.compute(**ROWS, judge=lambda messages, n: ["good"] * n)
    assert math.isnan(scores["mean_score"]) and scores["failed_rounds"] == 3 and scores["n_scored"] == 0
    assert scores["exact_match"] == pytest.approx(1 / 3)


def test_one_answer(metric) -> None:
    scores = metric.compute(predictions=["Red"], references=["red"], questions=["Which color?"])
    assert scores["mean_score"] == 5.0 and scores["exact_match"] == 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"references": ["", "", ""]}, "all 3 references are empty"),
        ({"rounds": True}, "rounds is True"),
        ({"questions": ["a", None, "b"]}, r"questions\[1\] is None"),
        ({"questions": ["a"]}, "questions has 1 rows and predictions has 3; row 1 is the first"),
    ],
)
def test_bad_input(metric, arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        metric.compute(**(ROWS | arguments))
