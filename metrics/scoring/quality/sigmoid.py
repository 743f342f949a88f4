"""Least-squares fits of a sigmoid plus a constant or a line, the form of both logistics of the image-quality field.

For a given curve, linear least squares gives the best coefficients of all terms. So only its centre and width are
searched (variable projection; Golub and Pereyra, SIAM Journal on Numerical Analysis, 1973), by SciPy's
Levenberg-Marquardt method from several starts: the peaks of a grid, first improved on means of neighbouring points; the
published start; and the best single steps. With very many points, only the last search is on all of them, the others on
means. `curve_fit` of all parameters often ends in a worse local minimum: with nine starts, its error is over 0.1 %
larger in a quarter of 840 fits of Q-Bench's released logits.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.ndimage import maximum_filter
from scipy.optimize import leastsq
from scipy.special import expit, log_expit

from eyechart.metrics.scoring.inputs import FloatArray

_GROUPS = 512
_MANY = 1 << 13
"""More points than this are replaced by this many means until the last descent."""
_PEAKS = 8
_SEARCH, _POLISH = 1e-6, 1e-12
# Beyond this many widths from all points, the sigmoid is an exponential to seven digits.
_EDGE = 16.0


class Curve(NamedTuple):
    """The sigmoid 1 / (1 + exp(-(x - centre) / width))."""

    centre: float
    width: float


class SigmoidFit(NamedTuple):
    """A fitted level + line * x + height * sigmoid, and its values at the given points."""

    curve: Curve
    height: float
    level: float
    line: float
    fitted: FloatArray


def fit_sigmoid(x: FloatArray, y: FloatArray, line: bool, starts: Sequence[Curve] = ()) -> SigmoidFit:
    """Least squares of level + height * sigmoid, with `line` also + line * x, from standardised x and y, shape (n,).

    The fit is at least as good as the curves that are given as additional starts.
    """
    order = np.argsort(x, kind="stable")
    whole = _Problem(x[order], y[order], line)
    rough, fine = whole.means(_GROUPS), whole.means(_MANY)
    improved = sorted(rough.descend(start, _SEARCH) for start in (*rough.peaks(), *rough.steps(2)))
    # Searches that end in the same minimum count once.
    distinct = list({f"{error:.5g}": curve for error, curve in improved}.values())
    candidates = (*starts, Curve(0.0, 0.25), *distinct[:3], *whole.steps(1))
    found = sorted(fine.descend(start, _SEARCH) for start in candidates)
    if fine is not whole:
        # The best three in the means, and the given curves, which the fit must not be worse than.
        found = sorted((whole.error(curve), curve) for curve in (*starts, *(curve for _, curve in found[:3])))
    _, best = whole.descend(found[0][1], _POLISH)
    residual, height = whole.at(best)
    fitted = np.empty(len(x))
    fitted[order] = whole.y - residual
    linear = np.polyfit(x, fitted - height * expit((x - best.centre) / best.width), int(line)).tolist()
    return SigmoidFit(best, height, linear[-1], linear[0] if line else 0.0, fitted)


class _Problem:
    """The residual as a function of the curve only."""

    def __init__(self, x: FloatArray, y: FloatArray, line: bool) -> None:
        """Points sorted by x."""
        self.x, self.y, self.span = x, y, float(x[-1] - x[0])
        self.basis = np.linalg.qr(np.column_stack([np.ones_like(x), x][: 1 + line]))[0]
        self.rest = self.free(y)
        # In units of the span of x. Wider, the sigmoid is a line (or a cubic, with a line term); narrower, a step.
        self.widths = 1e-9 * self.span, (1e3 if line else 1e5) * self.span

    def means(self, groups: int) -> "_Problem":
        """The problem of means of neighbouring points, or this one if there are no more points than groups."""
        if len(self.x) <= groups:
            return self
        begins = np.linspace(0, len(self.x), groups, endpoint=False).astype(int)
        sizes = np.diff(begins, append=len(self.x))
        x, y = (np.add.reduceat(values, begins) / sizes for values in (self.x, self.y))
        return _Problem(x, y, self.basis.shape[1] > 1)

    def error(self, curve: Curve) -> float:
        """The squared error of the best fit with this curve."""
        residual = self.at(curve)[0]
        return float(residual @ residual)

    def free(self, rows: FloatArray) -> FloatArray:
        """Rows, shape (..., n), projected to be orthogonal to the linear terms."""
        return rows - rows @ self.basis @ self.basis.T

    def at(self, curve: Curve) -> tuple[FloatArray, float]:
        """The residual of the best fit with this curve, and the coefficient of the sigmoid."""
        z = (self.x - curve.centre) / curve.width
        # The tail of the sigmoid, scaled to at most 1, is exact even where the sigmoid is 1 up to rounding.
        side = -1.0 if z[0] + z[-1] > 0 else 1.0
        logarithm = log_expit(side * z)
        top = float(logarithm.max())
        column = np.exp(logarithm - top)
        free = self.free(column)
        square = float(free @ free)
        # If the sigmoid is a combination of the linear terms (two values of x and a line), the rest is rounding noise.
        factor = float(free @ self.rest) / square if square > 1e-20 * (column @ column) else 0.0
        return self.rest - factor * free, side * factor * math.exp(-top)

    def descend(self, start: Curve, tolerance: float) -> tuple[float, Curve]:
        """The squared error and the curve of the local minimum from a start."""

        def moved(unknowns: FloatArray) -> Curve:
            growth, offset = unknowns.tolist()
            width = min(max(start.width * math.exp(min(max(growth, -50.0), 50.0)), self.widths[0]), self.widths[1])
            centre = start.centre + offset * width
            return Curve(min(max(centre, self.x[0] - _EDGE * width), self.x[-1] + _EDGE * width), width)

        # Without full_output, leastsq would warn; its covariance, which is not needed, may overflow.
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            found = leastsq(
                lambda unknowns: self.at(moved(unknowns))[0],
                np.zeros(2),
                full_output=True,
                ftol=tolerance,
                xtol=1e-9,
                # At a step between very many noisy points, the polish would go on for a minute.
                maxfev=60 if tolerance == _SEARCH else 2000 if len(self.x) <= _MANY else 200,
                factor=1.0,
                diag=(1.0, 1.0),
            )
        curve = moved(found[0])
        return self.error(curve), curve

    def peaks(self) -> list[Curve]:
        """The best peaks of a grid over centre and width."""
        quarter, three_quarters = np.quantile(self.x, [0.25, 0.75])
        # Outliers may make the bulk of standardised points much narrower than 1.
        bulk = min(float(three_quarters - quarter) or 1.0, 1.0)
        width = bulk / 32 * 2.0 ** np.arange(np.ceil(np.log2(8 * 32 / bulk)) + 1)
        inside = np.repeat(np.quantile(self.x, np.linspace(0, 1, 33))[:, None], len(width), axis=1)
        away = np.array([6.0, 3.0, 1.0])[:, None] * width
        # An outlier at an end leaves a gap next to the other points, so their end counts too.
        outside = [end - away for end in self.x[:2]] + [end + away for end in self.x[-2:]]
        centre = np.sort(np.concatenate([inside, *outside]), axis=0)
        free = self.free(expit((self.x - centre[..., None]) / width[:, None]))
        gain = _gain(free @ self.rest, np.einsum("ijk,ijk->ij", free, free), 1e-12 * len(self.x))
        rows, columns = np.nonzero(gain == maximum_filter(gain, 3))
        best = np.argsort(-gain[rows, columns], kind="stable")[:_PEAKS]
        return [Curve(float(centre[i, j]), float(width[j])) for i, j in zip(rows[best], columns[best], strict=True)]

    def steps(self, count: int) -> list[Curve]:
        """Narrow curves at the best single steps: in a gap, and on its ends."""
        gaps = np.diff(self.x)

        def above(values: FloatArray) -> FloatArray:
            """Sums over the points above each gap."""
            return (values.sum(axis=0) - np.cumsum(values, axis=0))[:-1]

        square = np.arange(len(gaps), 0, -1) - np.sum(above(self.basis) ** 2, axis=1)
        gain = np.where(gaps > 0, _gain(above(self.rest), square, 1e-9 * len(self.x)), 0.0)
        best = [i for i in np.argsort(-gain)[:count] if gain[i] > 0]
        return [Curve(float(self.x[i] + part * gaps[i]), float(gaps[i]) / 4) for i in best for part in (0.0, 0.5, 1.0)]


def _gain(along: FloatArray, square: FloatArray, noise: float) -> FloatArray:
    """By how much columns lower the squared error; 0 for those that are linear terms up to rounding."""
    return np.where(square > noise, along**2 / np.where(square > noise, square, 1.0), 0.0)
