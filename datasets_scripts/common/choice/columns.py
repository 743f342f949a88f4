"""The multiple-choice columns: their features, and checks of every multiple-choice row."""

import string
from collections.abc import Sequence
from typing import Any

import datasets

from eyechart.datasets_scripts.common.errors import BadAnnotationError
from eyechart.datasets_scripts.common.files.readers import clean_text


def multiple_choice_features(groups: Sequence[str]) -> datasets.Features:
    """Return the features of the multiple-choice kind.

    Args:
        groups: Names of the benchmark's own group columns, for example "question_type".
    """
    text = datasets.Value("string")
    columns: dict[str, Any] = {
        "id": text,
        "question_id": text,
        "rotation": datasets.Value("int32"),
        "images": datasets.Sequence(datasets.Image()),
        "question": text,
        "hint": text,
        "options": datasets.Sequence(text),
        "answer": text,
    }
    return datasets.Features({**columns, **dict.fromkeys(groups, text)})


def clean_options(options: Any, *, path: str, number: int) -> list[str]:
    """Return the cleaned option texts, in the release's order.

    A duplicate option or a single option is not an error: released questions have them.

    Raises:
        BadAnnotationError: Not a list of 1 to 26 non-empty texts.
    """
    if not isinstance(options, list) or not all(isinstance(option, str) for option in options):
        raise BadAnnotationError(f"options must be a list of texts, found {options!r}", path=path, row=number)
    texts = [clean_text(option) for option in options]
    if not 1 <= len(texts) <= len(string.ascii_uppercase) or "" in texts:
        raise BadAnnotationError(f"expected 1 to 26 non-empty options, found {texts}", path=path, row=number)
    return texts


def letter_of_text(answer: Any, options: Sequence[str], *, path: str, number: int) -> str:
    """Return the letter of the option whose text is `answer`; of two such options, that of the first one.

    Raises:
        BadAnnotationError: No option has this text.
    """
    text = clean_text(answer) if isinstance(answer, str) else answer
    if text not in options:
        reason = f"answer {answer!r} is not one of the options {list(options)}"
        raise BadAnnotationError(reason, path=path, row=number)
    return string.ascii_uppercase[list(options).index(text)]


def checked_letter(answer: Any, options: Sequence[str], *, path: str, number: int) -> str:
    """Return `answer` as the upper-case letter of one of the options.

    Raises:
        BadAnnotationError: Not a letter, or not the letter of an option.
    """
    letter = clean_text(answer).upper() if isinstance(answer, str) else answer
    letters = list(string.ascii_uppercase[: len(options)])
    if letter not in letters:
        raise BadAnnotationError(f"answer must be one of {letters}, found {answer!r}", path=path, row=number)
    return str(letter)
