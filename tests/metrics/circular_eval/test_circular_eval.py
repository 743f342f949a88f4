import itertools
import json
import math

import pytest

import eyechart.metrics
from eyechart.metrics.scoring.choices.reading import random_choice
from eyechart.metrics.scoring.errors import UndefinedScoreWarning

ROWS = {
    "predictions": ["A", "The answer is B.", "Cat", "A. Dog"],
    "references": ["A", "B", "A", "B"],
    "choices": [["Red", "Blue"], ["Blue", "Red"], ["Cat", "Dog"], ["Dog", "Cat"]],
    "question_ids": ["q1", "q1", "q2", "q2"],
    "rotations": [0, 1, 0, 1],
}
KEYS = {"circular_accuracy", "circular_ci95", "vanilla_accuracy", "vanilla_ci95", "random_guess", "n_questions"}
KEYS |= {"n_vanilla", "n_passes", "dropped", "extraction", "choice_distribution", "distribution_over"}
VAGUE = "Hard to tell"


@pytest.fixture
def metric():
    return eyechart.metrics.load("circular_eval")


def test_scores(metric) -> None:
    scores = metric.compute(**ROWS)
    assert set(scores) == KEYS | {"missing", "fallback"}
    assert scores["circular_accuracy"] == 0.5 and scores["vanilla_accuracy"] == 1.0
    assert scores["random_guess"] == 0.25
    assert scores["n_questions"] == 2 and scores["n_passes"] == 4
    assert scores["missing"] == "error" and scores["fallback"] == "wrong"
    assert json.loads(json.dumps(scores)) == scores


def test_rows_may_stand_in_any_order(metric) -> None:
    expected = metric.compute(**ROWS)
    for order in itertools.permutations(range(4)):
        assert metric.compute(**{name: [column[row] for row in order] for name, column in ROWS.items()}) == expected


@pytest.mark.parametrize("question_ids", [[1, 1, 2, 2], ["1", "1", "2", "2"]])
def test_question_ids_are_text_or_whole_numbers(metric, question_ids: list) -> None:
    rows = ROWS | {"question_ids": question_ids}
    assert metric.compute(**rows) == metric.compute(**ROWS)
    with pytest.raises(ValueError, match="question '2' lacks 1"):
        metric.compute(**{name: column[:3] for name, column in rows.items()})


def test_groups(metric) -> None:
    scores = metric.compute(**ROWS, groups={"category": ["colour", "colour", "object", "object"]})
    assert {name: part["circular_accuracy"] for name, part in scores["by_category"].items()} == {
        "colour": 1.0,
        "object": 0.0,
    }
    assert set(scores["by_category"]["object"]) == KEYS - {"distribution_over"} | {"n"}


def test_judge(metric) -> None:
    rows = ROWS | {"predictions": ["A", VAGUE, "", "B"]}
    asked = []

    def judge(messages, n: int) -> list[str]:
        asked.append(messages)
        return ["B"] * n

    scores = metric.compute(**rows, questions=["Which colour?"] * 2 + ["Which animal?"] * 2, judge=judge, rounds=3)
    assert scores["circular_accuracy"] == 0.5 and scores["extraction"]["judge"] == 0.25
    assert len(asked) == 1 and "Which colour" in asked[0][0]["content"] and "A. Blue B. Red" in asked[0][0]["content"]
    assert (scores["judge"], scores["judge_template"], scores["rounds"]) == ("judge", "mmbench_choice", 3)
    assert scores["judge_asked"] == 1 and scores["judge_failed_rounds"] == 0


def test_judge_that_votes(metric) -> None:
    rows = ROWS | {"predictions": ["A", VAGUE, "A", "B"]}
    scores = metric.compute(
        **rows, questions=["?"] * 4, judge=lambda messages, n: ["Score: 1"] * n, judge_template="q_bench_vote"
    )
    assert scores["circular_accuracy"] == 1.0 and scores["judge_template"] == "q_bench_vote"


def test_no_judge_is_asked_about_malformed_rows(metric) -> None:
    def judge(messages, n: int) -> list[str]:
        raise AssertionError("asked")

    rows = ROWS | {"predictions": [VAGUE] * 4, "rotations": [0, 1, 0, 0]}
    with pytest.raises(ValueError, match=r"question_ids\[3\]"):
        metric.compute(**rows, questions=["?"] * 4, judge=judge)


def test_random_fallback_is_drawn_from_seed_question_and_rotation(metric) -> None:
    rows = ROWS | {"predictions": [VAGUE] * 4}
    for seed in range(8):
        passes = zip(ROWS["question_ids"], ROWS["rotations"], ROWS["references"], strict=True)
        right = [random_choice(2, seed, question, rotation) == answer for question, rotation, answer in passes]
        scores = metric.compute(**rows, fallback="random", seed=seed)
        assert scores["circular_accuracy"] == (right[0] * right[1] + right[2] * right[3]) / 2
        assert scores["vanilla_accuracy"] == (right[0] + right[2]) / 2
        assert scores["extraction"]["random"] == 1.0 and scores["seed"] == seed


def test_missing_rotation(metric) -> None:
    rows = {name: [*column[:1], *column[2:]] for name, column in ROWS.items()}
    with pytest.raises(ValueError, match="rotations: question 'q1' lacks 1, and its other passes are right"):
        metric.compute(**rows)
    scores = metric.compute(**rows, missing="drop")
    assert scores["circular_accuracy"] == 0.0 and scores["n_questions"] == 1
    assert scores["dropped"] == 1 and scores["missing"] == "drop" and scores["distribution_over"] == "rotation 0"


def test_one_pass(metric) -> None:
    row = {name: column[:1] for name, column in ROWS.items()}
    with pytest.warns(UndefinedScoreWarning, match="every question was dropped"):
        assert math.isnan(metric.compute(**row, missing="drop")["circular_accuracy"])
    assert metric.compute(**(row | {"predictions": ["B"]}))["circular_accuracy"] == 0.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"references": ["A", "B", "A"]}, "references has 3 rows and predictions has 4"),
        ({"references": ["A", "B", "C", "B"]}, r"references\[2\] is 'C'; allowed: A to B"),
        ({"references": ["A", "B", "", "B"]}, r"references\[2\] is ''"),
        ({"predictions": ["A", None, "A", "A"]}, r"predictions\[1\] is None"),
        ({"pass_counts": [2, 2, 2]}, "pass_counts has 3 rows"),
        ({"pass_counts": [1, 1, 2, 2]}, r"pass_counts\[0\] is 1; 2 passes of its question are given"),
        ({"rotations": [0, 1, 0, 1.5]}, r"rotations\[3\] is 1.5"),
        ({"rotations": [0, 0, 0, 1]}, r"question_ids\[1\] is 'q1' with rotation 0, as is row 0"),
        ({"question_ids": ["q1", None, "q2", "q2"]}, r"question_ids\[1\] is None"),
        ({"groups": {"kind": ["a"]}}, r"groups\['kind'\] has 1 rows"),
        ({"groups": {"kind": ["a", "b", "c", "c"]}}, r"groups\['kind'\]\[1\] is 'b', but row 0"),
        ({"missing": "ignore"}, "missing is 'ignore'; allowed: 'error', 'drop'"),
        ({"fallback": "guess"}, "fallback is 'guess'"),
        ({"seed": -1}, "seed is -1"),
        ({"judge": print}, "questions is missing"),
        ({name: [] for name in ROWS}, "predictions is empty"),
    ],
)
def test_bad_input(metric, arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        metric.compute(**(ROWS | arguments))
