"""The passes of CircularEval: which rows ask the same question, and whether they are rotations of one another.

Protocol: MMBench, Sec. 3.1. The paper rotates by one place from pass to pass and does not say which way, so both ways
are taken; it has to be the same in all passes of a question.
"""

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_uppercase

import numpy as np
from numpy.typing import NDArray

from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.inputs import check_lengths

IntArray = NDArray[np.int64]

_INDEX = {letter: index for index, letter in enumerate(ascii_uppercase)}


@dataclass(frozen=True)
class Questions:
    """The questions that n rows ask.

    Attributes:
        ids: Identifier of each question, by first appearance.
        first_rows: The first row of each question.
        n_options: Number of options, so of passes, of each question.
        of_row: Number of each row's question, shape (n,).
        rotations: Rotation of each row, shape (n,).
    """

    ids: list[str]
    first_rows: IntArray
    n_options: IntArray
    of_row: IntArray
    rotations: IntArray


@dataclass(slots=True)
class _Known:
    """What rows say about their question.

    Attributes:
        number: Number of the question.
        row: Its first row.
        left: Its options unrotated, if rotation turns to the left; None where a row excludes that.
        right: The same to the right.
        answer: Text of the correct option.
        asked: Its rotations so far, a bit each: tens of thousands of sets would keep the garbage collector busy.
    """

    number: int
    row: int
    left: list[str] | None
    right: list[str] | None
    answer: str
    asked: int


def find_questions(
    question_ids: Sequence[object],
    rotations: Sequence[int],
    references: Sequence[str],
    choices: Sequence[Sequence[str]],
) -> Questions:
    """Group rows by question and check that they are passes of CircularEval.

    Args:
        question_ids: Identifier of each row's question, strings or whole numbers.
        rotations: By how many places the options of each row are rotated, from 0.
        references: Letters of the correct options, as shown, that `decisions.check_rows` has passed.
        choices: Option texts of each row, as shown; the same.

    Returns:
        The questions, by first appearance.

    Raises:
        InputError: An identifier or a rotation is none; a rotation is repeated; the options of two rows are no
            rotations of one another, or their references name different texts. The message names the row.

    Examples:
        >>> passes = find_questions(["q", "q"], [0, 1], ["A", "C"], [["x", "y", "z"], ["y", "z", "x"]])
        >>> passes.ids, passes.of_row.tolist(), passes.n_options.tolist()
        (['q'], [0, 0], [3])
    """
    check_lengths(references=references, choices=choices, question_ids=question_ids, rotations=rotations)
    known: dict[str, _Known] = {}
    of_row: list[int] = []
    places: list[int] = []
    for row, (raw, rotation, letter, shown) in enumerate(
        zip(question_ids, rotations, references, choices, strict=True)
    ):
        identifier = raw if type(raw) is str else _identifier(row, raw)
        options = shown if type(shown) is list else list(shown)
        place = rotation if type(rotation) is int and 0 <= rotation < len(options) else _place(row, rotation, options)
        answer = options[_INDEX[letter]]
        question = known.get(identifier)
        if question is None:
            question = _Known(len(known), row, _turned(options, -place), _turned(options, place), answer, 1 << place)
            known[identifier] = question
        elif question.asked >> place & 1:
            earlier = list(zip(of_row, places, strict=True)).index((question.number, place))
            raise InputError(
                f"question_ids[{row}] is {identifier!r} with rotation {place}, as is row {earlier}; "
                f"each pass may be given once"
            )
        else:
            _add_pass(question, identifier, row, place, options, answer)
        of_row.append(question.number)
        places.append(place)
    first_rows = [question.row for question in known.values()]
    return Questions(
        ids=list(known),
        first_rows=np.array(first_rows, dtype=np.int64),
        n_options=np.array([len(choices[row]) for row in first_rows], dtype=np.int64),
        of_row=np.array(of_row, dtype=np.int64),
        rotations=np.array(places, dtype=np.int64),
    )


def check_question_groups(groups: Mapping[str, Sequence[str]], questions: Questions) -> None:
    """Refuse groups whose value differs between the passes of a question.

    Raises:
        InputError: It does; the message names the row.
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


def _place(row: int, rotation: object, options: Sequence[str]) -> int:
    n = len(options)
    if isinstance(rotation, bool) or not isinstance(rotation, (int, np.integer)) or not 0 <= rotation < n:
        raise InputError(f"rotations[{row}] is {rotation!r}; allowed: 0 to {n - 1}, as the row has {n} options")
    return int(rotation)


def _turned(options: list[str], places: int) -> list[str]:
    """Options with the one at `places` first; negative places turn them back."""
    return options[places:] + options[:places] if places else options


def _add_pass(question: _Known, identifier: str, row: int, place: int, options: list[str], answer: str) -> None:
    """Check a further row of a question against the earlier ones and add what it says."""
    left = question.left if question.left and _turned(options, -place) == question.left else None
    right = question.right if question.right and _turned(options, place) == question.right else None
    if left is None and right is None:
        ways = ((question.left, place), (question.right, -place))
        expected = dict.fromkeys(repr(_turned(unrotated, turn)) for unrotated, turn in ways if unrotated)
        raise InputError(
            f"choices[{row}] must be {' or '.join(expected)}, as rotation {place} of question {identifier!r} that "
            f"row {question.row} shows; it is {options!r}"
        )
    if answer != question.answer:
        raise InputError(
            f"references[{row}] names {answer!r}; row {question.row} of the same question {identifier!r} names "
            f"{question.answer!r}"
        )
    question.left, question.right = left, right
    question.asked |= 1 << place
