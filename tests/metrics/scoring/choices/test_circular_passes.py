import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.metrics.scoring.choices.circular_passes import check_question_groups, find_questions
from eyechart.metrics.scoring.errors import InputError

XYZ = ["x", "y", "z"]


def _arguments(**changes: list) -> dict[str, list]:
    """Three passes of a question and one of another, with some arguments changed."""
    rows = {
        "question_ids": ["p", "p", "p", "q"],
        "rotations": [0, 1, 2, 0],
        "choices": [XYZ, ["y", "z", "x"], ["z", "x", "y"], ["Yes", "No"]],
    }
    return rows | changes


def test_questions() -> None:
    found = find_questions(**_arguments())
    assert found.ids == ["p", "q"] and found.first_rows.tolist() == [0, 3]
    assert found.n_options.tolist() == [3, 2]
    assert found.of_row.tolist() == [0, 0, 0, 1] and found.rotations.tolist() == [0, 1, 2, 0]


def test_passes_are_what_is_given() -> None:
    """No rotations of one another, of other texts, and of another number of options."""
    choices = [XYZ, ["x", "y"], ["u", "u", "v"], ["Yes", "No"]]
    found = find_questions(**_arguments(choices=choices, pass_counts=[3, 3, 3, 2]))
    assert found.of_row.tolist() == [0, 0, 0, 1] and found.n_passes.tolist() == [3, 2]
    assert found.chance.tolist() == [1 / (3 * 2 * 3), 1 / 4]


@pytest.mark.parametrize(
    ("choices", "n_passes"),
    [
        ([["x", "y", "z"]], 3),
        ([["x", "y", "z"], ["z", "x", "y"]], 3),
        ([["x", "y", "z"], ["y", "x", "z"]], 2),
        ([["x", "y", "z"], ["y", "x", "z"], ["x", "y", "z"]], 3),
        ([["x", "y", "y"], ["y", "x", "y"], ["y", "y", "x"]], 3),
        ([["x", "x"], ["x", "x"]], 2),
        # MMBench 1211 with two of its three passes, and 855 with two of its four.
        ([["left", "crash", "left", "both"], ["left", "left", "crash", "both"]], 3),
        ([["officer", "athlete", "fireman", "athlete"], ["fireman", "athlete", "officer", "athlete"]], 4),
        ([["only"]], 1),
    ],
)
def test_a_question_has_as_many_passes_as_options_that_move(choices: list[list[str]], n_passes: int) -> None:
    found = find_questions(["q"] * len(choices), list(range(len(choices))), choices)
    assert found.n_passes.tolist() == [n_passes]


def test_whole_numbers_name_questions_as_their_digits_do() -> None:
    assert find_questions(**_arguments(question_ids=[7, "7", 7, "8"])).ids == ["7", "8"]


@given(st.data())
def test_rows_in_any_order(data: st.DataObject) -> None:
    rows = []
    for question in range(data.draw(st.integers(1, 4))):
        n, way = data.draw(st.integers(1, 5)), data.draw(st.sampled_from([1, -1]))
        options = [f"{question} {option}" for option in range(n)]
        for rotation in data.draw(st.sets(st.integers(0, n - 1), min_size=1)):
            shown = [options[(place + way * rotation) % n] for place in range(n)]
            rows.append((question, rotation, shown))
    rows = data.draw(st.permutations(rows))
    questions, rotations, choices = (list(column) for column in zip(*rows, strict=True))
    found = find_questions(questions, rotations, choices)
    assert [found.ids[number] for number in found.of_row] == [str(question) for question in questions]
    assert found.ids == [str(question) for question in dict.fromkeys(questions)]
    assert found.rotations.tolist() == rotations
    assert found.n_options[found.of_row].tolist() == [len(shown) for shown in choices]
    assert [questions[row] for row in found.first_rows] == list(dict.fromkeys(questions))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rotations": [0, 1, 1, 0]}, r"question_ids\[2\] is 'p' with rotation 1, as in row 1; each pass may be given"),
        ({"question_ids": ["p", "p", "p", "p"]}, r"question_ids\[3\] is 'p' with rotation 0, as in row 0"),
        ({"rotations": [0, 1, -1, 0]}, r"rotations\[2\] is -1; it must be a whole number of at least 0"),
        ({"rotations": [0, 1, 2.0, 0]}, r"rotations\[2\] is 2.0"),
        ({"rotations": [0, True, 2, 0]}, r"rotations\[1\] is True"),
        ({"rotations": [0, 1, None, 0]}, r"rotations\[2\] is None"),
        ({"rotations": [0, 1, 2]}, "rotations has 3 rows and choices has 4; row 3 is the first without a partner"),
        ({"question_ids": ["p", "p"]}, "question_ids has 2 rows"),
        ({"question_ids": ["p", "p", None, "q"]}, r"question_ids\[2\] is None; it must be a string or a whole number"),
        ({"question_ids": ["p", "p", 1.5, "q"]}, r"question_ids\[2\] is 1.5"),
        ({"question_ids": ["p", "p", True, "q"]}, r"question_ids\[2\] is True"),
        ({"pass_counts": [3, 3, 3]}, "pass_counts has 3 rows and choices has 4"),
        ({"pass_counts": [3, 3, 3, 0]}, r"pass_counts\[3\] is 0; it must be a whole number of at least 1"),
        ({"pass_counts": [3, 3, 4, 1]}, r"pass_counts\[2\] is 4; row 0 of the same question has 3"),
        ({"pass_counts": [2, 2, 2, 1]}, r"pass_counts\[0\] is 2, but 3 passes of its question are given"),
        ({"question_ids": [], "rotations": [], "choices": []}, "choices is empty"),
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
