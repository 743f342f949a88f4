"""Answers with their confidence, of which calibration and risk-coverage curves are computed.

The functions of both take the same arguments:

- `confidences`: the highest probability of each of n items, in [0, 1], shape (n,), with n at least 1.
- `right`: whether the option that has it is right, shape (n,).
- `clusters`: which items belong together.
- `rng` and `resamples`: source of the draws, and number of resamples.

They raise InputError where lengths differ, there are no items, or a confidence is no probability.
"""

import numpy as np
from numpy.typing import ArrayLike

from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.inputs import FloatArray, check_lengths, check_numbers


def check_answers(confidences: ArrayLike, right: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Confidences, and 1 for each right answer, 0 for each wrong one; shapes (n,).

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
        raise InputError(f"confidences[{row}] is {values[row]:g}; a confidence is a probability, between 0 and 1")
    return values, flags
