"""A scoring function of the user's own, which scores replies in place of the protocol's metric."""

import contextlib
import hashlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators.requests.types import Row
from eyechart.evaluators.requests.values import brief

ScoringFunction = Callable[[str, Row], float]
"""Takes a reply and its row, and returns a number; True counts as 1."""


@dataclass(frozen=True)
class Scorer:
    """A scoring function and its range."""

    function: ScoringFunction
    low: float
    high: float

    def settings(self) -> dict[str, Any]:
        """Its name, a digest of its source ("" if unknown) and its range."""
        source = ""
        with contextlib.suppress(OSError, TypeError):
            source = hashlib.sha256(inspect.getsource(self.function).encode()).hexdigest()[:8]
        name = getattr(self.function, "__name__", type(self.function).__name__)
        return {"score": f"{name}/{source}", "score_range": [self.low, self.high]}

    def value(self, reply: str, row: Row) -> float:
        """The number for a reply.

        Raises:
            DataError: The function raises, or returns something other than a number in its range.
        """
        expected = f"score must return a number from {self.low:g} to {self.high:g} (score_range)"
        about = f"for the reply {brief(reply)}"
        try:
            found = self.function(reply, row)
        # The function may raise anything; the user needs to know for which item it did.
        except Exception as error:
            raise DataError(f"score fails {about} with {type(error).__name__}: {error}; {expected}") from error
        if not isinstance(found, Real | np.bool_) or not self.low <= found <= self.high:
            raise DataError(f"score returns {brief(found)} {about}; {expected}")
        return float(found)
