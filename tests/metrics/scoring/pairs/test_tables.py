import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from eyechart.metrics.scoring.errors import ScoringWarning, SmallSampleWarning
from eyechart.metrics.scoring.inputs import select_rows
from eyechart.metrics.scoring.pair_ranking import map_scores
from eyechart.metrics.scoring.pairs.pools import Pairs, PairSettings, check_pairs
from eyechart.metrics.scoring.pairs.preferences import read_pairs, winners
from eyechart.metrics.scoring.pairs.scores import mean_over_pools, pair_scores, resampled_mean
from eyechart.metrics.scoring.pairs.tables import average_rows, convergence, part_scores, score_limit
from eyechart.metrics.scoring.statistics.bootstrap import bootstrap_correlations, part_generator

NAN = float("nan")
DEFAULT = PairSettings()


@pytest.mark.parametrize("undefined", ["leave_out", "zero"])
@pytest.mark.parametrize("weights", ["equal", "images"])
def test_a_replicate_is_the_mean_over_the_pools_drawn(weights: str, undefined: str) -> None:
    settings = PairSettings(pool_weights=weights, undefined_pools=undefined, resamples=200)
    values, sizes = np.array([0.25, NAN, -0.5]), np.array([2, 30, 160])
    drawn = part_generator(settings.seed, "pools").integers(0, 3, (200, 3))
    alone = [mean_over_pools(values[pools], sizes[pools], settings) for pools in drawn]
    mean, replicates, units = resampled_mean(values.tolist(), [], sizes.tolist(), settings)
    np.testing.assert_allclose(replicates, alone, rtol=1e-15)
    assert np.isnan(replicates).any() == (undefined == "leave_out")
    assert (mean, units) == (mean_over_pools(values, sizes, settings), 3)


def test_images_of_small_pools_are_not_resampled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Complete pools are resampled; else thousands of pools would take minutes."""
    sizes = []

    def resampled(predictions: np.ndarray, *args: object) -> np.ndarray:
        sizes.append(len(predictions))
        return bootstrap_correlations(predictions, *args)

    monkeypatch.setattr("eyechart.metrics.scoring.quality.scores.bootstrap_correlations", resampled)
    rows = [(size, i) for size in (5, 19, 20) for i in range(1, size)]
    first, second = [f"{size}-{i}" for size, i in rows], [f"{size}-{i - 1}" for size, i in rows]
    numbers = [i for _, i in rows]
    pairs = check_pairs(first, second, numbers, [i - 1 for i in numbers], [size for size, _ in rows])
    with pytest.warns(SmallSampleWarning):
        scores = pair_scores(read_pairs(["A"] * len(rows), ["B"] * len(rows), pairs), pairs)
    assert sizes == [20] and scores["intervals"]["srcc"]["units"] == 3


def test_a_row_of_a_table_has_the_scores_of_its_part() -> None:
    # Two contents under two distortion types, three images each; every pair is right except those of one pool.
    pools = ["sea.blur", "sea.noise", "road.blur", "road.noise"]
    rows = [(pool, one, other) for pool in pools for one, other in ((1, 2), (2, 3), (1, 3))]
    first, second = ([f"{pool}.{row[side]}" for pool, *row in rows] for side in (0, 1))
    pairs = check_pairs(
        first, second, [one for _, one, _ in rows], [other for *_, other in rows], [pool for pool, *_ in rows]
    )
    items = read_pairs(["B"] * 12, ["B" if pool == "road.noise" else "A" for pool, *_ in rows], pairs)
    parts = [pool.rpartition(".")[2] for pool, *_ in rows]
    table = part_scores(items, pairs, parts, DEFAULT)
    assert list(table) == ["blur", "noise"]
    noisy = [row for row, part in enumerate(parts) if part == "noise"]
    with pytest.warns(ScoringWarning):
        alone = pair_scores(select_rows(items, noisy), pairs.select(noisy))
    np.testing.assert_equal(table["noise"], {name: alone[name] for name in table["noise"]})
    assert {f"{name}_ci95" for name in alone["intervals"]} <= set(table["noise"])
    assert (table["blur"]["consistency"], table["noise"]["consistency"]) == (1.0, 0.5)
    assert (table["noise"]["n_pairs"], table["noise"]["n_consistent"], table["noise"]["n_images"]) == (6, 3, 6)
    # The pool without a consistent pair has no part in the mean over pools.
    assert table["noise"]["srcc"] == pytest.approx(1)


def test_fine_averages_of_the_paper_are_plain() -> None:
    # 2AFC, Table IV, GPT-4V by distortion type; Table III, consistency and accuracy of mPLUG-Owl by interval.
    types = {"AWGN": 0.815, "JPEG": 0.933, "JP2K": 0.966, "Pink": 0.921, "Blur": 0.894}
    average = average_rows({part: {"plcc_fitted": rho} for part, rho in types.items()})
    assert average["plcc_fitted"] == pytest.approx(0.906, abs=0.0005) and average["undefined"] == {}
    intervals = [(0.417, 0.201), (0.417, 0.194), (0.458, 0.271), (0.382, 0.181)]
    average = average_rows({str(i): {"consistency": k, "accuracy_all": a} for i, (k, a) in enumerate(intervals)})
    assert (average["consistency"], average["accuracy_all"]) == pytest.approx((0.419, 0.212), abs=0.0006)


def test_undefined_rows_are_left_out_and_named() -> None:
    # 2AFC, Table IV, IDEFICS-Instruct by distortion type; the paper counts what is undefined as 0 (0.214).
    rows = {"AWGN": NAN, "JPEG": NAN, "JP2K": 0.700, "Pink": NAN, "Blur": 0.368}
    average = average_rows({part: {"plcc_fitted": rho, "n_pairs": 96} for part, rho in rows.items()})
    assert average["plcc_fitted"] == pytest.approx(0.534)
    assert average["undefined"] == {"plcc_fitted": ["AWGN", "JPEG", "Pink"]}
    assert (average["over"], average["weights"], average["n_pairs"]) == (list(rows), "equal", 480)
    nothing = average_rows({"AWGN": {"srcc": NAN}})
    assert np.isnan(nothing["srcc"]) and nothing["undefined"] == {"srcc": ["AWGN"]}


# 2AFC, Table II: rho of IDEFICS-Instruct, mPLUG-Owl, XComposer-VL, Q-Instruct and GPT-4V; Table I: sampled images.
COARSE = {
    "CSIQ": (30, [0.670, 0.649, 0.489, 0.650, 0.764]),
    "KADID-10k": (81, [0.552, 0.399, 0.517, 0.466, 0.560]),
    "MM21": (129, [0.338, 0.319, 0.411, 0.392, 0.474]),
    "CLIVE": (100, [0.492, 0.444, 0.489, 0.432, 0.785]),
    "KonIQ-10k": (160, [0.479, 0.448, 0.463, 0.512, 0.800]),
    "SPAQ": (160, [0.474, 0.326, 0.457, 0.397, 0.876]),
}
UNSEEN = {
    "KADIS-700k": (100, [0.635, 0.612, 0.596, 0.658, 0.674]),
    "SQAD": (100, [0.746, 0.618, 0.690, 0.642, 0.742]),
    "Mixed": (200, [0.567, 0.503, 0.500, 0.503, 0.678]),
}


@pytest.mark.parametrize(
    ("table", "published"),
    [(COARSE, [0.470, 0.396, 0.463, 0.449, 0.721]), (UNSEEN, [0.629, 0.559, 0.572, 0.576, 0.693])],
    ids=["coarse", "unseen"],
)
def test_weighted_averages_of_the_paper(table: dict[str, tuple[int, list[float]]], published: list[float]) -> None:
    for model, expected in enumerate(published):
        rows = {name: {"plcc_fitted": rho[model], "n_images": images} for name, (images, rho) in table.items()}
        average = average_rows(rows, "n_images")
        # The table's numbers are rounded to three digits, and so is their average.
        assert average["plcc_fitted"] == pytest.approx(expected, abs=0.0005 + 1e-9)
        assert average["n_images"] == sum(images for images, _ in table.values())


class Drawn:
    """Rounds of random pairs of images of random quality, and noisy scores of the images."""

    def __init__(self, quality: np.ndarray, rounds: int, noise: float, seed: int) -> None:
        rng, n = np.random.default_rng(seed), len(quality)
        self.quality, self.scores = quality, quality + noise * rng.standard_normal(n)
        self.first, self.second = np.concatenate([rng.permutation(n).reshape(-1, 2) for _ in range(rounds)]).T
        self.rounds = np.repeat(np.arange(rounds), n // 2).tolist()
        self.pairs = self.judged_by(quality)

    def judged_by(self, scores: np.ndarray) -> Pairs:
        sides = self.first, self.second
        return check_pairs(*([f"i{i}" for i in side] for side in sides), *(scores[side] for side in sides))

    def curve(self, scores: np.ndarray) -> list[dict]:
        """The curve of a judge that prefers the image with the higher score."""
        return convergence(self.judged_by(scores).better, self.pairs, self.rounds, DEFAULT)


@pytest.fixture(scope="module")
def drawn() -> Drawn:
    return Drawn(np.random.default_rng(0).random(40), rounds=12, noise=0.3, seed=1)


@pytest.mark.parametrize("count", [1, 12])
def test_the_curve_is_that_of_the_first_rounds_alone(drawn: Drawn, count: int) -> None:
    point, rows = drawn.curve(drawn.scores)[count - 1], slice(20 * count)
    first, second = drawn.first[rows], drawn.second[rows]
    wins = drawn.scores[first] > drawn.scores[second]
    # Images that did equally well differ by rounding errors alone.
    ranking = np.round(map_scores(np.where(wins, first, second), np.where(wins, second, first), 40), 9)
    assert (point["rounds"], point["n_pairs"], point["n_images"]) == (count, 20 * count, 40)
    assert point["srcc"] == pytest.approx(stats.spearmanr(ranking, drawn.quality)[0])
    assert point["plcc"] == pytest.approx(stats.pearsonr(ranking, drawn.quality)[0])


@pytest.mark.parametrize("settings", [PairSettings("trueskill"), PairSettings("mle_ridge", ridge=100.0)])
def test_the_curve_ends_at_the_score_of_all_rounds(drawn: Drawn, settings: PairSettings) -> None:
    better = drawn.scores[drawn.first] > drawn.scores[drawn.second]
    items = read_pairs(*(["A" if is_first else "B" for is_first in side] for side in (better, ~better)), drawn.pairs)
    whole = pair_scores(items, drawn.pairs, settings)
    end = convergence(winners(items), drawn.pairs, drawn.rounds, settings)[-1]
    assert {name: end[name] for name in end if name != "rounds"} == {name: whole[name] for name in end if name in whole}


def test_the_limit_of_the_curve_is_that_of_the_scores_themselves(drawn: Drawn) -> None:
    limit = score_limit({f"i{i}": score for i, score in enumerate(drawn.scores)}, drawn.pairs, DEFAULT)
    assert limit["srcc"] == pytest.approx(stats.spearmanr(drawn.scores, drawn.quality)[0])
    assert limit["plcc"] == pytest.approx(stats.pearsonr(drawn.scores, drawn.quality)[0])
    assert limit["n_images"] == 40


def test_rounds_are_counted_in_order_and_may_be_undefined() -> None:
    pairs = check_pairs(["a", "c", "a"], ["b", "d", "c"], [1, 3, 1], [2, 4, 3])
    preferred = winners(read_pairs(["A", "?", "B"], ["A", "?", "A"], pairs))
    curve = convergence(preferred, pairs, [4, 4, 7], DEFAULT)
    assert [(part["rounds"], part["n_pairs"], part["n_images"]) for part in curve] == [(1, 2, 4), (2, 3, 4)]
    assert np.isnan(curve[0]["srcc"]) and np.isfinite(curve[1]["srcc"])


def test_spaq_converges_within_twelve_rounds_as_in_the_paper(reference: Path) -> None:
    # Fig. 3: the judge by opinion scores on SPAQ (N = 160) is close to 1 after twelve rounds.
    images = json.loads((reference / "two-afc" / "Coarse_grained_mixed.json").read_text())["spaq"]
    quality = np.array([float(image["gt_score"]) for image in images])
    curve = Drawn(quality, rounds=12, noise=0, seed=0).curve(quality)
    assert [part["n_pairs"] for part in curve] == [80 * count for count in range(1, 13)]
    assert curve[0]["plcc"] < 0.7 and curve[-1]["plcc"] > 0.94
    assert all(later["plcc"] > earlier["plcc"] - 0.01 for earlier, later in pairwise(curve))
