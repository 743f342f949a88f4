"""Correlations and fits against SciPy; no dense search finds a better fit."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import curve_fit, minimize
from scipy.special import expit

from eyechart.metrics.scoring.errors import InputError, UndefinedScoreError
from eyechart.metrics.scoring.quality.correlation import Fit, fit_logistic, krcc, logistic4, plcc, srcc

VALUES = st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=2, max_size=40).filter(
    lambda pairs: len({x for x, _ in pairs}) > 1 and len({y for _, y in pairs}) > 1
)


@given(VALUES)
def test_equal_to_scipy_with_ties(pairs: list[tuple[int, int]]) -> None:
    x, y = np.array(pairs, dtype=float).T
    assert plcc(x, y) == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-12)
    assert srcc(x, y) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
    assert krcc(x, y) == pytest.approx(stats.kendalltau(x, y).statistic, abs=1e-12)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_pearson_of_extreme_numbers(scale: float) -> None:
    assert plcc(np.array([1.0, 2.0, 4.0]) * scale, [1, 2, 3]) == pytest.approx(plcc([1, 2, 4], [1, 2, 3]))


def logistic5(x: np.ndarray, b1: float, b2: float, b3: float, b4: float, b5: float) -> np.ndarray:
    """The logistic of Sheikh et al."""
    return b1 * (0.5 - 1 / (1 + np.exp(b2 * (x - b3)))) + b4 * x + b5


@pytest.mark.parametrize(
    ("name", "curve", "start"),
    [("logistic4", logistic4, [3.0, 1.0, 5.0, 2.0]), ("logistic5", logistic5, [2.0, 0.5, 5.0, 0.1, 2.0])],
)
def test_equal_to_the_optimum_of_curve_fit(name, curve, start: list[float]) -> None:
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 10, size=400)
    y = logistic5(x, 2.0, 1.5, 4.0, 0.1, 2.0) + 0.2 * rng.normal(size=400)
    best, _ = curve_fit(curve, x, y, start, maxfev=10_000)
    fit = fit_logistic(x, y, name)
    assert fit.rmse == pytest.approx(np.sqrt(np.mean((curve(x, *best) - y) ** 2)), rel=1e-9)
    assert fit.mapped == pytest.approx(curve(x, *best), abs=1e-4)
    assert curve(x, *fit.parameters) == pytest.approx(fit.mapped, abs=1e-9)


POINTS = st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=6, max_size=40).filter(
    lambda pairs: len({x for x, _ in pairs}) > 1 and len({y for _, y in pairs}) > 1
)


def _fits(x: np.ndarray, y: np.ndarray) -> list[Fit]:
    return [fit_logistic(x, y, "logistic4"), fit_logistic(x, y, "logistic5")]


@settings(max_examples=25)
@given(POINTS)
def test_a_fifth_parameter_never_loses(pairs: list[tuple[int, int]]) -> None:
    x, y = np.array(pairs, dtype=float).T
    try:
        four, five = _fits(x, y)
    except UndefinedScoreError as error:
        assert "is constant" in str(error)
        return
    assert five.rmse <= four.rmse * (1 + 1e-7) + 1e-7 * y.std()
    assert abs(five.plcc) >= abs(four.plcc) - 1e-7
    # Neither loses to a line, which both contain as a limit, nor to the sign of the plain correlation.
    line = y.std() * (1 - plcc(x, y) ** 2) ** 0.5
    for fit in (four, five):
        assert fit.rmse <= line * (1 + 1e-7) + 1e-5 * y.std()
        assert fit.plcc * plcc(x, y) >= 0


@settings(max_examples=20)
@given(POINTS, st.integers(-300, 300), st.integers(-300, 300), st.sampled_from([-1, 1]), st.sampled_from([-1, 1]))
@example([(0, 0), (0, -1), (0, -1), (2, 0), (3, 0), (-5, 0)], 0, 0, -1, -1)
@example([(0, 0), (0, 0), (-4, 3), (-5, 0), (-5, 4), (6, 1), (6, 2), (6, 9), (-8, 9)], 0, 0, -1, 1)
def test_fits_are_blind_to_scale(pairs: list[tuple[int, int]], a: int, b: int, sign_x: int, sign_y: int) -> None:
    x, y = np.array(pairs, dtype=float).T
    try:
        expected = _fits(x, y)
        found = _fits(sign_x * 10.0**a * (x + 1), sign_y * 10.0**b * (y - 1))
    except UndefinedScoreError as error:
        assert "is constant" in str(error)
        return
    for before, after in zip(expected, found, strict=True):
        assert abs(after.plcc) == pytest.approx(abs(before.plcc), abs=1e-3)
        # Where nothing rises or falls, a fit may do either.
        assert after.plcc * sign_x * sign_y * before.plcc >= 0 or abs(plcc(x, y)) < 1e-6
        assert after.rmse == pytest.approx(10.0**b * before.rmse, rel=1e-3, abs=1e-4 * 10.0**b)


@pytest.mark.parametrize("name", ["logistic4", "logistic5"])
def test_fit_of_steps_and_outliers(name) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=2000)
    step = np.where(x > 0.7, 5.0, 2.0)
    assert fit_logistic(x, step, name).rmse == pytest.approx(0, abs=1e-6)
    assert fit_logistic(-x, step, name).plcc == pytest.approx(-1)
    assert fit_logistic(np.arange(6), [0, 0, 0, 1, 1, 1], name).rmse == pytest.approx(0, abs=1e-6)
    # One far outlier makes the others nearly equal on its scale.
    x[0] = 1e6
    y = np.tanh(x) + 0.1 * rng.normal(size=2000)
    assert fit_logistic(x, y, name).rmse == pytest.approx(0.1, rel=0.05)


@pytest.mark.parametrize("name", ["logistic4", "logistic5"])
def test_fit_of_two_values_is_their_means(name) -> None:
    x, y = np.repeat([0.0, 1.0], 4), np.array([1.0, 2, 3, 4, 3, 4, 5, 6])
    assert fit_logistic(x, y, name).mapped == pytest.approx(np.repeat([2.5, 4.5], 4))
    with pytest.raises(UndefinedScoreError, match=f"the best {name} is constant"):
        fit_logistic(x, [1, 2, 3, 4, 1, 2, 3, 4], name)


@pytest.mark.parametrize(("n", "repeats", "reached"), [(5, 40, 0.74), (160, 20, 0.17)])
def test_a_fit_inflates_small_samples(n: int, repeats: int, reached: float) -> None:
    # The figures of the docstring and of the metrics' cards; their standard errors here are 0.025 and 0.009.
    rng = np.random.default_rng(0)
    found = [abs(fit_logistic(rng.normal(size=n), rng.normal(size=n)).plcc) for _ in range(repeats)]
    assert np.mean(found) == pytest.approx(reached, abs=0.05)


@pytest.mark.parametrize(
    ("x", "y", "error", "message"),
    [
        ([1, 1, 1], [1, 2, 3], UndefinedScoreError, "all 3 predictions are equal"),
        ([1, 2, 3], [2, 2, 2], UndefinedScoreError, "all 3 references are equal"),
        ([1], [1], UndefinedScoreError, "at least two items"),
        ([1, 2], [float("inf"), 2], InputError, r"references\[0\] is inf"),
    ],
)
def test_bad_and_undefined_input(x: list, y: list, error: type[Exception], message: str) -> None:
    for score in (plcc, srcc, krcc, fit_logistic):
        with pytest.raises(error, match=message):
            score(x, y)


def test_fits_that_are_refused() -> None:
    with pytest.raises(UndefinedScoreError, match="logistic4 needs at least 5 points; there are 4"):
        fit_logistic([1, 2, 3, 4], [1, 2, 3, 5])
    with pytest.raises(InputError, match="fit is 'logistic3'; allowed: 'logistic4', 'logistic5'"):
        fit_logistic([1, 2], [1, 2], "logistic3")  # type: ignore[arg-type]


Rng = np.random.Generator
Data = Callable[[Rng], tuple[np.ndarray, np.ndarray]]


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


def _outlier(n: int) -> Data:
    """A steep end, and one point far beyond the other end."""

    def drawn(rng: Rng) -> tuple[np.ndarray, np.ndarray]:
        x = 0.05 * rng.normal(size=n - 1)
        y = np.exp(20 * x) + 0.3 * rng.normal(size=n - 1)
        return np.append(x, -20), np.append(y, rng.normal())

    return drawn


def _heavy(n: int) -> Data:
    return lambda rng: (rng.standard_t(1.5, size=n), rng.normal(size=n))


def _curve(curve: Callable[[np.ndarray], np.ndarray]) -> Data:
    def drawn(rng: Rng) -> tuple[np.ndarray, np.ndarray]:
        x = rng.uniform(-2, 2, 40)
        return x, curve(x) + 0.1 * rng.normal(size=40)

    return drawn


# Seeds of which simpler searches lost.
HARD: list[tuple[Data, int]] = [
    *((_outlier(n), seed) for n, seed in ((8, 39), (12, 72))),
    *((lambda rng, n=n: (rng.normal(size=n), rng.normal(size=n)), seed) for n, seed in ((7, 12), (12, 159))),
    *((_heavy(n), seed) for n, seed in ((7, 96), (8, 154), (40, 5))),
    (_curve(lambda x: 1.0 * (x > -0.7) + 1.2 * (x > 0.8)), 0),
    (_curve(lambda x: np.clip(x, -0.3, 0.2)), 0),
    (_curve(lambda x: np.sin(4 * x)), 31),
    (_curve(lambda x: -np.exp(2 * x)), 0),
    (lambda rng: (rng.integers(-5, 6, 40) * 1.0, rng.normal(size=40)), 0),
]


@pytest.mark.parametrize("fit", ["logistic4", "logistic5"])
@pytest.mark.parametrize(("data", "seed"), HARD)
def test_no_dense_search_finds_a_better_fit(data, seed: int, fit) -> None:
    x, y = data(np.random.default_rng(seed))
    least = _least_error((x - x.mean()) / x.std(), y, fit == "logistic5")
    assert fit_logistic(x, y, fit).rmse <= 1.001 * (least / len(x)) ** 0.5
