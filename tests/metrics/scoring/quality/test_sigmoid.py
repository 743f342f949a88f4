"""No dense search finds a better fit."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from eyechart.metrics.scoring.quality.correlation import fit_logistic

Rng = np.random.Generator


def _least_error(x: np.ndarray, y: np.ndarray, line: bool) -> float:
    """The least squared error over a dense grid of curves around every point; the best ten are polished."""
    basis = np.linalg.qr(np.column_stack([np.ones_like(x), x][: 1 + line]))[0]
    rest = y - basis @ (basis.T @ y)

    def errors(slope: np.ndarray, centre: np.ndarray) -> np.ndarray:
        sigmoid = expit(np.expand_dims(slope, -1) * (x - np.expand_dims(centre, -1)))
        free = sigmoid - sigmoid @ basis @ basis.T
        square = np.einsum("...i,...i", free, free)
        return rest @ rest - np.where(square > 1e-16, (free @ rest) ** 2 / np.maximum(square, 1e-16), 0)

    def polished(slope: float, centre: float) -> float:
        def error(moved: np.ndarray) -> float:
            return float(errors(slope * np.exp(np.clip(moved[0], -20, 20)), centre + moved[1] / slope))

        options = {"xatol": 1e-7, "fatol": 1e-12, "initial_simplex": [[0, 0], [0.3, 0], [0, 0.3]]}
        return float(minimize(error, [0, 0], method="Nelder-Mead", options=options).fun)

    slopes, offsets = np.meshgrid(np.geomspace(0.5, 1e5, 50) / np.ptp(x), np.linspace(-8, 8, 33))
    found = []
    for point in np.unique(x):
        at = errors(slopes, point + offsets / slopes)
        best = np.unravel_index(at.argmin(), at.shape)
        found.append((at[best], slopes[best], point + offsets[best] / slopes[best]))
    return min(polished(*curve) for _, *curve in sorted(found)[:10])


def _steep(rng: Rng) -> tuple[np.ndarray, np.ndarray]:
    x = rng.uniform(-2, 2, 40)
    return x, (x > 0.4) + 0.1 * x + 0.1 * rng.normal(size=40)


def _stairs(rng: Rng) -> tuple[np.ndarray, np.ndarray]:
    x = rng.normal(size=40)
    return x, 1.0 * (x > -0.7) + 1.2 * (x > 0.8) + 0.1 * rng.normal(size=40)


def _plateau(rng: Rng) -> tuple[np.ndarray, np.ndarray]:
    x = rng.uniform(-2, 2, 40)
    return x, np.clip(x, -0.3, 0.2) + 0.05 * rng.normal(size=40)


def _wave(rng: Rng) -> tuple[np.ndarray, np.ndarray]:
    x = rng.uniform(-2, 2, 40)
    return x, np.sin(4 * x) + 0.3 * rng.normal(size=40)


def _falling(rng: Rng) -> tuple[np.ndarray, np.ndarray]:
    x = rng.normal(size=40)
    return x, -np.exp(2 * x) + 0.1 * rng.normal(size=40)


def _ties(rng: Rng) -> tuple[np.ndarray, np.ndarray]:
    return rng.integers(-5, 6, 40) * 1.0, rng.normal(size=40)


def _noise(n: int) -> Callable[[Rng], tuple[np.ndarray, np.ndarray]]:
    return lambda rng: (rng.normal(size=n), rng.normal(size=n))


def _outlier(n: int) -> Callable[[Rng], tuple[np.ndarray, np.ndarray]]:
    """A steep end, and one point far beyond the other end."""

    def draw(rng: Rng) -> tuple[np.ndarray, np.ndarray]:
        x = 0.05 * rng.normal(size=n - 1)
        y = np.exp(20 * x) + 0.3 * rng.normal(size=n - 1)
        return np.append(x, -20), np.append(y, rng.normal())

    return draw


def _outliers(n: int) -> Callable[[Rng], tuple[np.ndarray, np.ndarray]]:
    return lambda rng: (rng.standard_t(1.5, size=n), rng.normal(size=n))


@pytest.mark.parametrize("fit", ["logistic4", "logistic5"])
@pytest.mark.parametrize(
    ("data", "seed"),
    [
        *((data, 0) for data in (_steep, _stairs, _plateau, _falling, _ties)),
        *((_wave, seed) for seed in (20, 31)),
        *((_outlier(8), seed) for seed in (39, 56)),
        *((_outlier(12), seed) for seed in (24, 35, 72)),
        *((_noise(7), seed) for seed in (12, 105)),
        *((_noise(10), seed) for seed in (140, 155)),
        *((_noise(12), seed) for seed in (11, 159)),
        (_noise(40), 99),
        *((_outliers(7), seed) for seed in (96, 191)),
        *((_outliers(8), seed) for seed in (97, 154, 210, 450)),
        *((_outliers(12), seed) for seed in (50, 223)),
        *((_outliers(40), seed) for seed in (5, 80)),
    ],
)
def test_no_dense_search_finds_a_better_fit(data, seed: int, fit) -> None:
    x, y = data(np.random.default_rng(seed))
    least = _least_error((x - x.mean()) / x.std(), y, fit == "logistic5")
    assert fit_logistic(x, y, fit).rmse <= 1.001 * (least / len(x)) ** 0.5
