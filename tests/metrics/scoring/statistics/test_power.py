"""Power against simulation, and against tables by hand."""

import math

import numpy as np
import pytest
from scipy import stats

from eyechart.metrics.scoring.statistics.paired import clustered_mean_difference, mcnemar
from eyechart.metrics.scoring.statistics.power import PairedDesign, mcnemar_power
from eyechart.metrics.scoring.statistics.shares import Clusters, clustered_variance

RUNS = 20_000


@pytest.mark.parametrize(("difference", "discordant", "n"), [(0.2, 0.3, 50), (0.03, 0.1, 900), (0.05, 0.4, 1500)])
def test_mcnemars_power_is_that_of_simulated_runs(difference: float, discordant: float, n: int) -> None:
    rng = np.random.default_rng(0)
    sides = ((discordant + difference) / 2, (discordant - difference) / 2)
    first, second, _ = rng.multinomial(n, (*sides, 1 - discordant), RUNS).T
    p_values = np.minimum(1, 2 * stats.binom.cdf(np.minimum(first, second), first + second, 0.5))
    assert mcnemar_power(difference, discordant, n) == pytest.approx(np.mean(p_values <= 0.05), abs=0.01)


def test_by_hand() -> None:
    # Six items tell the models apart, and all must go the same way: 2 / 64 is below 5 %, 2 (1 + 6) / 64 is above.
    assert mcnemar_power(1.0, 1.0, 6) == 1.0
    assert mcnemar_power(0.0, 1.0, 6) == pytest.approx(2 / 64)
    assert mcnemar_power(0.5, 1.0, 6) == pytest.approx(0.75**6 + 0.25**6)
    # Five cannot.
    assert mcnemar_power(1.0, 1.0, 5) == 0.0 and mcnemar_power(0.0, 0.0, 100) == 0.0


@pytest.mark.parametrize("n", [3, 20, 51, 100, 300])
def test_the_power_of_correlations_grows_with_the_difference(n: int) -> None:
    """At every difference, also where SciPy's noncentral t is nan on the side that counts next to nothing."""
    design = PairedDesign(n=n, units=n, variance=float(n))
    found = [design.power(difference, n) for difference in np.arange(0, 12, 0.02)]
    assert np.all(np.diff(found) > -1e-9) and found[0] == pytest.approx(0.05) and found[-1] > 0.94
    least = design.detectable(n)
    assert least is None or design.power(least, n) == pytest.approx(0.8, abs=1e-5)


def test_the_power_of_clusters_is_that_of_simulated_runs() -> None:
    """Three questions an image, of which a model has its own gain; 400 images are planned from what 100 show."""
    rng = np.random.default_rng(2)

    def draw(images: int) -> tuple[np.ndarray, np.ndarray, Clusters]:
        ease = rng.beta(2, 1, images)[:, None]
        gain = rng.choice([-0.2, 0.3], p=[0.45, 0.55], size=images)[:, None]
        first = rng.random((images, 3)) < np.clip(ease + gain, 0, 1)
        second = rng.random((images, 3)) < ease
        return first.ravel(), second.ravel(), Clusters(np.repeat(np.arange(images), 3))

    first, second, clusters = draw(200_000)
    difference = first.astype(float) - second

    independent = np.var(difference) / len(difference)
    effect = clustered_variance(difference, clusters.numbers)[0] / independent
    design = PairedDesign(
        600_000, 200_000, np.var(difference), float(np.mean(first != second)), effect, is_clustered=True
    )
    tests = [clustered_mean_difference(*draw(400)) for _ in range(3000)]
    found = np.mean([test.p_value <= 0.05 for test in tests])
    assert design.power(float(difference.mean()), 1200) == pytest.approx(found, abs=0.02)


@pytest.mark.parametrize("sizes", [[4] * 12, [1] * 30 + [8] * 6, [1] * 60 + [10] * 4])
def test_the_power_of_few_clusters_is_that_of_simulated_runs(sizes: list[int]) -> None:
    """Clusters of equal size, and clusters whose sizes differ."""
    rng = np.random.default_rng(3)
    numbers = np.repeat(np.arange(len(sizes)), sizes)
    clusters, n = Clusters(numbers), len(numbers)
    shares = np.array([0.6, 0.1, 0.3])
    values = np.array([1, -1, 0])
    found = 0
    for _ in range(2000):
        of_cluster, own = rng.choice(3, p=shares, size=len(sizes))[numbers], rng.choice(3, p=shares, size=n)
        drawn = values[np.where(rng.random(n) < 0.5, of_cluster, own)]
        tests = clustered_mean_difference(drawn > 0, drawn < 0, clusters), mcnemar(drawn > 0, drawn < 0)
        found += max(test.p_value for test in tests) <= 0.05
    within = float(np.sum(np.square(sizes)) - n) / n * 0.25
    _, freedom = clustered_variance(np.zeros(n), numbers)
    design = PairedDesign(n, freedom + 1, 0.45, 0.7, 1 + within, is_clustered=True)
    assert design.power(0.5, n) == pytest.approx(found / 2000, abs=0.05)


def test_the_power_of_a_mean_is_that_of_a_t_test() -> None:

    design = PairedDesign(n=30, units=30, variance=4.0)
    bound, shift = stats.t.ppf(0.975, 29), 1.0 / math.sqrt(4 / 30)
    expected = stats.nct.sf(bound, 29, shift) + stats.nct.cdf(-bound, 29, shift)
    assert design.power(1.0, 30) == pytest.approx(expected)
    rng = np.random.default_rng(0)
    draws = rng.normal(1.0, 2.0, (RUNS, 30))
    assert design.power(1.0, 30) == pytest.approx(np.mean(stats.ttest_1samp(draws, 0, axis=1).pvalue <= 0.05), abs=0.01)


@pytest.mark.parametrize(
    "design",
    [
        PairedDesign(500, 500, 0.2, 0.2),
        PairedDesign(500, 100, 0.2, 0.2, 1.7),
        PairedDesign(500, 500, 0.5),
    ],
)
def test_items_needed_and_differences_shown_are_inverse(design: PairedDesign) -> None:
    needed = design.needed(0.06)
    assert needed is not None
    assert design.power(0.06, needed) >= 0.8 > design.power(0.06, needed - 1)
    shown = design.detectable(needed)
    assert shown == pytest.approx(0.06, rel=0.02)
    assert design.needed(0.06, 0.9) > needed > design.needed(0.08)


def test_what_cannot_be_shown() -> None:
    alike = PairedDesign(500, 500, 0.0, 0.0)
    assert alike.detectable(500) is None
    assert PairedDesign(500, 500, 0.2, 0.2).detectable(5) is None
    assert PairedDesign(500, 500, 0.2, 0.2).needed(1e-5) is None
