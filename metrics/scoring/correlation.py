"""Correlations between predicted scores and opinion scores, plain and after a logistic fit.

SRCC, PLCC, KRCC and RMSE as the image-quality field uses them (Q-Bench, Sec. 2.4; 2AFC, Sec. III-C). The 4-parameter
logistic is the one of the VQEG reports, the 5-parameter one that of Sheikh, Sabir and Bovik (2006).

A fit maximises agreement, which blinds Pearson to the sign; `fitted_plcc` puts the sign of the plain correlation back.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import least_squares
from scipy.special import expit
from scipy.stats import kendalltau
from scipy.stats import rankdata

from eyechart.metrics.scoring.errors import UndefinedScoreError
from eyechart.metrics.scoring.inputs import FloatArray
from eyechart.metrics.scoring.inputs import check_lengths
from eyechart.metrics.scoring.inputs import check_member
from eyechart.metrics.scoring.inputs import check_numbers

FitName = Literal["logistic4", "logistic5"]


def plcc(predictions: ArrayLike, references: ArrayLike) -> float:
    """Pearson linear correlation coefficient.

    Args:
        predictions: Scores, shape (n,).
        references: Opinion scores, shape (n,).

    Returns:
        A number in [-1, 1]; 1 is best.

    Raises:
        InputError: The lengths differ, or a value is not finite.
        UndefinedScoreError: n < 2, or either input is constant.

    Examples:
        >>> round(plcc([1, 2, 3], [1, 2, 4]), 4)
        0.982
    """
    x, y = _pair(predictions, references)
    return _pearson(x, y)


def srcc(predictions: ArrayLike, references: ArrayLike) -> float:
    """Spearman rank correlation coefficient, with mid-ranks for ties. Arguments and errors as for `plcc`.

    Examples:
        >>> round(srcc([1, 2, 3, 4], [1, 2, 4, 3]), 4)
        0.8
    """
    x, y = _pair(predictions, references)
    return _pearson(rankdata(x), rankdata(y))


def krcc(predictions: ArrayLike, references: ArrayLike) -> float:
    """Kendall rank correlation coefficient, tau-b. Arguments and errors as for `plcc`.

    Examples:
        >>> round(krcc([1, 2, 3, 4], [1, 2, 4, 3]), 4)
        0.6667
    """
    x, y = _pair(predictions, references)
    return float(kendalltau(x, y).statistic)


def rmse(predictions: ArrayLike, references: ArrayLike) -> float:
    """Root mean squared error, in the units of the scores; 0 is best.

    Examples:
        >>> rmse([1, 2], [1, 4]) == 2**0.5
        True
    """
    x, y = check_numbers("predictions", predictions), check_numbers("references", references)
    check_lengths(predictions=x, references=y)
    return float(np.sqrt(np.mean((x - y) ** 2)))


@dataclass(frozen=True)
class Fit:
    """A logistic fitted to (prediction, opinion score) pairs.

    Attributes:
        name: "logistic4" or "logistic5".
        parameters: b1, b2, ... of `logistic4` or `logistic5`, in the units of the data.
        mapped: The mapped predictions, shape (n,).
        plcc: Pearson correlation of the mapped predictions with the opinion scores, with the sign of the plain one.
        rmse: Their root mean squared error, in the units of the opinion scores.
    """

    name: FitName
    parameters: tuple[float, ...]
    mapped: FloatArray
    plcc: float
    rmse: float


def logistic4(x: FloatArray, b1: float, b2: float, b3: float, b4: float) -> FloatArray:
    """The 4-parameter logistic of VQEG: b2 + (b1 - b2) / (1 + exp(-(x - b3) / |b4|)).

    Examples:
        >>> float(logistic4(np.array(0.0), 1.0, 0.0, 0.0, 1.0))
        0.5
    """
    return b2 + (b1 - b2) * expit((x - b3) / abs(b4))


def logistic5(x: FloatArray, b1: float, b2: float, b3: float, b4: float, b5: float) -> FloatArray:
    """The 5-parameter logistic of Sheikh et al.: b1 (1/2 - 1 / (1 + exp(b2 (x - b3)))) + b4 x + b5.

    Examples:
        >>> float(logistic5(np.array(0.0), 1.0, 1.0, 0.0, 0.0, 3.0))
        3.0
    """
    return b1 * (0.5 - expit(-b2 * (x - b3))) + b4 * x + b5


def fit_logistic(predictions: ArrayLike, references: ArrayLike, fit: FitName = "logistic4") -> Fit:
    """Least-squares logistic from predictions to opinion scores.

    The fit starts from several points and keeps the one with the smallest squared error; the first is the published
    start max(y), min(y), mean(x), std(x)/4.

    Args:
        predictions: Scores, shape (n,).
        references: Opinion scores, shape (n,).
        fit: "logistic4" or "logistic5".

    Returns:
        The best fit. It inflates small samples: at n = 5 random scores reach 0.67 on average.

    Raises:
        InputError: The lengths differ, or a value is not finite.
        UndefinedScoreError: Fewer points than parameters plus one, a constant input, or no start converges.

    Examples:
        >>> round(fit_logistic([0, 1, 2, 3, 4, 5], [0, 0, 1, 3, 4, 4]).plcc, 2)
        1.0
    """
    check_member("fit", fit, tuple(_MODELS))
    x, y = _pair(predictions, references)
    plain = _pearson(x, y)
    model, jacobian, starts = _MODELS[fit]
    n_parameters = len(starts(x, y)[0])
    if len(x) <= n_parameters:
        raise UndefinedScoreError(f"{fit} needs at least {n_parameters + 1} points; there are {len(x)}")
    # Standardised data make one set of tolerances fit every scale; both families are closed under the change.
    u, v = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()

    def residuals(b: FloatArray) -> FloatArray:
        return model(u, *b) - v

    def derivative(b: FloatArray) -> FloatArray:
        return jacobian(u, *b)

    fits = [least_squares(residuals, start, jac=derivative, method="lm") for start in starts(u, v)]
    best = min((found for found in fits if np.isfinite(found.cost)), key=lambda found: found.cost, default=None)
    if best is None:
        raise UndefinedScoreError(f"{fit} converges from none of its starts")
    mapped = model(u, *best.x) * y.std() + y.mean()
    return Fit(
        name=fit,
        parameters=_in_data_units(fit, best.x, x, y),
        mapped=mapped,
        plcc=float(np.copysign(abs(_pearson(mapped, y)), plain)),
        rmse=float(np.sqrt(np.mean((mapped - y) ** 2))),
    )


def _in_data_units(fit: FitName, b: FloatArray, x: FloatArray, y: FloatArray) -> tuple[float, ...]:
    """Parameters of the fit of standardised data, for the data themselves."""
    mx, sx, my, sy = x.mean(), x.std(), y.mean(), y.std()
    if fit == "logistic4":
        units = [b[0] * sy + my, b[1] * sy + my, b[2] * sx + mx, abs(b[3]) * sx]
    else:
        slope = b[3] * sy / sx
        units = [b[0] * sy, b[1] / sx, b[2] * sx + mx, slope, b[4] * sy + my - slope * mx]
    return tuple(float(value) for value in units)


def _jacobian4(x: FloatArray, b1: float, b2: float, b3: float, b4: float) -> FloatArray:
    z = (x - b3) / abs(b4)
    s = expit(z)
    inner = (b1 - b2) * s * (1 - s) / abs(b4)
    return np.column_stack([s, 1 - s, -inner, -inner * z * np.sign(b4)])


def _jacobian5(x: FloatArray, b1: float, b2: float, b3: float, b4: float, b5: float) -> FloatArray:
    s = expit(b2 * (x - b3))
    inner = b1 * s * (1 - s)
    return np.column_stack([s - 0.5, inner * (x - b3), -inner * b2, x, np.ones_like(x)])


def _starts4(x: FloatArray, y: FloatArray) -> list[list[float]]:
    """The published start, its mirror image for falling data, and a wide one, which is nearly a line."""
    top, bottom, centre, width = y.max(), y.min(), x.mean(), x.std()
    middle = y.mean()
    slope = np.sign(np.dot(x - centre, y - middle)) * y.std()
    return [
        [top, bottom, centre, width / 4],
        [bottom, top, centre, width / 4],
        [middle + 8 * slope, middle - 8 * slope, centre, 4 * width],
    ]


def _starts5(x: FloatArray, y: FloatArray) -> list[list[float]]:
    """The published start, both signs of a moderate one, and the line alone."""
    centre, width, middle = x.mean(), x.std(), y.mean()
    spread, slope = y.max() - y.min(), np.dot(x - centre, y - middle) / np.dot(x - centre, x - centre)
    return [
        [spread, 1 / width, centre, 0.0, middle],
        [-spread, 1 / width, centre, 0.0, middle],
        [spread / 4, 4 / width, centre, slope, middle - slope * centre],
        [0.0, 1 / width, centre, slope, middle - slope * centre],
    ]


_Model = tuple[
    Callable[..., FloatArray], Callable[..., FloatArray], Callable[[FloatArray, FloatArray], list[list[float]]]
]
_MODELS: dict[str, _Model] = {
    "logistic4": (logistic4, _jacobian4, _starts4),
    "logistic5": (logistic5, _jacobian5, _starts5),
}


def _pair(predictions: ArrayLike, references: ArrayLike) -> tuple[FloatArray, FloatArray]:
    x, y = check_numbers("predictions", predictions), check_numbers("references", references)
    n = check_lengths(predictions=x, references=y)
    if n < 2:
        raise UndefinedScoreError("a correlation needs at least two items; there is one")
    for name, values in (("predictions", x), ("references", y)):
        if values.min() == values.max():
            raise UndefinedScoreError(f"all {n} {name} are equal; a correlation with a constant is undefined")
    return x, y


def _pearson(x: FloatArray, y: FloatArray) -> float:
    # Scaling first keeps squares of very large and very small numbers in range.
    dx, dy = x - x.mean(), y - y.mean()
    dx, dy = dx / np.abs(dx).max(), dy / np.abs(dy).max()
    return float(np.clip(np.dot(dx, dy) / np.sqrt(np.dot(dx, dx) * np.dot(dy, dy)), -1.0, 1.0))
