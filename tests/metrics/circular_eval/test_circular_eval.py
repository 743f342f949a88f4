import itertools

import pytest

import eyechart.metrics
from eyechart.metrics.scoring.choices.reading import random_choice

ROWS = {
    "predictions": ["A", "The answer is B.", "Cat", "A. Dog"],
    "references": ["A", "B", "A", "B"],
    "choices": [["Red", "Blue"], ["Blue", "Red"], ["Cat", "Dog"], ["Dog", "Cat"]],
    "question_ids": ["q1", "q1", "q2", "q2"],
    "rotations": [0, 1, 0, 1],
}
VAGUE = "Hard to tell"


@pytest.fixture
def metric():
    return eyechart.metrics.load("circular_eval")


def test_rows_may_stand_in_any_order(metric) -> None:
    expected = metric.compute(**ROWS)
    for order in itertools.permutations(range(4)):
        assert metric.compute(**{name: [column[row] for row in order] for name, column in ROWS.items()}) == expected


@pytest.mark.parametrize("question_ids", [[1, 1, 2, 2], ["1", "1", "2", "2"]])
def test_question_ids_are_text_or_whole_numbers(metric, question_ids: list) -> None:
    rows = ROWS | {"question_ids": question_ids}
    assert metric.compute(**rows) == metric.compute(**ROWS)
    with pytest.raises(ValueError, match="question '2' has no rotation 1"):
        metric.compute(**{name: column[:3] for name, column in rows.items()})


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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pass_counts": [2, 2, 2]}, "pass_counts has 3 rows"),
        ({"pass_counts": [1, 1, 2, 2]}, r"pass_counts\[0\] is 1, but 2 passes of its question are given"),
        ({"rotations": [0, 1, 0, 1.5]}, r"rotations\[3\] is 1.5"),
        ({"rotations": [0, 0, 0, 1]}, r"question_ids\[1\] is 'q1' with rotation 0, as in row 0"),
        ({"question_ids": ["q1", None, "q2", "q2"]}, r"question_ids\[1\] is None"),
        ({"groups": {"kind": ["a"]}}, r"groups\['kind'\] has 1 rows"),
        ({"groups": {"kind": ["a", "b", "c", "c"]}}, r"groups\['kind'\]\[1\] is 'b', but row 0"),
        ({"missing": "ignore"}, "missing is 'ignore'; allowed: 'error', 'drop'"),
        ({"judge": print}, "questions is missing"),
        ({name: [] for name in ROWS}, "predictions is empty"),
    ],
)
def test_bad_input(metric, arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        metric.compute(**(ROWS | arguments))
