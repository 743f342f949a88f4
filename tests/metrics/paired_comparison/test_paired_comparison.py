import json
import math
from pathlib import Path

import numpy as np
import pytest

import eyechart.metrics
from eyechart.metrics.scoring.errors import SmallSampleWarning, UndefinedScoreWarning

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
    rows = _rows(n=160, rounds=12)
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pool_weights": "images"}, "pool_weights is 'images'; it needs pool_ids"),
        ({"undefined_pools": "zero"}, "undefined_pools is 'zero'; it needs pool_ids"),
    ],
)
def test_bad_input(metric, arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        metric.compute(**(_rows() | arguments))


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
