"""Scores of pools of pairs, of parts and rounds of them, and of the module, against SciPy and the paper's tables."""

import json
import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import eyechart.metrics
from eyechart.metrics.scoring.errors import ScoringWarning, SmallSampleWarning, UndefinedScoreWarning
from eyechart.metrics.scoring.inputs import select_rows
from eyechart.metrics.scoring.pair_ranking import map_scores
from eyechart.metrics.scoring.pairs.pools import AGGREGATORS, Pairs, PairSettings, check_pairs
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


@pytest.mark.parametrize("aggregator", AGGREGATORS)
def test_only_settings_that_a_score_depends_on_are_recorded(aggregator: str) -> None:
    found = PairSettings(aggregator=aggregator).applying(pools=False)
    of_one = {"ridge": "mle_ridge", "order_seed": "trueskill"}
    assert {name for name in of_one if name in found} == {name for name, of in of_one.items() if of == aggregator}
    assert "pool_weights" not in found


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


COLUMNS = ("predictions", "reversed_predictions", "first_ids", "second_ids", "first_references", "second_references")


def _rows(n: int = 40, rounds: int = 6, seed: int = 0, noise: float = 0.0, bias: float = 0.0) -> dict:
    """Answers of a judge that sees quality with noise and, with probability `bias`, says "A" whatever it sees."""
    rng = np.random.default_rng(seed)
    quality = rng.permutation(n) + 1.0
    rows: dict[str, list] = {column: [] for column in COLUMNS}
    for _ in range(rounds):
        for one, other in rng.permutation(n)[: n // 2 * 2].reshape(-1, 2).tolist():
            better = quality[one] - quality[other] + noise * rng.normal() > 0
            lazy = rng.random() < bias
            rows["predictions"].append("A" if lazy or better else "B. The second image.")
            rows["reversed_predictions"].append("A" if lazy or not better else "B")
            rows["first_ids"].append(f"{one}.png")
            rows["second_ids"].append(f"{other}.png")
            rows["first_references"].append(quality[one])
            rows["second_references"].append(quality[other])
    return rows


def _pools(*parts: dict) -> dict:
    names = [f"pool {index}" for index, part in enumerate(parts) for _ in part["predictions"]]
    return {column: [value for part in parts for value in part[column]] for column in COLUMNS} | {"pool_ids": names}


@pytest.fixture
def metric():
    return eyechart.metrics.load("paired_comparison")


def test_a_noisy_judge_with_a_position_bias(metric) -> None:
    found = metric.compute(**_rows(noise=8, bias=0.2))
    assert (found["n_pairs"], found["n_images"], len(found["scores"])) == (120, 40, 40)
    assert min(found["scores"].values()) == 0 and max(found["scores"].values()) == 100
    for name in ("consistency", "accuracy_consistent", "accuracy_all", "srcc", "plcc"):
        low, high = found[f"{name}_ci95"]
        assert low < found[name] < high
    assert 0 < found["accuracy_all"] < found["consistency"] < 1
    assert found["first_rate"] > found["second_rate"] and found["draw_rate"] == 0


def test_replies_that_prefer_no_image_are_told_apart(metric) -> None:
    rows = _rows(noise=8)
    n = len(rows["predictions"])
    replies = ["The first image is better than", "<think>Image 1 is better.", "I cannot tell.", "It is hard to say"]
    ends = ["length", "length", "refusal", "stop"]
    rows["predictions"][:4], rows["reversed_predictions"][:4] = replies, ["A", "A", "A", "A"]
    found = metric.compute(
        **rows,
        finish_reasons=[*ends, *["stop"] * (n - 4)],
        reversed_finish_reasons=["length"] + [None] * (n - 1),
        return_items=True,
    )
    share = 1 / (2 * n)
    # The first of the four is cut behind what it prefers.
    assert found["extraction"] == {
        "exact": 1 - 3 * share,
        **dict.fromkeys(("declared", "judge", "random"), 0),
        "unmatched": 3 * share,
        "cut_off": 0,
        "unfinished_reasoning": share,
        "refused": share,
        "unparseable": share,
    }
    assert found["draw_rate"] == found["extraction"]["unmatched"] and found["unmatched"] == 3
    assert found["items"]["step"][:5] == ["exact", "unfinished_reasoning", "refused", "unparseable", "exact"]
    assert set(found["items"]["reversed_step"]) == {"exact"}


def test_a_judge_who_knows(metric) -> None:
    rows = _rows(n=100, rounds=12)
    found = metric.compute(**rows)
    assert found["consistency"] == found["accuracy_consistent"] == found["accuracy_all"] == 1.0
    assert found["first_rate"] == found["second_rate"] == 0.5
    assert found["srcc"] > 0.96 and found["plcc"] > 0.96 and found["plcc_fitted"] >= found["plcc"]
    opposite = rows | {"predictions": rows["reversed_predictions"], "reversed_predictions": rows["predictions"]}
    found = metric.compute(**opposite)
    assert found["consistency"] == 1 and found["accuracy_all"] == 0
    # A fit would hide the sign.
    assert found["srcc"] < -0.96 and found["plcc_fitted"] < -0.96


def test_pools_are_ranked_apart(metric) -> None:
    parts = [_rows(noise=8), _rows(n=60, seed=1, noise=8), _rows(seed=2, noise=8)]
    found = metric.compute(**_pools(*parts))
    assert (found["n_pools"], found["n_undefined_pools"], found["n_images"]) == (3, 0, 140)
    alone = [metric.compute(**part) for part in parts]
    for pool, scores in zip(found["by_pool"].values(), alone, strict=True):
        # The draws of the bootstrap depend on the pool's name.
        for name in set(pool) - {"srcc_ci95", "plcc_ci95"}:
            assert pool[name] == scores[name]
    assert found["scores"] == {f"pool {index}": scores["scores"] for index, scores in enumerate(alone)}
    for name in ("srcc", "plcc", "krcc", "plcc_fitted"):
        assert found[name] == pytest.approx(np.mean([scores[name] for scores in alone]))
    for name in ("srcc", "plcc"):
        assert found[f"{name}_ci95"][0] < found[name] < found[f"{name}_ci95"][1]
        widths = [np.ptp(pool[f"{name}_ci95"]) for pool in found["by_pool"].values()]
        assert np.ptp(found[f"{name}_ci95"]) < min(widths)


def test_undefined_pools_are_left_out_or_zero(metric) -> None:
    silent = _rows() | {"predictions": ["A"] * 120, "reversed_predictions": ["A"] * 120}
    rows = _pools(_rows(noise=8), silent, _rows(seed=2, noise=8))
    with pytest.warns(
        UndefinedScoreWarning, match="1 of 3 pools left out of the mean; pool 1: nan for scores, srcc, .*no pair"
    ):
        found = metric.compute(**rows)
    pools = found["by_pool"]
    assert found["n_undefined_pools"] == 1 and math.isnan(pools["pool 1"]["srcc"])
    assert all(map(math.isnan, found["scores"]["pool 1"].values())) and len(found["scores"]["pool 1"]) == 40
    assert found["srcc"] == pytest.approx((pools["pool 0"]["srcc"] + pools["pool 2"]["srcc"]) / 2)
    with pytest.warns(UndefinedScoreWarning, match="1 of 3 pools counted as 0 in the mean"):
        zero = metric.compute(**rows, undefined_pools="zero")
    for name in ("srcc", "plcc", "krcc", "plcc_fitted"):
        assert zero[name] == pytest.approx(found[name] * 2 / 3)
    assert zero["srcc_ci95"] == pytest.approx([end * 2 / 3 for end in found["srcc_ci95"]])
    assert zero["consistency"] == found["consistency"] == pytest.approx(2 / 3)


@pytest.mark.parametrize("argument", [{"pool_weights": "images"}, {"undefined_pools": "zero"}])
def test_settings_of_pools_need_pools(metric, argument: dict) -> None:
    with pytest.raises(ValueError, match=f"^{next(iter(argument))} is .* it needs pool_ids"):
        metric.compute(**(_rows() | argument))


def test_released_keys_of_csiq(metric, reference: Path) -> None:
    """A judge that knows the scores, on the released fine-grained keys of CSIQ: 20 keys of 5 images, in DMOS."""
    keys = json.loads((reference / "two-afc" / "Fine_grained_CSIQ_levels.json").read_text())
    rows: dict[str, list] = {column: [] for column in (*COLUMNS, "pool_ids")}
    for key, images in keys.items():
        quality = {image["img_path"]: -float(image["gt_score"]) for image in images}
        names = list(quality)
        for repeat in range(12):
            order = np.random.RandomState(1234 + repeat).permutation(len(names))
            one, other = names[order[0]], names[order[1]]
            first = quality[one] > quality[other]
            values = ("A" if first else "B", "B" if first else "A", one, other, quality[one], quality[other], key)
            for column, value in zip(rows, values, strict=True):
                rows[column].append(value)
    with pytest.warns(SmallSampleWarning, match="20 of 20 pools: with n=5 images, the fit inflates"):
        found = metric.compute(**rows, resamples=10)
    assert (found["n_pools"], found["n_images"], found["consistency"]) == (20, 100, 1.0)
    assert found["srcc"] > 0.9 and found["plcc_fitted"] > 0.9
