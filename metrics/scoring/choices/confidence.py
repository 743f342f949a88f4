"""Answers with their confidence, the input of calibration and risk-coverage curves.

The functions for both take the same arguments:

- `confidences`: the highest option probability of each of n items, in [0, 1], shape (n,), with n at least 1.
- `right`: whether the option with this probability is correct, shape (n,).
- `clusters`: which items belong together.
- `rng` and `resamples`: random generator and number of resamples.

They raise InputError if lengths differ, there are no items, or a confidence is not a probability.
"""

import numpy as np
from numpy.typing import ArrayLike

from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.inputs import FloatArray, check_lengths, check_numbers


def check_answers(confidences: ArrayLike, right: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Check confidences and correctness; return both as numbers (1 for correct, 0 for incorrect), shapes (n,).

    Examples:
        >>> [column.tolist() for column in check_answers([0.9, 0.5], [True, False])]
        [[0.9, 0.5], [1.0, 0.0]]
    """
    values = check_numbers("confidences", confidences)
    flags = check_numbers("right", np.asarray(right, dtype=np.float64))
    check_lengths(confidences=values, right=flags)
    allowed = (values >= 0) & (values <= 1 + 1e-9)
    if not allowed.all():
        row = int(np.argmin(allowed))
        raise InputError(f"confidences[{row}] is {values[row]:g}; a confidence is a probability between 0 and 1")
    return values, flags
