"""Replies to multiple-choice questions, and how the letters that a rule reads in them agree with the labels.

A set is a JSON Lines file with the keys `reply`, `options`, `label` or `letter` (null if the reply names no option),
`kind` and, if known, `finish_reason`. Options are a list of texts, or an object of texts by label. If the labels are
not A, B, C ..., as in `{"1": "cousin", "2": "uncle"}`, models answer with the labels, so the labels are the options.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from string import ascii_uppercase


@dataclass(frozen=True)
class LabelledReply:
    text: str
    options: tuple[str, ...]
    letter: str | None
    kind: str
    finish_reason: str | None = None


@dataclass(frozen=True)
class Agreement:
    """Counts of replies: all, those whose label is a letter, and what the rule reads in them."""

    replies: int
    letters: int
    found: int
    missed: int
    """The label is a letter, and the rule reads none."""
    wrong: int
    """The rule reads a letter that is not the label."""


def read_set(path: Path) -> list[LabelledReply]:
    """The replies of a set, in the order of the file."""
    with path.open(encoding="utf-8") as lines:
        return [_labelled(json.loads(line)) for line in lines]


def _labelled(row: dict) -> LabelledReply:
    options, label = row["options"], row["label"] if "label" in row else row["letter"]
    if isinstance(options, dict):
        labels = list(options)
        is_lettered = labels == list(ascii_uppercase[: len(labels)])
        options = list(options.values()) if is_lettered else labels
        label = label and ascii_uppercase[labels.index(label)]
    return LabelledReply(row["reply"], tuple(options), label, row["kind"], row.get("finish_reason"))


def agreement(replies: Iterable[LabelledReply], letters: Iterable[str]) -> Agreement:
    """Counts of what a rule reads in each reply: a letter, the letters of equal options, or ""."""
    pairs = [(reply.letter, read) for reply, read in zip(replies, letters, strict=True)]
    return Agreement(
        replies=len(pairs),
        letters=sum(label is not None for label, _ in pairs),
        found=sum(label is not None and label in read for label, read in pairs),
        missed=sum(label is not None and not read for label, read in pairs),
        wrong=sum(bool(read) and (label is None or label not in read) for label, read in pairs),
    )
