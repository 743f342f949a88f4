import json
import math

import numpy as np
import pytest

from eyechart.metrics.scoring.errors import InputError, LeftOutWarning, UndefinedScoreWarning
from eyechart.metrics.scoring.judging.answers import answer_scores, matches_exactly, read_answers
from eyechart.metrics.scoring.judging.prompts import Messages, read_fields
from eyechart.metrics.scoring.judging.rounds import JudgeSettings

# MMBench (arXiv:2307.06281), Table 5: question, ground truth, MiniGPT-4's answer, GPT's score.
TABLE_5 = [
    ("On which side of the picture is the leather bag?", "right", "leather bag is on right side", 5),
    ("Who is wearing a shirt?", "girl", "woman is wearing shirt", 5),
    ("What is the pen made of?", "plastic", "pen is made of plastic##", 5),
    ("What does the male person ride on?", "bike", "bicycle", 4),
    ("Is the microwave silver and rectangular?", "Yes", "microwave is silver and rectangular", 5),
    ("How does the silver lamp appear to be, on or off?", "off", "silver lamp appears to be off ##", 5),
]


def _scores(
    predictions: list[str], references: list[str], questions: list[str], judge, rounds: int = 1, groups=None
) -> dict:
    items = read_answers(predictions, references, questions, judge, rounds)
    return answer_scores(items, groups, JudgeSettings("judge", rounds))


def _fives(messages: Messages, n: int) -> list[str]:
    return ["Score: 5"] * n


def test_table_5_has_no_exact_match_and_a_mean_above_four() -> None:
    questions, references, predictions, marks = map(list, zip(*TABLE_5, strict=True))
    by_question = dict(zip(questions, marks, strict=True))

    def judge(messages: Messages, n: int) -> list[str]:
        return [f"Score: {by_question[read_fields(messages)[1]['question']]}"] * n

    scores = _scores(predictions, references, questions, judge)
    assert scores["exact_match"] == 0.0 and scores["mean_score"] == pytest.approx(29 / 6)
    assert scores["score_distribution"] == {
        "1": 0,
        "2": 0,
        "3": 0,
        "4": pytest.approx(1 / 6),
        "5": pytest.approx(5 / 6),
    }
    assert scores["exact_match_ci95"] == pytest.approx([0, 0.3903], abs=1e-4)
    assert all(map(math.isnan, scores["mean_score_ci95"])), "six answers are too few for a bootstrap"
    assert scores["intervals"] == {
        "mean_score": {"kind": "none", "units": 6},
        "exact_match": {"kind": "wilson", "units": 6},
    }
    np.testing.assert_equal(json.loads(json.dumps(scores)), scores)


@pytest.mark.parametrize(
    ("answer", "equal"),
    [
        ("right", True),
        ("Right.", True),
        (" **RIGHT** \n", True),
        ("right##", True),
        ("on right side", False),
        ("the right", False),
        ("", False),
        ("righ", False),
    ],
)
def test_exact_match(answer: str, equal: bool) -> None:
    assert matches_exactly(answer, "right") is equal


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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"questions": []}, "questions has 0 rows and predictions has 1"),
        ({"questions": [None]}, r"questions\[0\] is None"),
        ({"references": ["  "]}, "all 1 references are empty"),
    ],
)
def test_bad_input(arguments: dict, message: str) -> None:
    rows = {"predictions": ["a"], "references": ["b"], "questions": ["?"], "judge": _fives}
    with pytest.raises(InputError, match=message):
        _scores(**(rows | arguments))
