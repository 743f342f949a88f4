"""Options and answers of your own multiple-choice data: in several columns or one, as letters or as texts."""

import ast
import json
from collections.abc import Iterable, Mapping, Sequence
from string import ascii_uppercase
from typing import Any, Literal

from eyechart.datasets_scripts.common.choice.columns import checked_letter, clean_options, letter_of_text
from eyechart.datasets_scripts.common.errors import BadAnnotationError, DataError
from eyechart.datasets_scripts.common.files.readers import clean_text

AnswerForm = Literal["letters", "texts", "numbers", "private"]
_EMPTY: tuple[Any, ...] = (None, "", [])


def read_options(raw: Mapping[str, Any], columns: Sequence[str], *, path: str, number: int) -> list[str]:
    """The options of a row: a list, a list written as text, or several columns, the last of which may be empty.

    Raises:
        BadAnnotationError: Not a list of texts, or a column is empty and a later one is not.
    """
    if len(columns) == 1:
        value = raw.get(columns[0])
        return clean_options(_list_in_text(value) if isinstance(value, str) else value, path=path, number=number)
    values = [None if value is None or value == "" else value for value in map(raw.get, columns)]
    while values and values[-1] is None:
        values.pop()
    if None in values:
        empty = columns[values.index(None)]
        reason = f"option column {empty!r} is empty, but a later one is not; move the options so that none is empty"
        raise BadAnnotationError(reason, path=path, row=number)
    return clean_options(values, path=path, number=number)


def find_answer_form(
    rows: Iterable[Mapping[str, Any]], column: str, options: Sequence[str], has_base: bool, path: str
) -> AnswerForm:
    """The form of the answers: letters, or option texts if more rows have these; private if all answers are empty.

    Args:
        rows: All rows that could be read.
        column: The column of answers.
        options: The columns of options.
        has_base: Whether the user says that the answers are numbers.
        path: The file, for errors.

    Raises:
        DataError: The answers are numbers without a base, or ambiguous between a letter and a text of different
            options.
    """
    letters = texts = count = numbers = 0
    unclear = ""
    for raw in rows:
        if raw.get(column) in _EMPTY:
            continue
        count += 1
        try:
            found = read_options(raw, options, path=path, number=0)
        except BadAnnotationError:
            # The error is reported when the row is parsed.
            continue
        answers = _accepted(raw[column], found)
        numbers += all(answer.isdigit() for answer in answers)
        are_letters = all(answer.upper() in list(ascii_uppercase[: len(found)]) for answer in answers)
        letters += are_letters
        texts += set(answers) <= set(found)
        other = [
            one for one in answers if are_letters and one in found and found[ascii_uppercase.index(one.upper())] != one
        ]
        unclear = f"{other[0]!r} to the options {list(found)}" if other else unclear
    if not count:
        return "private"
    if has_base:
        return "numbers"
    if unclear and letters == texts:
        raise DataError(f"the answer {unclear} is ambiguous: letter or text? Write all answers as letters", path=path)
    if numbers and numbers == count and not texts:
        reason = f"the answers in {column!r} are numbers; say in columns from which number the options are counted"
        raise DataError(f"{reason}: answer: {{column: {column}, base: 0}} (or base: 1)", path=path)
    return "texts" if texts > letters else "letters"


def read_answer(value: Any, options: Sequence[str], form: AnswerForm, base: int, *, path: str, number: int) -> str:
    """The letter of the correct option, the letters of several options if each is accepted, "" if answers are private.

    Args:
        value: The answer, a list of answers, or such a list written as text.
        options: The options of the row.
        form: The form of all answers.
        base: If they are numbers, that of the first option.
        path: The file, for errors.
        number: The row's number, for errors.

    Raises:
        BadAnnotationError: An answer is not one of the options, or is the text of several.
    """
    if form == "private":
        return ""
    letters = set()
    for answer in _accepted(value, options) or [""]:
        if form == "numbers":
            letters.add(_numbered_letter(answer, len(options), base, path=path, number=number))
        elif form == "texts":
            if list(options).count(answer) > 1:
                reason = f"answer {answer!r} is the text of several options, {list(options)}; write its letter"
                raise BadAnnotationError(reason, path=path, row=number)
            letters.add(letter_of_text(answer, options, path=path, number=number))
        else:
            letters.add(checked_letter(answer, options, path=path, number=number))
    return "".join(sorted(letters))


def _accepted(value: Any, options: Sequence[str]) -> list[str]:
    """The accepted answers of a row, as texts."""
    if isinstance(value, str) and value.lstrip().startswith("[") and clean_text(value) not in options:
        value = _list_in_text(value)
    values = [value] if not isinstance(value, list) else value
    # Tables with empty cells store whole numbers as 1.0.
    return [
        clean_text(str(int(one) if isinstance(one, float) and one.is_integer() else one))
        for one in values
        if one not in _EMPTY
    ]


def _numbered_letter(answer: str, n_options: int, base: int, *, path: str, number: int) -> str:
    place = int(answer) - base if answer.isdecimal() else -1
    if not 0 <= place < n_options:
        reason = f"answer {answer!r} is not a number from {base} to {base + n_options - 1}, as base is {base}"
        raise BadAnnotationError(reason, path=path, row=number)
    return ascii_uppercase[place]


def _list_in_text(text: str) -> Any:
    """Read a list written in a cell as JSON or Python; return any other text unchanged."""
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return text
