"""The passes of CircularEval: which rows ask the same question, and how many passes the question has.

Protocol: MMBench, Sec. 3.1. The paper has N passes of N options, rotated one place each time. The released files
differ: 53 questions of the dev files have three passes of four options, the last of which never moves, and four
questions list an option twice. The authors' evaluation only groups rows by question, and so does this
one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.inputs import check_count, check_lengths

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Questions:
    """The questions that n rows ask.

    Attributes:
        ids: Identifier of each question, in order of first appearance.
        first_rows: The first row of each question.
        n_options: Number of options in that row.
        n_passes: Total number of passes of each question, given or missing.
        of_row: Number of each row's question, shape (n,).
        rotations: Number of each row's pass, shape (n,).
        chance: Probability of guessing correctly in every pass, for each question.
    """

    ids: list[str]
    first_rows: IntArray
    n_options: IntArray
    n_passes: IntArray
    of_row: IntArray
    rotations: IntArray
    chance: FloatArray


def find_questions(
    question_ids: Sequence[object],
    rotations: Sequence[int],
    choices: Sequence[Sequence[str]],
    pass_counts: Sequence[int] | None = None,
) -> Questions:
    """Group rows by question.

    Args:
        question_ids: Identifier of each row's question, strings or whole numbers.
        rotations: Number of each row's pass, from 0, the first pass.
        choices: Option texts of each row, as shown, checked by `reading.check_replies`.
        pass_counts: Total number of passes of each row's question. If None, the number of options that change position
            between the given rows, or the number of options if only one row is given; but at least the number of given
            rows.

    Returns:
        The questions, in order of first appearance.

    Raises:
        InputError: An identifier, a rotation or a count is invalid; a rotation is repeated; more passes are given than
            the count says; or the rows of a question have different counts. The message names the row.

    Examples:
        >>> passes = find_questions(["q", "q"], [0, 1], [["x", "y", "none"], ["y", "x", "none"]])
        >>> passes.ids, passes.of_row.tolist(), passes.n_passes.tolist(), passes.chance.round(4).tolist()
        (['q'], [0, 0], [2], [0.1111])
    """
    check_lengths(choices=choices, question_ids=question_ids, rotations=rotations)
    if pass_counts is not None:
        check_lengths(choices=choices, pass_counts=pass_counts)
    numbers: dict[str, int] = {}
    of_row: list[int] = []
    rows: list[list[int]] = []
    for row, raw in enumerate(question_ids):
        number = numbers.setdefault(raw if type(raw) is str else _identifier(row, raw), len(rows))
        if number == len(rows):
            rows.append([])
        rows[number].append(row)
        of_row.append(number)
    places = [place if type(place) is int and place >= 0 else _place(row, place) for row, place in enumerate(rotations)]
    ids = list(numbers)
    for identifier, of_question in zip(ids, rows, strict=True):
        _check_once(identifier, of_question, places)
    if pass_counts is None:
        n_passes = [_moving(of_question, choices) for of_question in rows]
    else:
        n_passes = [_declared(of_question, pass_counts) for of_question in rows]
    return Questions(
        ids=ids,
        first_rows=np.array([of_question[0] for of_question in rows], dtype=np.int64),
        n_options=np.array([len(choices[of_question[0]]) for of_question in rows], dtype=np.int64),
        n_passes=np.array(n_passes, dtype=np.int64),
        of_row=np.array(of_row, dtype=np.int64),
        rotations=np.array(places, dtype=np.int64),
        chance=_chances(rows, n_passes, choices),
    )


def check_question_groups(groups: Mapping[str, Sequence[str]], questions: Questions) -> None:
    """Check that the passes of a question have the same group values.

    Raises:
        InputError: They differ; the message names the row.
    """
    of_row, first_rows = questions.of_row.tolist(), questions.first_rows.tolist()
    for name, values in groups.items():
        expected = [values[row] for row in first_rows]
        for row, (question, value) in enumerate(zip(of_row, values, strict=True)):
            if value != expected[question]:
                raise InputError(
                    f"groups[{name!r}][{row}] is {value!r}, but row {first_rows[question]} of the same question "
                    f"{questions.ids[question]!r} has {expected[question]!r}"
                )


def _identifier(row: int, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int, np.integer)):
        raise InputError(f"question_ids[{row}] is {value!r}; it must be a string or a whole number")
    return str(value)


def _place(row: int, rotation: object) -> int:
    if isinstance(rotation, bool) or not isinstance(rotation, (int, np.integer)) or rotation < 0:
        raise InputError(f"rotations[{row}] is {rotation!r}; it must be a whole number of at least 0")
    return int(rotation)


def _check_once(identifier: str, rows: Sequence[int], places: Sequence[int]) -> None:
    """Check that no pass is given twice."""
    earlier: dict[int, int] = {}
    for row in rows:
        if earlier.setdefault(places[row], row) != row:
            raise InputError(
                f"question_ids[{row}] is {identifier!r} with rotation {places[row]}, as in row {earlier[places[row]]}; "
                f"each pass may be given only once"
            )


def _moving(rows: Sequence[int], choices: Sequence[Sequence[str]]) -> int:
    """Number of passes of a question, inferred from its rows."""
    first = list(choices[rows[0]])
    if len(rows) == 1:
        return len(first)
    # A repeated text may have moved without a visible change.
    fixed = sum(
        len(set(texts)) == 1 and first.count(texts[0]) == 1
        for texts in zip(*(list(choices[row]) for row in rows), strict=False)
    )
    return max(len(first) - fixed, len(rows))


def _declared(rows: Sequence[int], pass_counts: Sequence[int]) -> int:
    """Number of passes of a question, as declared in its rows."""
    count = pass_counts[rows[0]]
    for row in rows:
        check_count(f"pass_counts[{row}]", pass_counts[row])
        if pass_counts[row] != count:
            raise InputError(
                f"pass_counts[{row}] is {pass_counts[row]!r}; row {rows[0]} of the same question has {count}"
            )
    if count < len(rows):
        raise InputError(f"pass_counts[{rows[0]}] is {count}, but {len(rows)} passes of its question are given")
    return count


def _chances(rows: Sequence[Sequence[int]], n_passes: Sequence[int], choices: Sequence[Sequence[str]]) -> FloatArray:
    """The product of 1 / number of options over each question's passes; missing passes count like the first row."""
    chances = np.ones(len(rows))
    for number, (of_question, count) in enumerate(zip(rows, n_passes, strict=True)):
        ways = len(choices[of_question[0]]) ** (count - len(of_question))
        for row in of_question:
            ways *= len(choices[row])
        chances[number] = 1 / ways
    return chances
