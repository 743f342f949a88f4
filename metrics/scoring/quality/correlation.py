"""Correlations between predicted scores and opinion scores, plain and after a logistic fit.

SRCC, PLCC, KRCC and RMSE as the image-quality field uses them (Q-Bench, Sec. 2.4; 2AFC, Sec. III-C). The 4-parameter
logistic is the one of the VQEG reports, the 5-parameter one that of Sheikh, Sabir and Bovik (2006).

After a fit, the Pearson correlation is never negative; `plcc_fitted` therefore has the sign of the correlation before
the fit.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from scipy.stats import kendalltau, rankdata

from eyechart.metrics.scoring.errors import UndefinedScoreError
from eyechart.metrics.scoring.inputs import FloatArray, check_lengths, check_member, check_numbers, scaled
from eyechart.metrics.scoring.quality.sigmoid import SigmoidFit, fit_sigmoid

FitName = Literal["logistic4", "logistic5"]
_PARAMETERS = {"logistic4": 4, "logistic5": 5}
# A fitted curve with a range below this share of the references' spread is constant up to rounding.
_FLAT = 1e-12


def plcc(predictions: ArrayLike, references: ArrayLike) -> float:
    """Pearson linear correlation coefficient of scores with opinion scores, shape (n,) each.

    Raises `InputError` if the lengths differ or a value is not finite, and `UndefinedScoreError` if n < 2 or either
    input is constant.

    Examples:
        >>> round(plcc([1, 2, 3], [1, 2, 4]), 4)
        0.982
    """
    return _pearson(*_pair(predictions, references))


def srcc(predictions: ArrayLike, references: ArrayLike) -> float:
    """Spearman rank correlation coefficient, with mid-ranks for ties. Arguments and errors as for `plcc`."""
    return _pearson(*map(rankdata, _pair(predictions, references)))


def krcc(predictions: ArrayLike, references: ArrayLike) -> float:
    """Kendall rank correlation coefficient, tau-b. Arguments and errors as for `plcc`."""
    return float(kendalltau(*_pair(predictions, references)).statistic)


@dataclass(frozen=True)
class Fit:
    """A logistic fitted to (prediction, opinion score) pairs."""

    parameters: tuple[float, ...]
    """b1, b2, ... in the units of the data: of `logistic4`, or of the 5-parameter logistic of Sheikh et al.,
    b1 (1/2 - 1 / (1 + exp(b2 (x - b3)))) + b4 x + b5. They are very large if the best fit is a limit of the family,
    such as a line or an exponential."""
    mapped: FloatArray
    """The mapped predictions, shape (n,). With very large parameters, they are more exact than the function."""
    plcc: float
    """Pearson correlation of the mapped predictions with the opinion scores, with the sign of that before the fit."""
    rmse: float
    """Root mean squared error of the mapped predictions, in the units of the opinion scores."""


def logistic4(x: FloatArray, b1: float, b2: float, b3: float, b4: float) -> FloatArray:
    """The 4-parameter logistic of VQEG: `b2 + (b1 - b2) / (1 + exp(-(x - b3) / |b4|))`."""
    return b2 + (b1 - b2) * expit((x - b3) / abs(b4))


def fit_logistic(predictions: ArrayLike, references: ArrayLike, fit: FitName = "logistic4") -> Fit:
    """Least-squares logistic from predictions to opinion scores. Arguments and errors as for `plcc`.

    "logistic5" also starts from the best "logistic4" and so is never worse. A fit inflates the correlation of small
    samples: at n = 5, random scores reach 0.74 on average. It is also undefined for fewer points than parameters plus
    one, or if the best fit is constant.

    Examples:
        >>> round(fit_logistic([0, 1, 2, 3, 4, 5], [0, 0, 1, 3, 4, 4]).plcc, 2)
        1.0
    """
    check_member("fit", fit, tuple(_PARAMETERS))
    (x, scale_x), (y, scale_y) = map(scaled, _pair(predictions, references))
    plain = _pearson(x, y)
    if len(x) <= _PARAMETERS[fit]:
        raise UndefinedScoreError(f"{fit} needs at least {_PARAMETERS[fit] + 1} points; there are {len(x)}")
    u, mx, sx = _standardised(x)
    v, my, sy = _standardised(y)
    found = fit_sigmoid(u, v, line=False)
    if fit == "logistic5":
        found = fit_sigmoid(u, v, line=True, starts=[found.curve])
    if np.ptp(found.fitted) < _FLAT:
        raise UndefinedScoreError(f"the best {fit} is constant; a correlation with a constant is undefined")
    mapped = found.fitted * sy + my
    error = np.sqrt(np.mean((found.fitted - v) ** 2)) * sy
    # If values are near 1e308 or 1e-308, a parameter in their units may be infinite or undefined.
    with np.errstate(all="ignore"):
        units = (*np.ldexp([mx, sx], scale_x), *np.ldexp([my, sy], scale_y))
        return Fit(
            parameters=tuple(map(float, _parameters(fit, found, *units))),
            mapped=np.ldexp(mapped, scale_y),
            plcc=float(np.copysign(abs(_pearson(mapped, y)), plain)),
            rmse=float(np.ldexp(error, scale_y)),
        )


def _standardised(values: FloatArray) -> tuple[FloatArray, float, float]:
    """Values with mean 0 and spread 1, so that the same starts and bounds fit every scale; also mean and spread."""
    mean = values.mean()
    deviations = values - mean
    # The values are scaled, but their differences may be tiny.
    largest = np.abs(deviations).max()
    spread = largest * (deviations / largest).std()
    return deviations / spread, float(mean), float(spread)


def _parameters(fit: FitName, found: SigmoidFit, mx: float, sx: float, my: float, sy: float) -> tuple[float, ...]:
    """Parameters b1, b2, ... for the original data, from the fit of the standardised data."""
    centre = found.curve.centre * sx + mx
    if fit == "logistic4":
        return ((found.level + found.height) * sy + my, found.level * sy + my, centre, sx * found.curve.width)
    line = found.line * sy / sx
    level = (found.level + found.height / 2) * sy + my - line * mx
    return (found.height * sy, 1 / (found.curve.width * sx), centre, line, level)


def _pair(predictions: ArrayLike, references: ArrayLike) -> tuple[FloatArray, FloatArray]:
    x, y = check_numbers("predictions", predictions), check_numbers("references", references)
    n = check_lengths(predictions=x, references=y)
    if n < 2:
        raise UndefinedScoreError("a correlation needs at least two items; there is only one")
    for name, values in (("predictions", x), ("references", y)):
        if values.min() == values.max():
            raise UndefinedScoreError(f"all {n} {name} are equal; a correlation with a constant is undefined")
    return x, y


def _pearson(x: FloatArray, y: FloatArray) -> float:
    (x, _), (y, _) = scaled(x), scaled(y)
    dx, dy = x - x.mean(), y - y.mean()
    # The differences may be tiny.
    dx, dy = dx / np.abs(dx).max(), dy / np.abs(dy).max()
    return float(np.clip(np.dot(dx, dy) / np.sqrt(np.dot(dx, dx) * np.dot(dy, dy)), -1.0, 1.0))
