import pytest

import eyechart.metrics

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
}


@pytest.fixture
def metric():
    return eyechart.metrics.load("judge_answer")


def test_settings(metric) -> None:
    scores = metric.compute(**ROWS)
    assert {name: scores[name] for name in SETTINGS} == SETTINGS


def test_the_judge_sees_question_correct_answer_and_answer(metric) -> None:
    asked = []

    def fair(messages, n):
        asked.append(messages[-1]["content"])
        return ["Score: 3"] * n

    scores = metric.compute(**ROWS, judge=fair, rounds=2)
    assert scores["judge"] == "fair" and scores["mean_score"] == 3.0 and scores["rounds"] == 2
    for row, content in enumerate(asked):
        assert all(f"<data>{column[row]}</data>" in content for column in ROWS.values())


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
