"""Options and answers of your own multiple-choice data: in several columns or one, as letters or as texts."""

import ast
import json
from collections.abc import Iterable, Mapping, Sequence
from string import ascii_uppercase
from typing import Any, Literal

from eyechart.datasets_scripts.common.choice.columns import checked_letter, clean_options, letter_of_text
from eyechart.datasets_scripts.common.errors import BadAnnotationError, DataError
from eyechart.datasets_scripts.common.files.readers import clean_text

AnswerForm = Literal["letters", "texts", "private"]


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


def find_answer_form(rows: Iterable[Mapping[str, Any]], column: str, options: Sequence[str], path: str) -> AnswerForm:
    """The form of the answers: letters, or option texts if more rows have these; private if all answers are empty.

    Args:
        rows: All rows that could be read.
        column: The column of answers.
        options: The columns of options.
        path: The file, for errors.

    Raises:
        DataError: The answers are numbers, or ambiguous between a letter and a text of different options.
    """
    letters = texts = count = numbers = 0
    unclear = ""
    for raw in rows:
        if raw.get(column) in (None, ""):
            continue
        count += 1
        try:
            found = read_options(raw, options, path=path, number=0)
        except BadAnnotationError:
            # The error is reported when the row is parsed.
            continue
        answer = clean_text(raw[column]) if isinstance(raw[column], str) else ""
        numbers += answer.isdigit() or isinstance(raw[column], int | float)
        is_letter = answer.upper() in list(ascii_uppercase[: len(found)])
        letters += is_letter
        texts += answer in found
        if is_letter and answer in found and found[ascii_uppercase.index(answer.upper())] != answer:
            unclear = f"{answer!r} to the options {list(found)}"
    if unclear and letters == texts:
        raise DataError(f"the answer {unclear} is ambiguous: letter or text? Write all answers as letters", path=path)
    if numbers and numbers == count and not texts:
        reason = "the answers are numbers; expected letters (A is the first option, B the second) or texts of options"
        raise DataError(f"{reason}. Write letters into the column {column!r}", path=path)
    return "private" if not count else "texts" if texts > letters else "letters"


def read_answer(answer: Any, options: Sequence[str], form: AnswerForm, *, path: str, number: int) -> str:
    """The letter of the correct option, "" if answers are private.

    Raises:
        BadAnnotationError: The answer is not one of the options.
    """
    if form == "private":
        return ""
    read = letter_of_text if form == "texts" else checked_letter
    return read(answer, options, path=path, number=number)


def _list_in_text(text: str) -> Any:
    """Read a list written in a cell as JSON or Python; return any other text unchanged."""
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return text
