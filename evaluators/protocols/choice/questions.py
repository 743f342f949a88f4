"""Shared by all multiple-choice protocols: checks of a row, options as shown, and reading a reply."""

import hashlib
from collections.abc import Sequence
from string import ascii_uppercase
from typing import Any

import numpy as np

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators.protocols.validation import check_text_list, check_texts
from eyechart.evaluators.requests.types import Response, Row
from eyechart.metrics.scoring.choices.extraction import moved_letter
from eyechart.metrics.scoring.choices.reading import ExtractionSettings, read_choices
from eyechart.metrics.scoring.choices.replies import read_reply
from eyechart.metrics.scoring.judging.replies import Judge


def check_question(row: Row, *, several: bool = False) -> None:
    """Refuse a malformed row, such as one whose answer is not the letter of an option; options may repeat.

    Args:
        row: The row.
        several: Whether the answer may be several letters, each of which is accepted.

    Raises:
        DataError: Question, hint, options or answer are malformed.
    """
    check_texts(row, "question", *(("hint",) if row.get("hint") else ()))
    check_texts(row, "answer", private=True)
    check_text_list(row, "options")
    options, answer = row["options"], row["answer"]
    if not 1 <= len(options) <= len(ascii_uppercase):
        raise DataError(f"column 'options' is {options!r}; expected 1 to {len(ascii_uppercase)} strings")
    letters = ascii_uppercase[: len(options)]
    if answer and not (set(answer) <= set(letters) and len(answer) == len(set(answer))):
        raise DataError(f"column 'answer' is {answer!r}; expected one of {', '.join(letters)} ('' if private)")
    if len(answer or "") > 1 and not several:
        raise DataError(f"column 'answer' is {answer!r}; only the protocol multiple_choice takes several answers")


def ordered_options(row: Row, shuffle_seed: int | None) -> tuple[str, ...]:
    """The options in the release's order, or in a random order that depends on the seed and the row's id."""
    options = tuple(row["options"])
    if shuffle_seed is None:
        return options
    digest = hashlib.sha256(f"{shuffle_seed}:{row['id']}".encode()).digest()
    order = np.random.default_rng(list(digest)).permutation(len(options))
    return tuple(options[i] for i in order)


def shown_options(response: Response) -> tuple[str, ...]:
    """The options in the order in which they were shown."""
    return response.options if response.options is not None else response.request.options


def right_letter(row: Row, options: Sequence[str]) -> str:
    """The accepted letters among the options as they were shown; "" if private."""
    return "".join(sorted(moved_letter(letter, row["options"], options) for letter in row["answer"] or ""))


def add_choices(
    items: Sequence[dict[str, Any]],
    rows: Sequence[Row],
    replies: Sequence[str],
    settings: ExtractionSettings,
    judge: Judge | None,
    *,
    questions: Sequence[str] | None = None,
    rotations: Sequence[int] | None = None,
    finish_reasons: Sequence[str | None] | None = None,
) -> None:
    """Read replies and add the columns of `read_choices` to their items.

    Args:
        items: One for each reply, with `options` and the correct letter `answer` as shown. If `answer` is "" (private),
            the judge is not asked and only `choice` is added.
        rows: The row of each reply.
        replies: Raw replies.
        settings: How replies are parsed.
        judge: Reads replies to questions with public answers; None for no judge.
        questions: The questions as asked; by default those of the rows.
        rotations: Number of the pass of each reply.
        finish_reasons: How each reply ended; None if unknown.
    """
    public = [place for place, item in enumerate(items) if item["answer"]]
    asked = questions or [row["question"] for row in rows]
    ends = finish_reasons or [None] * len(replies)
    if public:
        found = read_choices(
            [replies[place] for place in public],
            [items[place]["answer"] for place in public],
            [items[place]["options"] for place in public],
            settings,
            questions=[asked[place] for place in public],
            judge=judge,
            ids=[rows[place]["id"] for place in public],
            rotations=None if rotations is None else [rotations[place] for place in public],
            finish_reasons=[ends[place] for place in public],
            several=True,
        )
        for number, place in enumerate(public):
            items[place].update({name: column[number] for name, column in found.items()})
    for item, reply, ended in zip(items, replies, ends, strict=True):
        if not item["answer"]:
            item["choice"] = read_reply(reply, item["options"], settings.extraction, ended)[0][:1] or None


def module_settings(settings: ExtractionSettings, judge: Judge | None) -> dict[str, Any]:
    """How replies are parsed, as arguments of the evaluate modules."""
    return {
        "judge": judge,
        "judge_template": settings.judge_template,
        "rounds": settings.rounds,
        "fallback": settings.fallback,
        "seed": settings.seed,
        "extraction": settings.extraction,
    }


CHOICE_COLUMNS = ("choice", "step", "correct", "judge_failed_rounds")
