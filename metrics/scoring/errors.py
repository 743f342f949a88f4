"""Errors and warnings of the scoring core.

ValueError
└── ScoringError
    ├── InputError             an argument is malformed; the message names it and the first offending row
    └── UndefinedScoreError    the input is well formed, but the score does not exist for it
UserWarning
└── ScoringWarning
    ├── UndefinedScoreWarning  a metric returned nan in place of an undefined score
    └── SmallSampleWarning     a score was computed on fewer items than it needs to be meaningful

Pure functions raise; the `evaluate` modules above them turn `UndefinedScoreError` into nan and a warning.
"""


class ScoringError(ValueError):
    """Base of the errors that scoring functions raise."""


class InputError(ScoringError):
    """An argument is malformed."""


class UndefinedScoreError(ScoringError):
    """The score is mathematically undefined for this input."""


class ScoringWarning(UserWarning):
    """Base of the warnings that metrics emit."""


class UndefinedScoreWarning(ScoringWarning):
    """A score is undefined and reported as nan."""


class SmallSampleWarning(ScoringWarning):
    """A score rests on too few items."""
