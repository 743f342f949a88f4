"""Options, answers and winners of your own data: in several columns or one, as letters, texts or numbers."""

import ast
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from string import ascii_uppercase
from typing import Any, Literal

from eyechart.datasets_scripts.common.choice.columns import checked_letter, clean_options, letter_of_text
from eyechart.datasets_scripts.common.errors import DataError, UsageError
from eyechart.datasets_scripts.common.files.readers import clean_text

AnswerForm = Literal["letters", "texts", "numbers", "private"]
WINNER = "winner"
QUALITIES = ("first_quality", "second_quality")
_PLACES = (("first", "a", "left"), ("second", "b", "right"), ("tie", "draw", "equal", "same"))
_EMPTY: tuple[Any, ...] = (None, "", [])


def read_options(raw: Mapping[str, Any], columns: Sequence[str]) -> list[str]:
    """The options of a row: a list, a list written as text, or several columns, the last of which may be empty."""
    if len(columns) == 1:
        value = raw.get(columns[0])
        return clean_options(_list_in_text(value) if isinstance(value, str) else value)
    values = [raw.get(column) for column in columns]
    while values and values[-1] in _EMPTY:
        values.pop()
    for column, value in zip(columns, values, strict=False):
        if value in _EMPTY:
            raise ValueError(f"option column {column!r} is empty, but a later one is not; move the options")
    return clean_options(values)


def find_answer_form(
    rows: Iterable[Mapping[str, Any]], column: str, options: Sequence[str], has_base: bool, path: str
) -> AnswerForm:
    """The form of all answers: letters, or option texts if more rows have these; private if all are empty.

    Raises:
        DataError: The answers are numbers without a base, or letters and also texts of other options.
    """
    letters = texts = count = numbers = 0
    unclear = ""
    for raw in rows:
        if raw.get(column) in _EMPTY:
            continue
        count += 1
        # A row without options is an error when it is parsed.
        with suppress(ValueError):
            shown = read_options(raw, options)
            answers = _accepted(raw[column], shown)
            numbers += all(answer.isdigit() for answer in answers)
            texts += set(answers) <= set(shown)
            by_letter = dict(zip(ascii_uppercase, shown, strict=False))
            if all(answer.upper() in by_letter for answer in answers):
                letters += 1
                for answer in answers:
                    if answer in shown and by_letter[answer.upper()] != answer:
                        unclear = f"{answer!r} to the options {shown}"
    if not count or has_base:
        return "numbers" if count else "private"
    if unclear and letters == texts:
        raise DataError(f"the answer {unclear} is ambiguous: letter or text? Write all answers as letters", path=path)
    if numbers == count and not texts:
        reason = f"the answers in {column!r} are numbers; say in columns from which number the options are counted"
        raise DataError(f"{reason}: answer: {{column: {column}, base: 0}} (or base: 1)", path=path)
    return "texts" if texts > letters else "letters"


def read_answer(value: Any, options: Sequence[str], form: AnswerForm, base: int) -> str:
    """The letter of the correct option, the letters of several if each is accepted, "" if answers are private.

    `base` is the number of the first option. Raises ValueError for an answer that is not one of the options.
    """
    if form == "private":
        return ""
    letters = set()
    for answer in _accepted(value, options) or [""]:
        if form == "numbers":
            place = int(answer) - base if answer.isdecimal() else -1
            if not 0 <= place < len(options):
                last = base + len(options) - 1
                raise ValueError(f"answer {answer!r} is not a number from {base} to {last}, as base is {base}")
            letters.add(ascii_uppercase[place])
        elif form == "letters":
            letters.add(checked_letter(answer, options))
        elif list(options).count(answer) > 1:
            raise ValueError(f"answer {answer!r} is the text of several options, {list(options)}; write its letter")
        else:
            letters.add(letter_of_text(answer, options))
    return "".join(sorted(letters))


def _accepted(value: Any, options: Sequence[str]) -> list[str]:
    """The accepted answers of a row, as texts."""
    if isinstance(value, str) and value.lstrip().startswith("[") and clean_text(value) not in options:
        value = _list_in_text(value)
    answers = [answer for answer in (value if isinstance(value, list) else [value]) if answer not in _EMPTY]
    # Tables with empty cells store whole numbers as 1.0.
    return [clean_text(str(int(one) if isinstance(one, float) and one.is_integer() else one)) for one in answers]


def _list_in_text(text: str) -> Any:
    """Read a list written in a cell as JSON or Python; return any other text unchanged."""
    for read in (json.loads, ast.literal_eval):
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            return read(text)
    return text


def has_winners(given: Mapping[str, Sequence[str]], columns: Collection[str]) -> bool:
    """Whether pairs have winners and not qualities: by `columns` of the user, or else by the names in the data."""
    named = [name for name in QUALITIES if name in given]
    if WINNER in given and named:
        raise UsageError(f"columns: {WINNER!r} and {named[0]!r} are both given; leave out one")
    return WINNER in given or (WINNER in columns and not named and not set(QUALITIES) <= set(columns))


def read_winner(value: Any, names: Sequence[Sequence[str]], base: int | None) -> str:
    """The better image of a pair: "first", "second" or "tie"; `ValueError` for a value that `load_own` does not allow.

    `names` has the id and the column of each image; `base` is the number of the first one, None if values are texts.
    """
    text = clean_text(str(value))
    if base is not None:
        winners = []
        expected = f"{base} (the first image), {base + 1} (the second) or {base + 0.5} (a tie), as base is {base}"
        with suppress(ValueError):
            place = float(text) - base
            winners = [places[0] for at, places in zip((0, 1, 0.5), _PLACES, strict=True) if place == at]
    else:
        images = " or ".join(repr(one) for own in names for one in own)
        expected = f"{images}; first or second, a or b, left or right; or tie. Numbers need a base"
        lower = [(*places, *map(str.lower, own[1:])) for places, own in zip(_PLACES, names, strict=False)]
        winners = [own[0] for own, exact in zip(lower, names, strict=True) if text in exact or text.lower() in own]
        winners = winners or [_PLACES[2][0]] * (text.lower() in _PLACES[2])
    if len(winners) != 1:
        problem = "means both images" if winners else "is not allowed"
        raise ValueError(f"{WINNER} {value!r:.80} {problem}; expected {expected}")
    return winners[0]
