"""Errors and warnings of the scoring core.

ValueError
└── ScoringError
    ├── InputError
    └── UndefinedScoreError
        └── UnboundedScoresError
UserWarning
└── ScoringWarning
    └── UndefinedScoreWarning, SmallSampleWarning, LeftOutWarning, LostRoundsWarning

Pure functions raise `UndefinedScoreError`; the `evaluate` modules turn it into nan and a warning.
"""

from collections.abc import Sequence
from typing import Any


class ScoringError(ValueError):
    """Base of the errors that scoring functions raise."""


class InputError(ScoringError):
    """An argument is invalid; the message names it and the first invalid row."""


class UndefinedScoreError(ScoringError):
    """The score is mathematically undefined for this input."""


class UnboundedScoresError(UndefinedScoreError):
    """The likelihood of paired comparisons has no finite maximum, because items in `unbeaten` lost to none outside."""

    def __init__(self, unbeaten: Sequence[Any]):
        """Create the error from item numbers, or from names."""
        self.unbeaten = unbeaten
        more = f" and {len(unbeaten) - 10} more" if len(unbeaten) > 10 else ""
        super().__init__(
            f"maximum likelihood scores would be infinite: {', '.join(map(str, unbeaten[:10]))}{more} lost to none of "
            "the others. Use aggregator 'mle_ridge', whose scores are always finite"
        )


class ScoringWarning(UserWarning):
    """Base of the warnings that metrics emit."""


class UndefinedScoreWarning(ScoringWarning):
    """A score is undefined and reported as nan."""


class SmallSampleWarning(ScoringWarning):
    """A score was computed from too few items to be meaningful."""


class LeftOutWarning(ScoringWarning):
    """Rows that cannot be scored were left out and counted."""


class LostRoundsWarning(ScoringWarning):
    """A judge gave no reply in some rounds."""
