from string import ascii_uppercase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.metrics.scoring.circular_passes import check_question_groups
from eyechart.metrics.scoring.circular_passes import find_questions
from eyechart.metrics.scoring.errors import InputError

XYZ = ["x", "y", "z"]


def _arguments(**changes: list) -> dict[str, list]:
    """Three passes of a question whose answer is y, and one of another, with some arguments changed."""
    rows = {
        "question_ids": ["p", "p", "p", "q"],
        "rotations": [0, 1, 2, 0],
        "references": ["B", "A", "C", "A"],
        "choices": [XYZ, ["y", "z", "x"], ["z", "x", "y"], ["Yes", "No"]],
    }
    return rows | changes


def test_questions() -> None:
    found = find_questions(**_arguments())
    assert found.ids == ["p", "q"] and found.first_rows.tolist() == [0, 3]
    assert found.n_options.tolist() == [3, 2]
    assert found.of_row.tolist() == [0, 0, 0, 1] and found.rotations.tolist() == [0, 1, 2, 0]


def test_options_may_turn_to_the_right() -> None:
    choices = [XYZ, ["z", "x", "y"], ["y", "z", "x"], ["Yes", "No"]]
    found = find_questions(**_arguments(choices=choices, references=["B", "C", "A", "A"]))
    assert found.of_row.tolist() == [0, 0, 0, 1]


def test_whole_numbers_name_questions_as_their_digits_do() -> None:
    assert find_questions(**_arguments(question_ids=[7, "7", 7, "8"])).ids == ["7", "8"]


@given(st.data())
def test_rows_in_any_order(data: st.DataObject) -> None:
    rows = []
    for question in range(data.draw(st.integers(1, 4))):
        n, way = data.draw(st.integers(1, 5)), data.draw(st.sampled_from([1, -1]))
        options, answer = [f"{question} {option}" for option in range(n)], data.draw(st.integers(0, n - 1))
        for rotation in data.draw(st.sets(st.integers(0, n - 1), min_size=1)):
            shown = [options[(place + way * rotation) % n] for place in range(n)]
            rows.append((question, rotation, ascii_uppercase[shown.index(options[answer])], shown))
    rows = data.draw(st.permutations(rows))
    questions, rotations, references, choices = (list(column) for column in zip(*rows, strict=True))
    found = find_questions(questions, rotations, references, choices)
    assert [found.ids[number] for number in found.of_row] == [str(question) for question in questions]
    assert found.ids == [str(question) for question in dict.fromkeys(questions)]
    assert found.rotations.tolist() == rotations
    assert found.n_options[found.of_row].tolist() == [len(shown) for shown in choices]
    assert [questions[row] for row in found.first_rows] == list(dict.fromkeys(questions))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rotations": [0, 1, 1, 0]}, r"question_ids\[2\] is 'p' with rotation 1, as is row 1; each pass may be given"),
        ({"question_ids": ["p", "p", "p", "p"]}, r"question_ids\[3\] is 'p' with rotation 0, as is row 0"),
        ({"rotations": [0, 1, 3, 0]}, r"rotations\[2\] is 3; allowed: 0 to 2, as the row has 3 options"),
        ({"rotations": [0, 1, -1, 0]}, r"rotations\[2\] is -1"),
        ({"rotations": [0, 1, 2.0, 0]}, r"rotations\[2\] is 2.0"),
        ({"rotations": [0, True, 2, 0]}, r"rotations\[1\] is True"),
        ({"rotations": [0, 1, None, 0]}, r"rotations\[2\] is None"),
        ({"rotations": [0, 1, 2]}, "rotations has 3 rows and references has 4; row 3 is the first without a partner"),
        ({"question_ids": ["p", "p"]}, "question_ids has 2 rows"),
        ({"question_ids": ["p", "p", None, "q"]}, r"question_ids\[2\] is None; it must be a string or a whole number"),
        ({"question_ids": ["p", "p", 1.5, "q"]}, r"question_ids\[2\] is 1.5"),
        ({"question_ids": ["p", "p", True, "q"]}, r"question_ids\[2\] is True"),
        # A question whose passes differ in their number of options.
        (
            {"choices": [XYZ, ["y", "x"], ["z", "x", "y"], ["Yes", "No"]]},
            r"choices\[1\] must be \['y', 'z', 'x'\] or \['z', 'x', 'y'\], as rotation 1 of question 'p' that row 0 sh",
        ),
        ({"choices": [XYZ, XYZ, ["z", "x", "y"], ["Yes", "No"]]}, r"choices\[1\] must be .*; it is \['x', 'y', 'z'\]"),
        # Row 1 turns to the left and row 2 to the right.
        (
            {"choices": [XYZ, ["y", "z", "x"], ["y", "z", "x"], ["Yes", "No"]]},
            r"choices\[2\] must be \['z', 'x', 'y'\], as rotation 2",
        ),
        ({"references": ["B", "B", "C", "A"]}, r"references\[1\] names 'z'; row 0 of the same question 'p' names 'y'"),
        ({"question_ids": [], "rotations": [], "references": [], "choices": []}, "references is empty"),
    ],
)
def test_no_passes(changes: dict[str, list], message: str) -> None:
    with pytest.raises(InputError, match=message):
        find_questions(**_arguments(**changes))


def test_groups_that_differ_within_a_question() -> None:
    found = find_questions(**_arguments())
    check_question_groups({"kind": ["a", "a", "a", "b"]}, found)
    message = r"groups\['kind'\]\[2\] is 'b', but row 0 of the same question 'p' has 'a'"
    with pytest.raises(InputError, match=message):
        check_question_groups({"kind": ["a", "a", "b", "b"]}, found)
