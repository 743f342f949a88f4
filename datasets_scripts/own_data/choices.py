"""Options and answers of one's own multiple-choice data: in several columns or one, as letters or as texts."""

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
    """The options of a row: a list, a text that writes one, or several columns, the last of which may be empty.

    Raises:
        BadAnnotationError: They are no list of texts, or a column is empty and a later one is not.
    """
    if len(columns) == 1:
        value = raw.get(columns[0])
        return clean_options(_list_in_text(value) if isinstance(value, str) else value, path=path, number=number)
    values = [None if value is None or value == "" else value for value in map(raw.get, columns)]
    while values and values[-1] is None:
        values.pop()
    if None in values:
        empty = columns[values.index(None)]
        reason = f"column {empty!r} is empty and a later option is not; the letters of the options would move"
        raise BadAnnotationError(reason, path=path, row=number)
    return clean_options(values, path=path, number=number)


def find_answer_form(rows: Iterable[Mapping[str, Any]], column: str, options: Sequence[str], path: str) -> AnswerForm:
    """What the answers are: letters of options, or texts of options if more rows have that; private if all are empty.

    Args:
        rows: All rows that could be read.
        column: The column of answers.
        options: The columns of options.
        path: The file, for errors.

    Raises:
        DataError: The answers are numbers, or may be either and which it is changes the right option.
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
            # The row itself is reported when it is parsed.
            continue
        answer = clean_text(raw[column]) if isinstance(raw[column], str) else ""
        numbers += answer.isdigit() or isinstance(raw[column], int | float)
        is_letter = answer.upper() in list(ascii_uppercase[: len(found)])
        letters += is_letter
        texts += answer in found
        if is_letter and answer in found and found[ascii_uppercase.index(answer.upper())] != answer:
            unclear = f"{answer!r} to the options {list(found)}"
    if unclear and letters == texts:
        raise DataError(f"the answer {unclear} may be a letter or a text; write all answers as letters", path=path)
    if numbers and numbers == count and not texts:
        reason = "the answers are numbers; expected letters (A is the first option, B the second) or texts of options"
        raise DataError(f"{reason}. Write letters into the column {column!r}", path=path)
    return "private" if not count else "texts" if texts > letters else "letters"


def read_answer(answer: Any, options: Sequence[str], form: AnswerForm, *, path: str, number: int) -> str:
    """The letter of the right option, "" where answers are private.

    Raises:
        BadAnnotationError: There is no such option.
    """
    if form == "private":
        return ""
    read = letter_of_text if form == "texts" else checked_letter
    return read(answer, options, path=path, number=number)


def _list_in_text(text: str) -> Any:
    """Read a list that a table's cell writes as JSON or as Python does; anything else is given as it is."""
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return text
