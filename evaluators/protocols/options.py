"""The settings with which a task can be run in other ways than its own."""

import math
from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from eyechart.datasets_scripts.common.errors import UsageError, unknown_name

_ALLOWED = {
    "inference": ("options", "closed-set", "top-token"),
    "loss": ("mean", "sum"),
    "ties": ("exact", "released"),
    "aggregator": ("map", "mle", "mle_ridge", "perron", "trueskill"),
    "fallback": ("wrong", "random"),
}
PATHS = ("without_blind", "human_letters")
"""Options that name a file or folder."""
_AT_LEAST = {"shuffle_seed": 0, "rounds": 1, "max_new_tokens": 1}
_TEXTS = (*_ALLOWED, "wording", "words")
_FLAGS = ("as_published", "blind", "marking", "early_stop")
_EVERYWHERE = ("as_published",)
"""Options that every task takes."""


@dataclass(frozen=True)
class TaskOptions:
    """Settings that change what a model is asked or how its answers are scored; None is the task's own default.

    Each evaluator names those that it takes (`Evaluator.takes`); another one is an error, never passed over.
    """

    as_published: bool | None = None
    """Run as the paper did, where the task's defaults are better or cheaper than that; the result lists what this
    changes."""
    shuffle_seed: int | None = None
    """Shuffles the options of each question; the default is the release's order."""
    inference: str | None = None
    """"options" shows lettered options and reads the reply; "closed-set" shows none and takes the option of the lowest
    loss (Q-Bench, A.2.1); "top-token" reads the likeliest token in place of two words' logits (Q-Bench, Sec. 2.4.1)."""
    loss: str | None = None
    """Loss of an option with "closed-set": per token, or of all its tokens."""
    wording: str | None = None
    """One of the task's wordings of its prompt."""
    blind: bool | None = None
    """Ask without the image (MMBench, Appendix B)."""
    without_blind: str | Path | None = None
    """Folder of a finished blind run, whose right questions are removed for a second score ("Dev w/o.", Appendix B)."""
    marking: bool | None = None
    """Ask without the options too, and have a judge mark these answers from 1 to 5 (MMBench, Appendix D.2)."""
    human_letters: str | Path | None = None
    """File of letters that people read from the replies, with which the letters found are compared."""
    early_stop: bool | None = None
    """Ask no further rotations of a question after a wrong one; the default is to do so on servers alone."""
    words: str | None = None
    """One of the task's pairs of words or of word sets, positive before negative, such as "high/low"."""
    temperature: float | None = None
    """What logits are divided by before the softmax."""
    ties: str | None = None
    """How equal differences of logits are ranked."""
    aggregator: str | None = None
    """How scores of images come from pairs."""
    fallback: str | None = None
    """What a reply that names no option becomes after all other steps."""
    rounds: int | None = None
    """Replies asked of the judge."""
    max_new_tokens: int | None = None
    """The longest reply, in tokens; 4,096 suits models that reason."""

    def __post_init__(self) -> None:
        """Refuse what no task allows.

        Raises:
            UsageError: A value is not one of those allowed, or out of range.
        """
        for name, value in self.given().items():
            _check_type(name, value)
            if name in _ALLOWED and value not in _ALLOWED[name]:
                raise unknown_name(f"value of {name}", value, _ALLOWED[name])
            if name in _AT_LEAST and (type(value) is not int or value < _AT_LEAST[name]):
                raise UsageError(f"{name} is {value!r}; it must be a whole number from {_AT_LEAST[name]}")
            if name == "temperature" and not _is_positive(value):
                raise UsageError(f"temperature is {value!r}; it must be a positive number")

    def given(self) -> dict[str, Any]:
        """Those that are not None."""
        return {name: value for name in option_names() if (value := getattr(self, name)) is not None}

    def only(self, names: Collection[str]) -> "TaskOptions":
        """The same with None for all but some."""
        return replace(self, **{name: None for name in self.given() if name not in (*names, *_EVERYWHERE)})

    def check_taken(self, names: Collection[str], task: str) -> None:
        """Refuse an option that has no effect.

        Args:
            names: Options that the task takes.
            task: The task's name.

        Raises:
            UsageError: Another option is given.
        """
        for name, value in self.given().items():
            if name not in (*names, *_EVERYWHERE):
                taken = ", ".join(names) or "none"
                raise UsageError(f"{name}={value!r} has no effect on task {task}; options that it takes: {taken}")


def _check_type(name: str, value: Any) -> None:
    """Refuse what is no text, flag or path, as a suite file may hold anything."""
    expected = (
        ("a text", str, _TEXTS),
        ("true or false", bool, _FLAGS),
        ("the path of a file or folder", str | Path, PATHS),
    )
    for what, kind, names in expected:
        if name in names and not isinstance(value, kind):
            raise UsageError(f"{name} is {value!r}; it must be {what}")


def _is_positive(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf


def option_names() -> tuple[str, ...]:
    """Names of all options."""
    return tuple(field.name for field in fields(TaskOptions))
