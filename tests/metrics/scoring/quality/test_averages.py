import pytest

from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.quality.averages import weighted_mean

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
    weights = [images for images, _ in table.values()]
    for model, average in enumerate(published):
        found = weighted_mean([correlations[model] for _, correlations in table.values()], weights)
        # The table's numbers are rounded to three digits, and so is their average.
        assert found == pytest.approx(average, abs=0.0005 + 1e-9)


def test_equal_weights_are_the_plain_mean() -> None:
    assert weighted_mean([0.1, 0.2, 0.6], [7, 7, 7]) == pytest.approx(0.3)
    assert weighted_mean([0.1, 0.9], [0, 1]) == 0.9


@pytest.mark.parametrize(
    ("values", "weights", "message"),
    [
        ([], [], "values is empty"),
        ([1, 2], [1], "weights has 1 rows and values has 2"),
        ([1, 2], [1, -1], r"weights\[1\] is -1; it must not be negative"),
        ([1, 2], [0, 0], "weights are all 0"),
        ([1, float("nan")], [1, 1], r"values\[1\] is nan"),
    ],
)
def test_bad_input(values, weights, message: str) -> None:
    with pytest.raises(InputError, match=message):
        weighted_mean(values, weights)


def test_the_paper_averages_over_undefined_pools_as_zero() -> None:
    # Table IV, IDEFICS-Instruct on CSIQ: it is consistent on no pair of AWGN, JPEG and pink noise (Table III).
    by_type, by_level = [0.0, 0.0, 0.700, 0.0, 0.368], [0.0, 0.0, 0.0, 0.502, 0.366]
    assert weighted_mean(by_type, [1] * 5) == pytest.approx(0.214, abs=0.0005)
    assert weighted_mean(by_level, [1] * 5) == pytest.approx(0.174, abs=0.0005)
