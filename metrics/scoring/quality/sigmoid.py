"""Least-squares fits of a sigmoid plus a constant or a line, the form of both logistics of the image-quality field.

For a given slope and centre of the curve, linear least squares gives the best coefficients of all terms. So only two
numbers are searched (variable projection; Golub and Pereyra, SIAM Journal on Numerical Analysis, 1973), with the
Levenberg-Marquardt method from several starts. First, the peaks of a grid over both numbers are improved on at most 512
weighted cells. Then the best results, the published start and, if it is competitive, the best single step are improved
on all points.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter
from scipy.optimize import leastsq
from scipy.special import expit, log_expit, logit

from eyechart.metrics.scoring.inputs import FloatArray

_COARSE_CELLS = 512
_PEAKS = 8
_POLISHED = 2
# Tolerance and maximum number of steps of a search, and of the final search.
_SEARCH = (1e-6, 30)
_POLISH = (1e-12, 2000)
# If all points are more than this many widths from the centre, the sigmoid is an exponential to seven digits.
_EDGE = 16.0
# Bounds of the slope times the range of x. Below them, the sigmoid is a line (or a cubic, with a line term); above, a
# step.
_FLATTEST = {1: 1e-5, 2: 1e-3}
_STEEPEST = 1e9


class Curve(NamedTuple):
    """The sigmoid 1 / (1 + exp(-slope * (x - centre)))."""

    slope: float
    centre: float


@dataclass(frozen=True)
class SigmoidFit:
    """A fitted level + height * sigmoid, with or without + line * x.

    Attributes:
        curve: The sigmoid.
        height: Coefficient of the sigmoid.
        level: Constant term.
        line: Coefficient of x; 0 without a line term.
        fitted: Values at the given points, shape (n,).
    """

    curve: Curve
    height: float
    level: float
    line: float
    fitted: FloatArray

    def mirrored(self) -> "SigmoidFit":
        """The same fit for -x, by 1 / (1 + exp(-z)) = 1 - 1 / (1 + exp(z)).

        Examples:
            >>> fit = SigmoidFit(Curve(slope=2.0, centre=0.5), height=3.0, level=1.0, line=0.25, fitted=np.zeros(0))
            >>> other = fit.mirrored()
            >>> other.curve.centre, other.height, other.level, other.line
            (-0.5, -3.0, 4.0, -0.25)
        """
        slope, centre = self.curve
        return SigmoidFit(Curve(slope, -centre), -self.height, self.level + self.height, -self.line, self.fitted)


class _End(NamedTuple):
    """Where a search ended."""

    error: float
    curve: Curve


def fit_sigmoid(x: FloatArray, y: FloatArray, line: bool, starts: Sequence[Curve] = ()) -> SigmoidFit:
    """Least squares of level + height * sigmoid, or level + line * x + height * sigmoid.

    Args:
        x: Standardised, not all equal, shape (n,).
        y: Standardised, shape (n,).
        line: Whether to include the term line * x.
        starts: Additional curves to start from; the fit is at least as good as these.

    Returns:
        The best fit found.

    Examples:
        >>> x = np.linspace(-2, 2, 9)
        >>> fit = fit_sigmoid(x, 1 + 3 * expit(2 * x - 1), line=False)
        >>> round(fit.height, 6), round(fit.curve.slope, 6), round(fit.curve.centre, 6)
        (3.0, 2.0, 0.5)
    """
    # Points with equal x form one cell: their mean with a weight.
    index = np.unique(x, return_inverse=True)[1]
    cells = _Cells.join(index, x, y, np.ones(len(x)))
    whole, rough = _Problem(cells, line), _Problem(cells.coarser(_COARSE_CELLS), line)
    ends = sorted(rough.descend(start, *_SEARCH) for start in _peaks(rough))
    distinct = [end.curve for i, end in enumerate(ends) if i == 0 or end.error > ends[i - 1].error * (1 + 1e-5)]
    published = Curve(slope=4.0, centre=0.0)
    best = min(whole.descend(start, *_SEARCH) for start in (*starts, published, *distinct[:_POLISHED]))
    steps = _steps(whole, least=0.9 * (float(whole.rest @ whole.rest) - best.error))
    best = min([best, *(whole.descend(start, *_SEARCH) for start in steps)])
    best = whole.descend(best.curve, *_POLISH)
    state = whole.at(best.curve)
    fitted = (cells.y - state.residual / whole.root)[index]
    slope, centre = best.curve
    linear = np.polyfit(x, fitted - state.height * expit(slope * (x - centre)), int(line)).tolist()
    return SigmoidFit(best.curve, state.height, linear[-1], linear[0] if line else 0.0, fitted)


class _Cells(NamedTuple):
    """Points with weights, sorted by x."""

    x: FloatArray
    y: FloatArray
    weight: FloatArray

    @classmethod
    def join(cls, index: NDArray[np.intp], x: FloatArray, y: FloatArray, weight: FloatArray) -> "_Cells":
        """Weighted means of the points with the same index."""
        total, sum_x, sum_y = (
            np.bincount(index, weights=w).astype(np.float64) for w in (weight, weight * x, weight * y)
        )
        return cls(sum_x / total, sum_y / total, total)

    def coarser(self, count: int) -> "_Cells":
        """At most `count` cells of about equal weight."""
        if len(self.x) <= count:
            return self
        share = (np.cumsum(self.weight) - self.weight) / self.weight.sum()
        index = np.unique(np.floor(share * count), return_inverse=True)[1]
        return self.join(index, self.x, self.y, self.weight)

    def quantiles(self, shares: FloatArray) -> FloatArray:
        """Positions below which there are the given shares of the weight."""
        return np.interp(shares * self.weight.sum(), np.cumsum(self.weight) - self.weight / 2, self.x)


class _State(NamedTuple):
    """The best fit for a given curve, in weighted cells.

    Attributes:
        residual: The residual of the fit.
        height: Coefficient of the sigmoid.
        change: Derivative of height * sigmoid with respect to its argument.
        free: The part of the sigmoid orthogonal to the linear terms, of length 1; zeros if missing.
    """

    residual: FloatArray
    height: float
    change: FloatArray
    free: FloatArray


class _Problem:
    """The weighted squared error as a function of the curve only."""

    def __init__(self, cells: _Cells, line: bool) -> None:
        """Fit the linear terms, a constant and with `line` x itself, without a sigmoid."""
        self.cells = cells
        self.root = np.sqrt(cells.weight)
        self.basis = np.linalg.qr(np.column_stack([self.root, self.root * cells.x][: 1 + line]))[0].T
        self.rest = self.free(self.root * cells.y)

    def free(self, rows: FloatArray) -> FloatArray:
        """Rows, shape (..., cells), projected to be orthogonal to the linear terms."""
        return rows - rows @ self.basis.T @ self.basis

    def at(self, curve: Curve) -> _State:
        """The best fit with this curve."""
        z = curve.slope * (self.cells.x - curve.centre)
        # The tail of the sigmoid, scaled to at most 1, is exact even where the sigmoid is 1 up to rounding.
        side = 1.0 if z[0] + z[-1] > 0 else -1.0
        logarithm = log_expit(-side * z)
        top = float(logarithm.max())
        column = self.root * np.exp(logarithm - top)
        free = self.free(column)
        length = math.sqrt(free @ free)
        # If the sigmoid is a combination of the linear terms (two values of x and a line), the rest is rounding noise.
        free = free / length if length > 1e-10 * math.sqrt(column @ column) else np.zeros_like(free)
        along = float(free @ self.rest)
        factor = along / length if along else 0.0
        change = -side * factor * column * expit(side * z)
        return _State(self.rest - along * free, -side * factor * math.exp(-top), change, free)

    def descend(self, start: Curve, tolerance: float, steps: int) -> _End:
        """The local minimum from a start, in the logarithm of the slope and the offset in widths."""
        x = self.cells.x
        first, last = float(x[0]), float(x[-1])
        least, most = _FLATTEST[len(self.basis)] / (last - first), _STEEPEST / (last - first)

        @lru_cache(maxsize=1)
        def at(growth: float, offset: float) -> tuple[Curve, _State]:
            slope = min(max(start.slope * math.exp(min(growth, 100.0)), least), most)
            centre = min(max(start.centre + offset / slope, first - _EDGE / slope), last + _EDGE / slope)
            return Curve(slope, centre), self.at(Curve(slope, centre))

        def residual(unknowns: FloatArray) -> FloatArray:
            return at(*unknowns.tolist())[1].residual

        def jacobian(unknowns: FloatArray) -> FloatArray:
            # Kaufman's approximation (BIT, 1975), which leaves out a term that vanishes with the residual.
            curve, state = at(*unknowns.tolist())
            rows = self.free(np.stack([state.change * curve.slope * (x - start.centre), -state.change]))
            return np.outer(rows @ state.free, state.free) - rows

        # leastsq also computes a covariance, which is not needed and may overflow; without full_output it would warn.
        with np.errstate(over="ignore", invalid="ignore"):
            found = leastsq(
                residual,
                np.zeros(2),
                Dfun=jacobian,
                col_deriv=True,
                full_output=True,
                ftol=tolerance,
                xtol=1e-9,
                maxfev=steps,
                factor=1.0,
                diag=(1.0, 1.0),
            )
        curve, state = at(*found[0].tolist())
        return _End(float(state.residual @ state.residual), curve)


def _peaks(problem: _Problem) -> list[Curve]:
    """The best peaks of a grid over position and width."""
    cells = problem.cells
    quarter, three_quarters = cells.quantiles(np.array([0.25, 0.75]))
    # Outliers may make the bulk of standardised points much narrower than 1.
    bulk = min(float(three_quarters - quarter) or 1.0, 1.0)
    width = bulk / 32 * 2.0 ** np.arange(np.ceil(np.log2(8 * 32 / bulk)) + 1)
    inside = np.repeat(cells.quantiles((np.arange(32) + 0.5) / 32)[:, None], len(width), axis=1)
    away = np.array([6.0, 3.0, 1.0])[:, None] * width
    # An outlier at an end leaves a gap next to the other points, so their end counts too.
    outside = [end - away for end in cells.x[:2]] + [end + away for end in cells.x[-2:]]
    centre = np.sort(np.concatenate([inside, *outside]), axis=0)
    columns = problem.root * expit((cells.x - centre[..., None]) / width[:, None])
    freed = problem.free(columns)
    square = np.einsum("ijk,ijk->ij", freed, freed)
    noise = square <= 1e-18 * np.einsum("ijk,ijk->ij", columns, columns)
    gain = np.where(noise, 0.0, (freed @ problem.rest) ** 2 / np.where(noise, 1.0, square))
    rows, cols = np.nonzero(gain == maximum_filter(gain, 3))
    best = np.argsort(-gain[rows, cols], kind="stable")[:_PEAKS]
    return [
        Curve(1 / float(width[col]), float(centre[row, col])) for row, col in zip(rows[best], cols[best], strict=True)
    ]


def _steps(problem: _Problem, least: float) -> list[Curve]:
    """Narrow curves at the best single step if its gain exceeds `least`.

    They lie between two cells, on either of them, and through the cell where a step with a landing gains most.
    Cumulative sums give the gains at all cells at once. Without these starts, fits of few points, or of many ties, can
    miss the best step.
    """
    x, root = problem.cells.x, problem.root

    def above(values: FloatArray) -> FloatArray:
        """Sums over the cells above each cell."""
        return np.cumsum(values[..., ::-1], axis=-1)[..., ::-1] - values

    def product(one: FloatArray, other: FloatArray) -> FloatArray:
        return np.einsum("ij,ij->j", one, other)

    # Of the step above each cell and of the cell alone: squares and products without the linear terms.
    weight, linear, along = problem.cells.weight, root * problem.basis, root * problem.rest
    high, high_linear, high_along = above(weight), above(linear), above(along)
    square, high_square = weight - product(linear, linear), high - product(high_linear, high_linear)
    both = -product(linear, high_linear)

    def gains(landing: FloatArray) -> FloatArray:
        """Gain of the step above each cell, with the cell at this share of the height."""
        total = high_square + 2 * landing * both + landing**2 * square
        known = total > 1e-9 * high
        return np.where(known, (high_along + landing * along) ** 2 / np.where(known, total, 1.0), 0.0)

    with np.errstate(divide="ignore", invalid="ignore"):
        best = (high_along * both - along * high_square) / (along * both - high_along * square)
    landing = np.clip(np.nan_to_num(best), 0.01, 0.99)
    landed = gains(landing)
    gap, cell = int(gains(np.zeros(len(x))).argmax()), int(landed.argmax())
    if landed[cell] <= least:
        return []
    gaps = np.diff(x)
    slopes = 10 / np.minimum(np.append(gaps, np.inf), np.insert(gaps, 0, np.inf))
    curves = [(2 / gaps[gap], (x[gap] + x[gap + 1]) / 2)]
    curves += [(slopes[one], x[one]) for one in (gap, gap + 1)]
    curves.append((slopes[cell], x[cell] - logit(landing[cell]) / slopes[cell]))
    return [Curve(float(slope), float(centre)) for slope, centre in curves]
