"""The columns of multiple-choice questions and of descriptions, and checks of options and answers."""

from collections.abc import Sequence
from string import ascii_uppercase
from typing import Any

import datasets

from eyechart.datasets_scripts.common.files.readers import clean_text


def multiple_choice_features(groups: Sequence[str]) -> datasets.Features:
    """Return the features of multiple choice, with the benchmark's own group columns."""
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


def description_features() -> datasets.Features:
    """Return the features of descriptions: `description` is "" if private, `level` None if there are no levels."""
    text = datasets.Value("string")
    return datasets.Features({"id": text, "image": datasets.Image(), "description": text, "level": text})


def clean_options(options: Any) -> list[str]:
    """Return the cleaned option texts, in the release's order; released questions may repeat an option or have one.

    Raises:
        ValueError: Not a list of 1 to 26 non-empty texts.
    """
    if not isinstance(options, list) or not all(isinstance(option, str) for option in options):
        raise ValueError(f"options must be a list of texts, found {options!r}")
    texts = [clean_text(option) for option in options]
    if not 1 <= len(texts) <= len(ascii_uppercase) or "" in texts:
        raise ValueError(f"expected 1 to 26 non-empty options, found {texts}")
    return texts


def letter_of_text(answer: Any, options: Sequence[str]) -> str:
    """Return the letter of the first option whose text is `answer`; raises ValueError if there is none."""
    text = clean_text(answer) if isinstance(answer, str) else answer
    if text not in options:
        raise ValueError(f"answer {answer!r} is not one of the options {list(options)}")
    return ascii_uppercase[list(options).index(text)]


def checked_letter(answer: Any, options: Sequence[str]) -> str:
    """Return `answer` as an upper-case letter; raises ValueError unless it is that of an option."""
    letter = clean_text(answer).upper() if isinstance(answer, str) else answer
    letters = list(ascii_uppercase[: len(options)])
    if letter not in letters:
        raise ValueError(f"answer must be one of {letters}, found {answer!r}")
    return str(letter)
