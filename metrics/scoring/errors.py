"""Errors and warnings of the scoring core.

ValueError
└── ScoringError
    ├── InputError             an argument is invalid; the message names it and the first invalid row
    └── UndefinedScoreError    the input is valid, but the score is not defined for it
        └── UnboundedScoresError   paired comparisons whose maximum likelihood scores are infinite
UserWarning
└── ScoringWarning
    ├── UndefinedScoreWarning  a score is undefined, and the metric returned nan
    ├── SmallSampleWarning     a score was computed from too few items to be meaningful
    ├── LeftOutWarning         rows that cannot be scored were left out and counted
    └── LostRoundsWarning      a judge gave no reply in some rounds

Pure functions raise `UndefinedScoreError`; the `evaluate` modules turn it into nan and a warning.
"""

from collections.abc import Sequence
from typing import Any


class ScoringError(ValueError):
    """Base of the errors that scoring functions raise."""


class InputError(ScoringError):
    """An argument is invalid."""


class UndefinedScoreError(ScoringError):
    """The score is mathematically undefined for this input."""


class UnboundedScoresError(UndefinedScoreError):
    """The likelihood of paired comparisons has no finite maximum.

    Attributes:
        never_won: Numbers of the items that never won. An item that is in no comparison is in both lists.
        never_lost: Numbers of the items that never lost.
        unbeaten_set: If both lists are empty, a set of items that lost no comparison with an item outside the set.
    """

    def __init__(self, never_won: Sequence[Any], never_lost: Sequence[Any], unbeaten_set: Sequence[Any]):
        """Create the error from item numbers, or from names for the message."""
        self.never_won, self.never_lost, self.unbeaten_set = list(never_won), list(never_lost), list(unbeaten_set)
        reasons = [f"never won: {_listed(self.never_won)}"] if self.never_won else []
        reasons += [f"never lost: {_listed(self.never_lost)}"] if self.never_lost else []
        reasons = reasons or [f"these items lost to none of the others: {_listed(self.unbeaten_set)}"]
        super().__init__(
            f"maximum likelihood scores would be infinite; {'; '.join(reasons)}. "
            "Use aggregator 'mle_ridge', whose scores are always finite"
        )

    def renamed(self, names: Sequence[Any]) -> "UnboundedScoresError":
        """The same error, with names instead of item numbers."""
        lists = (self.never_won, self.never_lost, self.unbeaten_set)
        return UnboundedScoresError(*([names[item] for item in items] for items in lists))


def _listed(items: Sequence[Any], most: int = 10) -> str:
    """The first items, separated by commas, and the number of items that are not shown."""
    shown = ", ".join(str(item) for item in items[:most])
    return f"{shown} and {len(items) - most} more" if len(items) > most else shown


class ScoringWarning(UserWarning):
    """Base of the warnings that metrics emit."""


class UndefinedScoreWarning(ScoringWarning):
    """A score is undefined and reported as nan."""


class SmallSampleWarning(ScoringWarning):
    """A score was computed from too few items."""


class LeftOutWarning(ScoringWarning):
    """Rows were left out of a score."""


class LostRoundsWarning(ScoringWarning):
    """A judge gave no reply in some rounds."""
