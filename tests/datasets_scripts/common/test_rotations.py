from dataclasses import replace
from string import ascii_uppercase

import pytest
from hypothesis import given
from hypothesis import strategies

from eyechart.datasets_scripts.common.rotations import STRIDE
from eyechart.datasets_scripts.common.rotations import Pass
from eyechart.datasets_scripts.common.rotations import pass_problems
from eyechart.datasets_scripts.common.rotations import rotate
from eyechart.datasets_scripts.common.rotations import shown_direction

FIRST = Pass(7, "Which?", "Look.", ("red", "green", "blue"), "B")
LEFT = [
    FIRST,
    Pass(STRIDE + 7, "Which?", "Look.", ("green", "blue", "red"), "A"),
    Pass(2 * STRIDE + 7, "Which?", "Look.", ("blue", "red", "green"), "C"),
]
RIGHT = [
    FIRST,
    Pass(STRIDE + 7, "Which?", "Look.", ("blue", "red", "green"), "C"),
    Pass(2 * STRIDE + 7, "Which?", "Look.", ("green", "blue", "red"), "A"),
]


@pytest.mark.parametrize("passes", [LEFT, RIGHT, LEFT[::-1], LEFT[:1], [FIRST, LEFT[2]]])
def test_passes_in_either_direction_and_any_order(passes: list[Pass]) -> None:
    assert pass_problems(passes) == [""] * len(passes)


@pytest.mark.parametrize(
    ("passes", "direction"), [(LEFT, 1), (RIGHT, -1), (RIGHT[::-1], -1), ([FIRST], 0), (LEFT[1:], 0), ([], 0)]
)
def test_the_direction_that_rotated_passes_show(passes: list[Pass], direction: int) -> None:
    assert shown_direction(passes) == direction


def test_private_answers() -> None:
    assert pass_problems([replace(item, answer="") for item in LEFT]) == [""] * 3


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"question": "What?"}, "rotation 2 of question 7 has question 'What?', expected 'Which?'"),
        ({"hint": ""}, "rotation 2 of question 7 has hint '', expected 'Look.'"),
        (
            {"options": ("green", "blue", "red"), "answer": "A"},
            "rotation 2 of question 7 has options ['green', 'blue', 'red'], expected ['blue', 'red', 'green']",
        ),
        (
            {"options": ("blue", "red")},
            "rotation 2 of question 7 has options ['blue', 'red'], expected ['blue', 'red', 'green']",
        ),
        ({"answer": "B"}, "rotation 2 of question 7 has answer 'B', expected 'C'"),
        ({"answer": ""}, "rotation 2 of question 7 has answer '', expected 'C'"),
        ({"index": 3 * STRIDE + 7}, "rotation 3 of question 7, which has 3 options"),
        ({"index": 2 * STRIDE + 8}, "rotation 2 of question 8, which no row holds unrotated"),
        ({"index": STRIDE + 7}, "index 1000007 appears more than once"),
        ({"index": 7}, "index 7 appears more than once"),
    ],
)
def test_violations(changes: dict[str, object], problem: str) -> None:
    assert pass_problems([*LEFT[:2], replace(LEFT[2], **changes)]) == ["", "", problem]


def test_one_direction_holds_for_all() -> None:
    other = [replace(item, index=item.index + 1) for item in RIGHT]
    problems = pass_problems([*LEFT, *other])
    assert problems[:4] == [""] * 4 and all("has options" in problem for problem in problems[4:])


@given(count=strategies.integers(2, 6), answer=strategies.integers(0, 5), direction=strategies.sampled_from([1, -1]))
def test_every_rotation_of_a_question_passes_and_is_another(count: int, answer: int, direction: int) -> None:
    options = tuple(ascii_uppercase[-count:])
    right = options[answer % count]
    turned = [rotate(options, direction * places) for places in range(count)]
    passes = [
        Pass(places * STRIDE + 3, "?", "", shown, ascii_uppercase[shown.index(right)])
        for places, shown in enumerate(turned)
    ]
    assert len(set(turned)) == count and pass_problems(passes) == [""] * count
