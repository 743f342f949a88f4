import json
import math

import numpy as np
import pytest

import eyechart.metrics
from eyechart.metrics.scoring.errors import LeftOutWarning, UndefinedScoreWarning
from eyechart.metrics.scoring.judging.answers import answer_scores, read_answers
from eyechart.metrics.scoring.judging.prompts import Messages, read_fields
from eyechart.metrics.scoring.judging.replies import JudgeSettings

# MMBench (arXiv:2307.06281), Table 5: question, ground truth, MiniGPT-4's answer, GPT's score.
TABLE_5 = [
    ("On which side of the picture is the leather bag?", "right", "leather bag is on right side", 5),
    ("Who is wearing a shirt?", "girl", "woman is wearing shirt", 5),
    ("What is the pen made of?", "plastic", "pen is made of plastic##", 5),
    ("What does the male person ride on?", "bike", "bicycle", 4),
    ("Is the microwave silver and rectangular?", "Yes", "microwave is silver and rectangular", 5),
    ("How does the silver lamp appear to be, on or off?", "off", "silver lamp appears to be off ##", 5),
]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"references": ["", " "]}, "all 2 references are empty"),
        ({"rounds": True}, "rounds is True"),
        ({"questions": ["a", None]}, r"questions\[1\] is None"),
        ({"questions": ["a"]}, "questions has 1 rows and predictions has 2"),
    ],
)
def test_bad_input(arguments: dict, message: str) -> None:
    rows = {"predictions": ["a", "b"], "references": ["b", "b"], "questions": ["?", "?"]}
    with pytest.raises(ValueError, match=message):
        eyechart.metrics.load("judge_answer").compute(**(rows | arguments))


def test_table_5_has_no_exact_match_and_a_mean_above_four() -> None:
    questions, references, predictions, expected = map(list, zip(*TABLE_5, strict=True))
    asked = []

    def judge(messages: Messages, n: int) -> list[str]:
        asked.append(tuple(read_fields(messages)[1].values()))
        return [f"Score: {expected[len(asked) - 1]}"] * n

    metric = eyechart.metrics.load("judge_answer")
    scores = metric.compute(predictions=predictions, references=references, questions=questions, judge=judge)
    assert asked == [row[:3] for row in TABLE_5]
    assert scores["exact_match"] == 0.0 and scores["mean_score"] == pytest.approx(29 / 6)
    assert list(scores["score_distribution"].values()) == pytest.approx([0, 0, 0, 1 / 6, 5 / 6])
    assert scores["exact_match_ci95"] == pytest.approx([0, 0.3903], abs=1e-4)
    assert all(map(math.isnan, scores["mean_score_ci95"])), "six answers are too few for an interval"
    assert scores["intervals"] == {
        "mean_score": {"kind": "none", "units": 6},
        "exact_match": {"kind": "wilson", "units": 6},
    }
    settings = {
        "judge": "judge",
        "template": "mmbench_marking",
        "template_version": 1,
        "wording": "eyechart",
        "rounds": 1,
    }
    assert {name: scores[name] for name in settings} == settings
    np.testing.assert_equal(json.loads(json.dumps(scores)), scores)


def _scores(
    predictions: list[str], references: list[str], questions: list[str], judge, rounds: int = 1, groups=None
) -> dict:
    items = read_answers(predictions, references, questions, judge, rounds)
    return answer_scores(items, groups, JudgeSettings("judge", rounds))


def _fives(messages: Messages, n: int) -> list[str]:
    return ["Score: 5"] * n


@pytest.mark.parametrize(
    ("answer", "is_equal"),
    [
        *((text, True) for text in ("right", "Right.", " **RIGHT** \n", "right##")),
        *((text, False) for text in ("on right side", "the right", "", "righ")),
    ],
)
def test_exact_match(answer: str, is_equal: bool) -> None:
    assert read_answers([answer], ["right"], ["?"], _fives)["exact_match"] == [is_equal]


def test_several_rounds_are_pooled_and_failed_ones_counted() -> None:
    replies = ["Score: 5", "4", "6", "0", "Score: 3"]
    scores = _scores(["a"], ["b"], ["?"], lambda messages, n: replies, 5)
    assert scores["mean_score"] == 4.0 and scores["failed_rounds"] == 2 and scores["n_scored"] == 1


def test_when_every_round_fails_exact_match_still_stands() -> None:
    with pytest.warns(UndefinedScoreWarning, match="overall: nan for mean_score: the judge gave no score in any round"):
        scores = _scores(["b"], ["b"], ["?"], lambda messages, n: [])
    assert math.isnan(scores["mean_score"]) and all(map(math.isnan, scores["mean_score_ci95"]))
    assert scores["exact_match"] == 1.0 and scores["n"] == 1 and scores["n_scored"] == 0


def test_empty_answers_get_the_lowest_mark_unasked() -> None:
    scores = _scores(["", "b"], ["b", "b"], ["?", "?"], _fives)
    assert scores["mean_score"] == 3.0 and scores["exact_match"] == 0.5 and scores["empty_predictions"] == 1


def test_groups_and_rows_without_a_reference() -> None:
    with pytest.warns(LeftOutWarning, match="1 of 3 rows"):
        scores = _scores(["a", "b", "c"], ["a", "", "d"], ["?"] * 3, _fives, groups={"kind": ["x", "x", "y"]})
    assert scores["without_reference"] == 1 and scores["n"] == 2
    assert {kind: part["exact_match"] for kind, part in scores["by_kind"].items()} == {"x": 1.0, "y": 0.0}
    assert scores["by_kind"]["x"]["n"] == 1
