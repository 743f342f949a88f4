"""Shares and means of clustered items and of pairs that share images: statsmodels, SciPy, hand computations."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import ttest_rel
from statsmodels.regression.linear_model import OLS

from eyechart.metrics.scoring.errors import InputError, UndefinedScoreError
from eyechart.metrics.scoring.statistics.dyadic import PairedImages, dyadic_mean_difference, dyadic_share_interval
from eyechart.metrics.scoring.statistics.intervals import Interval, student, wilson_interval, wilson_of_share
from eyechart.metrics.scoring.statistics.paired import mcnemar
from eyechart.metrics.scoring.statistics.shares import (
    RARE,
    Clusters,
    balanced_interval,
    bounded_mean_interval,
    clustered_variance,
    share_interval,
)

ITEMS = st.lists(st.tuples(st.booleans(), st.integers(0, 60)), min_size=1, max_size=200)


def _width(found: Interval) -> float:
    return found.high - found.low


def _drawn(n_clusters: int, size: int, sd: float, seed: int) -> tuple[np.ndarray, Clusters]:
    """Right answers about images, and their clusters; an image's effect has a standard deviation of sd."""
    rng = np.random.default_rng(seed)
    image = np.repeat(np.arange(n_clusters), size)
    right = sd * rng.normal(size=n_clusters)[image] + rng.normal(size=len(image)) > -0.3
    return right, Clusters.of(image.tolist(), len(image))


def test_the_variance_is_that_of_statsmodels() -> None:
    """Which has CR1: for clusters of equal size, CR2 is the same."""
    rng = np.random.default_rng(50)
    groups = rng.permutation(np.repeat(np.arange(50), 2))
    for values in ((rng.random(100) < 0.4).astype(float), rng.normal(size=100)):
        fitted = OLS(values, np.ones(100)).fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)
        assert clustered_variance(values, groups)[0] ** 0.5 == pytest.approx(fitted.bse[0], rel=1e-12)


@pytest.mark.parametrize("sizes", [[3] * 20, [1, 2, 3, 4, 30], [1] * 10 + [7, 9]])
def test_the_variance_and_its_degrees_of_freedom_are_those_of_cr2(sizes: list[int]) -> None:
    """By its definition, residuals times (I - H)^(-1/2) of their cluster, for a regression on a constant."""
    groups, n = np.repeat(np.arange(len(sizes)), sizes), sum(sizes)
    values = np.random.default_rng(1).normal(size=n)
    hat = np.full((n, n), 1 / n)
    rest, columns = np.eye(n) - hat, []
    for number, size in enumerate(sizes):
        own = np.eye(size) - 1 / n
        roots, axes = np.linalg.eigh(own)
        columns.append(rest[:, groups == number] @ (axes / np.sqrt(roots)) @ axes.T @ np.ones(size) / n)
    products = np.stack(columns).T
    gram = products.T @ products
    variance, freedom = clustered_variance(values, groups)
    assert variance == pytest.approx(np.sum((products.T @ values) ** 2))
    assert freedom == pytest.approx(np.trace(gram) ** 2 / np.sum(gram**2))


@pytest.mark.parametrize(("size", "n_right"), [(3, 0), (7, 7), (3, 1), (7, 3), (10, 1)])
def test_clusters_that_are_all_alike_have_no_variance(size: int, n_right: int) -> None:
    """Not even a rounding error, which would make the interval a point."""
    values = np.array(([1.0] * n_right + [0.0] * (size - n_right)) * 60)
    groups = np.repeat(np.arange(60), size)
    assert clustered_variance(values, groups)[0] == 0
    found = share_interval(values, Clusters(groups))
    assert (found.kind, found.units) == ("wilson-clustered", 60)
    bound = (60,) if n_right in (0, size) else (60 * size, student(60))
    assert (found.low, found.high) == pytest.approx(wilson_of_share(n_right / size, *bound))


@given(st.integers(1, 400), st.data())
def test_singletons_have_wilsons_interval(n: int, data: st.DataObject) -> None:
    right = data.draw(st.integers(0, n))
    expected = stats.binomtest(right, n).proportion_ci(method="wilson")
    for clusters in (None, Clusters.of([f"{number}.jpg" for number in range(n)], n)):
        found = share_interval([True] * right + [False] * (n - right), clusters)
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
        assert (found.kind, found.units) == ("wilson", n)


@pytest.mark.parametrize("is_mostly_right", [True, False])
def test_clustered_interval_by_hand(is_mostly_right: bool) -> None:
    right, clusters = _drawn(80, 3, 1.5, 0)
    right = right == is_mostly_right
    share = right.mean()
    sums = [(right[clusters.numbers == number] - share).sum() for number in range(80)]
    variance = 80 / 79 * np.sum(np.square(sums)) / 240**2
    rarer = np.bincount(clusters.numbers, weights=right if share < 0.5 else ~right)
    freedom = min(79, 1.5 * rarer.sum() ** 2 / np.sum(rarer**2) - 1)
    n, t = share * (1 - share) / variance, stats.t.ppf(0.975, freedom)
    centre = (share + t**2 / (2 * n)) / (1 + t**2 / n)
    half = t / (1 + t**2 / n) * math.sqrt(share * (1 - share) / n + t**2 / (4 * n**2))
    found = share_interval(right, clusters)
    assert (found.low, found.high) == pytest.approx((centre - half, centre + half))
    assert (found.kind, found.units) == ("wilson-clustered", 80)
    assert _width(found) > 1.3 * _width(share_interval(right))


@pytest.mark.parametrize(("images", "questions", "correlation"), [(20, 4, 0.3), (20, 10, 0.7)])
def test_few_clusters_are_covered(images: int, questions: int, correlation: float) -> None:
    """In 600 runs; the table in `docs/coverage.md` counts 2,000."""
    rng, hits = np.random.default_rng(1), 0
    numbers = Clusters(np.repeat(np.arange(images), questions))
    size = 1 / correlation - 1 if correlation else 1e9
    for _ in range(600):
        chance = np.repeat(rng.beta(0.7 * size, 0.3 * size, images), questions)
        found = share_interval(rng.random(images * questions) < chance, numbers)
        hits += found.low <= 0.7 <= found.high
    assert 0.92 <= hits / 600 <= 0.985


def test_a_cluster_that_outweighs_the_others_decides_alone() -> None:
    """A thousand questions about one image, and one about each of 30 others."""
    clusters = Clusters.of(["scene"] * 1000 + [f"{number}" for number in range(30)], 1030)
    found = share_interval([True] * 1000 + [False] * 30, clusters)
    assert (found.kind, found.units) == ("wilson-clustered", 31)
    effective = 1030**2 / (1000**2 + 30)
    assert (found.low, found.high) == pytest.approx(wilson_of_share(1000 / 1030, effective))
    assert _width(found) > 0.75


def test_nothing_and_one() -> None:
    nothing = share_interval([])
    assert math.isnan(nothing.low) and math.isnan(nothing.high) and (nothing.kind, nothing.units) == ("none", 0)
    assert share_interval([True]).rounded() == tuple(round(end, 4) for end in wilson_interval(1, 1))


def test_unknown_clusters() -> None:
    """Items whose image was not read count as items of their own, and the kind says so where that is all of them."""
    unread = Clusters.of([None] * 4, 4)
    assert share_interval([True] * 4, unread).kind == "wilson-unread"
    assert share_interval([True] * 4, Clusters.of(None, 4)).kind == "wilson"
    # A column of a table has nan in place of what is not there.
    assert Clusters.of([math.nan, math.nan, np.nan, None], 4).are_known is False
    partly = Clusters.of([None, "a", math.nan, "a"], 4)
    assert (partly.numbers.tolist(), partly.are_known) == ([0, 1, 2, 1], False)
    assert share_interval([True] * 4, partly).units == 3
    assert share_interval([True] * 2, partly.select([0, 1])).kind == "wilson-unread"
    assert Clusters.of(["a", "b"], 2).are_known
    assert partly.select([1, 3]).n_clusters == 1 and unread.select([0]).are_known is False


@given(ITEMS, st.permutations(range(61)), st.randoms(use_true_random=False))
def test_names_and_order_change_nothing(items: list[tuple[bool, int]], names: list[int], random) -> None:
    right, clusters = zip(*items, strict=True)
    expected = share_interval(right, Clusters.of(clusters, len(items)))
    renamed = [f"image {names[one]}" for one in clusters]
    assert share_interval(right, Clusters.of(renamed, len(items))) == expected
    order = list(range(len(items)))
    random.shuffle(order)
    found = share_interval([right[row] for row in order], Clusters.of([clusters[row] for row in order], len(items)))
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert (found.kind, found.units) == (expected.kind, expected.units)


@given(ITEMS)
def test_ends_enclose_the_share(items: list[tuple[bool, int]]) -> None:
    right, clusters = zip(*items, strict=True)
    found = share_interval(right, Clusters.of(clusters, len(items)))
    assert -1e-12 <= found.low <= np.mean(right) + 1e-12 and np.mean(right) - 1e-12 <= found.high <= 1 + 1e-12
    assert _width(found) > 0 and found.units == len(set(clusters))


def test_balanced_interval_of_independent_items() -> None:
    """Zou and Donner's Eq. 6 without correlation, from SciPy's Wilson intervals."""
    own = Clusters.of(None, 50)
    one, other = (stats.binomtest(right, n).proportion_ci(method="wilson") for right, n in ((24, 30), (5, 20)))
    found = balanced_interval(
        [True] * 24 + [False] * 6, [True] * 5 + [False] * 15, own.select(range(30)), own.select(range(30, 50))
    )
    middle = (0.8 + 0.25) / 2
    assert found.low == pytest.approx(middle - math.hypot(0.8 - one.low, 0.25 - other.low) / 2)
    assert found.high == pytest.approx(middle + math.hypot(one.high - 0.8, other.high - 0.25) / 2)
    assert (found.kind, found.units) == ("mean", 50)


def test_a_balanced_share_of_paired_questions() -> None:
    """Two questions about each image, one answered yes and one no: an image's effect widens, a bias never narrows."""
    rng = np.random.default_rng(0)
    image = Clusters(np.arange(100))
    yes = rng.random(100) < 0.5
    together, apart, opposed = (
        balanced_interval(yes, no, image, image if is_shared else Clusters(100 + np.arange(100)))
        for no, is_shared in ((yes, True), (yes, False), (~yes, True))
    )
    assert _width(together) == pytest.approx(_width(share_interval(yes)))
    assert _width(apart) == pytest.approx(_width(together) / math.sqrt(2))
    separate = balanced_interval(yes, ~yes, image, Clusters(100 + np.arange(100)))
    assert (opposed.low, opposed.high) == pytest.approx((separate.low, separate.high))
    assert (together.units, apart.units) == (100, 200)


@pytest.mark.parametrize(("yes", "no"), [([True] * 50, [True] * 50), ([True], [False])])
def test_a_balanced_share_of_pairs_that_tell_nothing_of_their_dependence(yes: list[bool], no: list[bool]) -> None:
    """All right, or one cluster: the ends are then no nearer than if the two were always alike."""
    image = Clusters(np.arange(len(yes)))
    found, one, other = balanced_interval(yes, no, image, image), share_interval(yes), share_interval(no)
    assert found.low == pytest.approx((one.low + other.low) / 2)
    assert found.high == pytest.approx((one.high + other.high) / 2)


def test_a_balanced_share_without_one_side() -> None:
    found = balanced_interval([True], [], Clusters(np.array([3])), Clusters(np.array([], dtype=np.int64)))
    assert math.isnan(found.low) and (found.kind, found.units) == ("none", 1)


@pytest.mark.parametrize(
    ("clusters", "message"),
    [(["a"], "clusters has 1 rows"), ("ab", "it is 'ab'"), (7, "it is 7"), (["a", ["b"]], r"clusters\[1\] is \['b'\]")],
)
def test_bad_clusters(clusters, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Clusters.of(clusters, 2)


def test_independent_numbers_by_hand():
    values = np.random.default_rng(0).choice([1.0, 2.0, 4.5, 5.0], 50)
    parts = (values - 1) / 4
    share, variance = parts.mean(), parts.var(ddof=1) / 50
    rarer = 1 - parts
    freedom = min(49, 1.5 * rarer.sum() ** 2 / np.sum(rarer**2) - 1)
    n, t = share * (1 - share) / variance, stats.t.ppf(0.975, freedom)
    centre = (share + t**2 / (2 * n)) / (1 + t**2 / n)
    half = t / (1 + t**2 / n) * math.sqrt(share * (1 - share) / n + t**2 / (4 * n**2))
    found = bounded_mean_interval(values, (1, 5))
    assert (found.low, found.high) == pytest.approx((1 + 4 * (centre - half), 1 + 4 * (centre + half)))
    assert (found.kind, found.units) == ("wilson", 50)


def test_the_mirrored_numbers_have_the_mirrored_interval():
    values = np.random.default_rng(1).uniform(0, 2, 40)
    found, turned = bounded_mean_interval(values, (0, 2)), bounded_mean_interval(2 - values, (0, 2))
    assert (found.low, found.high) == pytest.approx((2 - turned.high, 2 - turned.low))


def test_numbers_at_the_ends_are_never_wider_than_right_and_wrong_answers():
    values = np.arange(60) < 58
    found, (low, high) = bounded_mean_interval(2 * values, (0, 2)), wilson_of_share(58 / 60, 60)
    assert (found.low, found.high) == pytest.approx((2 * low, 2 * high))


def test_clusters_of_equal_numbers_count_once():
    values = np.random.default_rng(2).choice([0.0, 1.0, 1.5, 2.0], 40)
    alone = bounded_mean_interval(values, (0, 2))
    found = bounded_mean_interval(np.repeat(values, 3), (0, 2), Clusters(np.repeat(np.arange(40), 3)))
    assert (found.low, found.high) == pytest.approx((alone.low, alone.high))
    assert (found.kind, found.units) == ("wilson-clustered", 40)
    unread = bounded_mean_interval(values, (0, 2), Clusters.of([None] * 40, 40))
    assert (unread.low, unread.kind) == (alone.low, "wilson-unread")


@pytest.mark.parametrize("values", [[0.5, 1.0] * 9, [0.1 + 0.2, 0.3] * 15])
def test_a_mean_of_few_or_equal_numbers_has_no_interval(values):
    found = bounded_mean_interval(values, (0, 2))
    assert found.kind == "none" and math.isnan(found.low) and math.isnan(found.high)


@pytest.mark.parametrize(("n", "shares"), [(60, (0.9, 0.06, 0.04)), (500, (0.03, 0.07, 0.9))])
def test_means_near_an_end_are_covered(n, shares):
    """A judge's scores in five rounds, of which four in five repeat the image's own; means 0.14 and 1.87."""
    rng, hits = np.random.default_rng(n), 0
    truth = shares[1] + 2 * shares[2]
    for _ in range(600):
        own, other = rng.choice(3, p=shares, size=(n, 1)), rng.choice(3, p=shares, size=(n, 5))
        found = bounded_mean_interval(np.where(rng.random((n, 5)) < 0.8, own, other).mean(axis=1), (0, 2))
        hits += found.low <= truth <= found.high
    assert 0.92 <= hits / 600 <= 0.98


def pairs_of(n_images: int, rounds: int, rng: np.random.Generator) -> np.ndarray:
    """Every image in one pair of each round, as in 2AFC, Sec. III-B; shape (2, rounds * n_images / 2)."""
    return np.concatenate([rng.permutation(n_images).reshape(2, -1) for _ in range(rounds)], axis=1)


def test_the_variance_is_at_least_that_of_pairs_without_a_common_image() -> None:
    # In a circle of four images with differences of 1 and -1 in turn, what each image has adds up to 0.
    found = dyadic_mean_difference([1, 0, 1, 0], [0, 1, 0, 1], [0, 1, 2, 3], [1, 2, 3, 0])
    # The 97.5 % quantile of Student's t with 3 degrees of freedom, and the variance of four independent pairs.
    assert found.interval == pytest.approx((-3.182446 / 2, 3.182446 / 2), rel=1e-6)


def test_pairs_without_a_common_image_give_the_t_test() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.normal(0.1, 1, 400), rng.normal(0, 1, 400)
    found = dyadic_mean_difference(first, second, range(400), range(400, 800))
    expected = ttest_rel(first, second)
    assert found.p_value == pytest.approx(expected.pvalue, rel=0.02)
    assert found.interval == pytest.approx(tuple(expected.confidence_interval()), rel=0.02)


def test_false_positives_where_images_matter() -> None:
    """Two equally good models that are right about some images and wrong about others, 400 trials."""
    rng = np.random.default_rng(2)
    dyadic, independent = [], []
    for _ in range(400):
        first_ids, second_ids = pairs_of(60, 12, rng)
        right = []
        for _ in range(2):
            skill = rng.normal(size=60)
            right.append(skill[first_ids] + skill[second_ids] + 0.5 * rng.normal(size=360) > 0)
        dyadic.append(dyadic_mean_difference(*right, first_ids.tolist(), second_ids.tolist()).p_value < 0.05)
        independent.append(mcnemar(*right).p_value < 0.05)
    assert 0.02 < np.mean(dyadic) < 0.09
    assert np.mean(independent) > 0.3, "which is why the pairs are not taken for independent"


def test_no_difference_and_a_whole_one() -> None:
    ids = ([0, 1, 2, 3], [1, 2, 3, 0])
    same = dyadic_mean_difference([1, 0, 1, 1], [1, 0, 1, 1], *ids)
    assert (same.difference, same.p_value) == (0.0, 1.0)
    whole = dyadic_mean_difference([1] * 4, [0] * 4, *ids)
    assert (whole.difference, whole.p_value) == (1.0, 2 * 0.5**4)
    assert all(map(math.isnan, (*same.interval, *whole.interval))), "pairs that are all alike do not say how sure it is"


PAIRS = st.lists(
    st.tuples(st.booleans(), st.integers(0, 50), st.integers(0, 50)).filter(lambda pair: pair[1] != pair[2]),
    min_size=1,
    max_size=150,
)


@pytest.mark.parametrize("n_images", [6, 20])
def test_the_variance_is_a_double_sum_over_pairs(n_images: int) -> None:
    """Also where a pair comes twice, which has both images in common and counts once."""
    rng = np.random.default_rng(n_images)
    for _ in range(20):
        first, second = pairs_of(n_images, 5, rng)
        effects = rng.normal(size=n_images)
        values = effects[first] + effects[second] + 0.3 * rng.normal(size=len(first))
        residuals = values - values.mean()
        total, common = 0.0, 0
        for one, pair in enumerate(zip(first, second, strict=True)):
            for other, more in enumerate(zip(first, second, strict=True)):
                if {*pair} & {*more}:
                    total, common = total + residuals[one] * residuals[other], common + 1
        expected = max(total / (1 - common / len(first) ** 2), np.square(residuals).sum()) / len(first) ** 2
        assert PairedImages(first, second, n_images).variance(values) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("bound", [-3, 0, 3])
def test_a_share_by_hand(bound: float) -> None:
    rng = np.random.default_rng(5)
    first, second = pairs_of(60, 12, rng)
    effects = rng.normal(size=60)
    right = effects[first] + effects[second] + rng.normal(size=360) > bound
    rarer = right == (right.mean() < 0.5)
    uses = np.bincount(np.concatenate([first[rarer], second[rarer]]))
    images = 2 * 2 * np.sum(rarer) ** 2 / np.sum(uses**2)
    share, t = right.mean(), stats.t.ppf(0.975, min(59, RARE * images - 1))
    n = share * (1 - share) / PairedImages(first, second, 60).variance(right.astype(float))
    centre = (share + t**2 / (2 * n)) / (1 + t**2 / n)
    half = t / (1 + t**2 / n) * math.sqrt(share * (1 - share) / n + t**2 / (4 * n**2))
    found = dyadic_share_interval(right, first.tolist(), second.tolist())
    assert (found.low, found.high) == pytest.approx((centre - half, centre + half))
    assert (found.kind, found.units) == ("wilson-clustered", 60)


def test_pairs_without_a_common_image_have_wilsons_interval() -> None:
    right = np.random.default_rng(0).random(400) < 0.7
    found = dyadic_share_interval(right, range(400), range(400, 800))
    low, high = wilson_interval(int(right.sum()), 400)
    assert (found.kind, found.units) == ("wilson-clustered", 800)
    assert (found.low, found.high) == pytest.approx((low, high))


def test_no_pairs_and_one() -> None:
    nothing = dyadic_share_interval([], [], [])
    assert math.isnan(nothing.low) and math.isnan(nothing.high) and (nothing.kind, nothing.units) == ("none", 0)
    one = dyadic_share_interval([True], ["a"], ["b"])
    assert (one.low, one.high) == pytest.approx(wilson_interval(1, 1)) and one.units == 2


@given(PAIRS, st.permutations(range(51)), st.randoms(use_true_random=False))
def test_names_order_and_sides_change_nothing(pairs: list[tuple[bool, int, int]], names: list[int], random) -> None:
    right, first, second = zip(*pairs, strict=True)
    expected = dyadic_share_interval(right, first, second)
    changed = [(flag, names[other], names[one]) for flag, one, other in pairs]
    random.shuffle(changed)
    found = dyadic_share_interval(*zip(*changed, strict=True))
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert (found.kind, found.units) == (expected.kind, expected.units)


@given(PAIRS)
def test_never_narrower_than_independent_pairs(pairs: list[tuple[bool, int, int]]) -> None:
    right, first, second = zip(*pairs, strict=True)
    found = dyadic_share_interval(right, first, second)
    low, high = wilson_interval(sum(right), len(right))
    assert found.high - found.low >= high - low - 1e-12
    assert found.low - 1e-12 <= np.mean(right) <= found.high + 1e-12


def test_a_test_needs_three_images() -> None:
    with pytest.raises(UndefinedScoreError, match="at least 3 images; there are 2"):
        dyadic_mean_difference([1], [0], ["a"], ["b"])
    assert dyadic_mean_difference([1, 0, 0], [0] * 3, [0, 1, 2], [1, 2, 0]).difference == pytest.approx(1 / 3)
