"""Errors and warnings of the scoring core.

ValueError
└── ScoringError
    ├── InputError             an argument is malformed; the message names it and the first offending row
    └── UndefinedScoreError    the input is well formed, but the score does not exist for it
        └── UnboundedScoresError   paired comparisons whose maximum likelihood lies at infinity
UserWarning
└── ScoringWarning
    ├── UndefinedScoreWarning  a metric returned nan in place of an undefined score
    ├── SmallSampleWarning     a score was computed on fewer items than it needs to be meaningful
    ├── LeftOutWarning         rows that cannot be scored were left out, and counted
    └── LostRoundsWarning      a judge gave no reply in some rounds

Pure functions raise; the `evaluate` modules above them turn `UndefinedScoreError` into nan and a warning.
"""

from collections.abc import Sequence
from typing import Any


class ScoringError(ValueError):
    """Base of the errors that scoring functions raise."""


class InputError(ScoringError):
    """An argument is malformed."""


class UndefinedScoreError(ScoringError):
    """The score is mathematically undefined for this input."""


class UnboundedScoresError(UndefinedScoreError):
    """The likelihood of paired comparisons has no finite maximum.

    Attributes:
        never_won: Items that never won, by number; an item that never appears is in both lists.
        never_lost: Items that never lost.
        unbeaten_set: Where both lists are empty, a set of items that lost to none of the others.
    """

    def __init__(self, never_won: Sequence[Any], never_lost: Sequence[Any], unbeaten_set: Sequence[Any]):
        """Takes item numbers, or names for the message."""
        self.never_won, self.never_lost, self.unbeaten_set = list(never_won), list(never_lost), list(unbeaten_set)
        reasons = [f"never won: {_listed(self.never_won)}"] if self.never_won else []
        reasons += [f"never lost: {_listed(self.never_lost)}"] if self.never_lost else []
        reasons = reasons or [f"these lost to none of the others: {_listed(self.unbeaten_set)}"]
        super().__init__(
            f"maximum likelihood scores would be infinite; {'; '.join(reasons)}. With a ridge they are finite: "
            "aggregator 'mle_ridge'"
        )

    def renamed(self, names: Sequence[Any]) -> "UnboundedScoresError":
        """The same error with the names of the items in place of their numbers."""
        lists = (self.never_won, self.never_lost, self.unbeaten_set)
        return UnboundedScoresError(*([names[item] for item in items] for items in lists))


def _listed(items: Sequence[Any], most: int = 10) -> str:
    """Items one behind the other, and how many are not shown."""
    shown = ", ".join(str(item) for item in items[:most])
    return f"{shown} and {len(items) - most} more" if len(items) > most else shown


class ScoringWarning(UserWarning):
    """Base of the warnings that metrics emit."""


class UndefinedScoreWarning(ScoringWarning):
    """A score is undefined and reported as nan."""


class SmallSampleWarning(ScoringWarning):
    """A score rests on too few items."""


class LeftOutWarning(ScoringWarning):
    """Rows were left out of a score."""


class LostRoundsWarning(ScoringWarning):
    """A judge gave no reply in some rounds."""
