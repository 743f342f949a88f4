import numpy as np
import pytest

from eyechart.metrics.scoring.errors import InputError, ScoringWarning
from eyechart.metrics.scoring.items import select_rows
from eyechart.metrics.scoring.pairs.pools import check_pairs
from eyechart.metrics.scoring.pairs.preferences import read_pairs
from eyechart.metrics.scoring.pairs.scores import pair_scores
from eyechart.metrics.scoring.pairs.tables import average_rows, part_scores

NAN = float("nan")


@pytest.fixture
def judged():
    """Two contents under two distortion types, three images each; every pair is right but those of one pool."""
    pools = ["sea.blur", "sea.noise", "road.blur", "road.noise"]
    pairs = [(pool, one, other) for pool in pools for one, other in ((1, 2), (2, 3), (1, 3))]
    first, second = ([f"{pool}.{row[side]}" for pool, *row in pairs] for side in (0, 1))
    columns = check_pairs(
        first, second, [one for _, one, _ in pairs], [other for *_, other in pairs], [p for p, *_ in pairs]
    )
    right = [pool != "road.noise" for pool, *_ in pairs]
    replies = read_pairs(["B"] * 12, ["A" if good else "B" for good in right], columns)
    return replies, columns, [pool.rpartition(".")[2] for pool, *_ in pairs]


def test_a_row_holds_what_the_metric_says_of_its_part(judged) -> None:
    items, pairs, parts = judged
    table = part_scores(items, pairs, parts)
    assert list(table) == ["blur", "noise"]
    rows = [row for row, part in enumerate(parts) if part == "noise"]
    with pytest.warns(ScoringWarning):
        alone = pair_scores(select_rows(items, rows), pairs.select(rows))
    np.testing.assert_equal(table["noise"], {name: alone[name] for name in table["noise"]})
    assert {f"{name}_ci95" for name in alone["intervals"]} <= set(table["noise"])
    assert (table["blur"]["consistency"], table["noise"]["consistency"]) == (1.0, 0.5)
    assert (table["noise"]["n_pairs"], table["noise"]["n_consistent"], table["noise"]["n_images"]) == (6, 3, 6)
    # The pool without a consistent pair has no part in the mean over pools.
    assert table["noise"]["srcc"] == pytest.approx(1)


def test_fine_averages_of_the_paper_are_plain() -> None:
    # 2AFC, Table IV, GPT-4V by distortion type; Table III, consistency and accuracy of mPLUG-Owl by interval.
    types = {"AWGN": 0.815, "JPEG": 0.933, "JP2K": 0.966, "Pink": 0.921, "Blur": 0.894}
    assert average_rows({part: {"plcc_fitted": rho} for part, rho in types.items()})["plcc_fitted"] == pytest.approx(
        0.906, abs=0.0005
    )
    intervals = [(0.417, 0.201), (0.417, 0.194), (0.458, 0.271), (0.382, 0.181)]
    found = average_rows({str(i): {"consistency": k, "accuracy_all": a} for i, (k, a) in enumerate(intervals)})
    assert (found["consistency"], found["accuracy_all"]) == pytest.approx((0.419, 0.212), abs=0.0006)


def test_undefined_rows_are_left_out_and_named() -> None:
    # 2AFC, Table IV, IDEFICS-Instruct by distortion type; the paper counts what is undefined as 0 (0.214).
    rows = {"AWGN": NAN, "JPEG": NAN, "JP2K": 0.700, "Pink": NAN, "Blur": 0.368}
    found = average_rows({part: {"plcc_fitted": rho, "n_pairs": 96} for part, rho in rows.items()})
    assert found["plcc_fitted"] == pytest.approx(0.534)
    assert found["undefined"] == {"plcc_fitted": ["AWGN", "JPEG", "Pink"]}
    assert (found["over"], found["weights"], found["n_pairs"]) == (list(rows), "equal", 480)
    assert average_rows({"JP2K": {"srcc": 0.7}, "Blur": {"srcc": 0.368}})["undefined"] == {}
    nothing = average_rows({"AWGN": {"srcc": NAN}})
    assert np.isnan(nothing["srcc"]) and nothing["undefined"] == {"srcc": ["AWGN"]}


def test_weights_are_numbers_of_images() -> None:
    table = {"CSIQ": {"srcc": 0.5, "n_images": 30}, "SPAQ": {"srcc": 0.8, "n_images": 160}}
    found = average_rows(table, "n_images")
    assert found["srcc"] == pytest.approx((0.5 * 30 + 0.8 * 160) / 190) and found["n_images"] == 190
    assert average_rows(table)["srcc"] == pytest.approx(0.65)


@pytest.mark.parametrize(
    ("table", "weights", "message"),
    [({}, "equal", "table has no rows"), ({"a": {"srcc": 1.0}}, "images", "weights is 'images'")],
)
def test_bad_input(table, weights: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        average_rows(table, weights)


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
    for model, average in enumerate(published):
        rows = {name: {"plcc_fitted": rho[model], "n_images": images} for name, (images, rho) in table.items()}
        # The table's numbers are rounded to three digits, and so is their average.
        assert average_rows(rows, "n_images")["plcc_fitted"] == pytest.approx(average, abs=0.0005 + 1e-9)
