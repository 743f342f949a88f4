import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import curve_fit, differential_evolution

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


@given(VALUES)
def test_symmetric_bounded_and_blind_to_scale(pairs: list[tuple[int, int]]) -> None:
    x, y = np.array(pairs, dtype=float).T
    for score in (plcc, srcc, krcc):
        assert -1 <= score(x, y) <= 1
        assert score(x, y) == pytest.approx(score(y, x), abs=1e-12)
        assert score(3 * x + 1, y) == pytest.approx(score(x, y), abs=1e-9)
        assert score(-x, y) == pytest.approx(-score(x, y), abs=1e-9)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_pearson_of_extreme_numbers(scale: float) -> None:
    assert plcc(np.array([1.0, 2.0, 4.0]) * scale, [1, 2, 3]) == pytest.approx(plcc([1, 2, 4], [1, 2, 3]))


@pytest.mark.parametrize("score", [plcc, srcc, krcc, fit_logistic])
def test_undefined(score) -> None:
    with pytest.raises(UndefinedScoreError, match="all 3 predictions are equal"):
        score([1, 1, 1], [1, 2, 3])
    with pytest.raises(UndefinedScoreError, match="all 3 references are equal"):
        score([1, 2, 3], [2, 2, 2])
    with pytest.raises(UndefinedScoreError, match="at least two items"):
        score([1], [1])


@pytest.mark.parametrize("score", [plcc, srcc, krcc])
def test_bad_input(score) -> None:
    with pytest.raises(InputError, match=r"predictions\[1\] is nan"):
        score([1, float("nan")], [1, 2])
    with pytest.raises(InputError, match=r"references\[0\] is inf"):
        score([1, 2], [float("inf"), 2])
    with pytest.raises(InputError, match="references has 3 rows and predictions has 2; row 2"):
        score([1, 2], [1, 2, 3])
    with pytest.raises(InputError, match="predictions is empty"):
        score([], [])
    with pytest.raises(InputError, match=r"one number per row; predictions\[0\] is 'x'"):
        score(["x", "y"], [1, 2])


@pytest.mark.parametrize("parameters", [(90.0, 10.0, 0.3, 0.05), (4.5, 1.2, -3.0, 2.0), (10.0, 90.0, 0.3, 0.05)])
def test_logistic4_recovers_its_parameters(parameters: tuple[float, float, float, float]) -> None:
    _, _, centre, width = parameters
    x = np.linspace(centre - 6 * width, centre + 6 * width, 200)
    y = logistic4(x, *parameters)
    fit = fit_logistic(x, y, "logistic4")
    assert fit.rmse == pytest.approx(0, abs=1e-6 * np.ptp(y))
    assert abs(fit.plcc) == pytest.approx(1)
    assert np.sign(fit.plcc) == np.sign(plcc(x, y))
    assert logistic4(x, *fit.parameters) == pytest.approx(y, abs=1e-6 * np.ptp(y))


def logistic5(x: np.ndarray, b1: float, b2: float, b3: float, b4: float, b5: float) -> np.ndarray:
    """The logistic of Sheikh et al."""
    return b1 * (0.5 - 1 / (1 + np.exp(b2 * (x - b3)))) + b4 * x + b5


def test_logistic5_recovers_a_curve() -> None:
    x = np.linspace(-3, 8, 300)
    y = logistic5(x, 3.0, 1.5, 2.0, 0.4, 5.0)
    fit = fit_logistic(x, y, "logistic5")
    assert fit.rmse < 1e-6
    assert logistic5(x, *fit.parameters) == pytest.approx(y, abs=1e-5)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("sign", [1, -1])
def test_fit_is_at_least_as_good_as_a_global_search(seed: int, sign: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=80)
    y = np.tanh(sign * 2 * x) + rng.normal(size=80)

    def error(b: np.ndarray) -> float:
        return float(np.sum((logistic4(x, *b) - y) ** 2))

    bounds = [(-6, 6), (-6, 6), (-3, 3), (0.02, 5)]
    best = differential_evolution(error, bounds, seed=seed, tol=1e-8, maxiter=300).fun
    fit = fit_logistic(x, y)
    assert fit.rmse**2 * 80 <= best * 1.002
    assert np.sign(fit.plcc) == sign


@pytest.mark.parametrize("name", ["logistic4", "logistic5"])
def test_a_fit_never_lowers_a_clear_correlation(name) -> None:
    rng = np.random.default_rng(1)
    for _ in range(10):
        x = rng.normal(size=200)
        y = x + rng.normal(size=200)
        assert fit_logistic(x, y, name).plcc >= plcc(x, y) - 1e-6
        assert fit_logistic(-x, y, name).plcc <= -plcc(x, y) + 1e-6


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


def test_fit_needs_more_points_than_parameters() -> None:
    with pytest.raises(UndefinedScoreError, match="logistic4 needs at least 5 points; there are 4"):
        fit_logistic([1, 2, 3, 4], [1, 2, 3, 5])


def test_unknown_fit() -> None:
    with pytest.raises(InputError, match="fit is 'logistic3'; allowed: 'logistic4', 'logistic5'"):
        fit_logistic([1, 2], [1, 2], "logistic3")  # type: ignore[arg-type]
