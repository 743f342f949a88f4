import csv
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.datasets_scripts.common.pairs import draw_coarse, draw_intervals, draw_references, draw_rounds


def images_of(scores: Any, references: Any = None) -> list[dict[str, Any]]:
    references = [None] * len(scores) if references is None else references
    return [
        {"id": str(number), "quality": score, "reference": reference}
        for number, (score, reference) in enumerate(zip(scores, references, strict=True))
    ]


def levels_of(images: list[dict[str, Any]], everyone: list[dict[str, Any]]) -> list[int]:
    """Return how many of `images` are in each of five equally wide levels of the scores of `everyone`."""
    scores = [image["quality"] for image in everyone]
    ends = np.linspace(min(scores), max(scores), 6)[1:-1]
    return np.bincount(np.searchsorted(ends, [image["quality"] for image in images], "right"), minlength=5).tolist()


@settings(max_examples=60, deadline=None)
@given(n_images=st.integers(2, 200), seed=st.integers(0, 2**32 - 1), pairing=st.sampled_from(["random", "released"]))
def test_every_round_is_a_perfect_matching(n_images: int, seed: int, pairing: str) -> None:
    rounds = draw_rounds(n_images, 3, pairing, np.random.default_rng(seed))
    assert rounds == draw_rounds(n_images, 3, pairing, np.random.default_rng(seed))
    for pairs in rounds:
        met = [item for pair in pairs for item in pair]
        assert len(pairs) == n_images // 2 and len(set(met)) == len(met) and set(met) <= set(range(n_images))


def test_each_ordered_pair_is_equally_likely() -> None:
    rounds = draw_rounds(5, 4000, "random", np.random.default_rng(7))
    counts = Counter(pair for pairs in rounds for pair in pairs)
    # 20 ordered pairs, 8,000 draws; the standard deviation of a count is about 19.
    assert len(counts) == 20 and all(abs(count - 400) < 80 for count in counts.values())
    left_over = Counter(10 - sum(map(sum, pairs)) for pairs in rounds)
    assert set(left_over) == set(range(5)) and min(left_over.values()) > 700


@settings(max_examples=60, deadline=None)
@given(n_images=st.integers(10, 300), seed=st.integers(0, 999))
def test_coarse_samples_fill_levels_evenly(n_images: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    images = images_of(rng.beta(4, 2, n_images).tolist())
    size = int(rng.integers(1, n_images + 1))
    drawn = draw_coarse(images, size, rng)
    ids = [int(image["id"]) for image in drawn]
    assert len(drawn) == size and ids == sorted(set(ids))
    counts = np.array(levels_of(drawn, images))
    not_empty = counts[counts < levels_of(images, images)]
    # Levels with images left differ by one at most, and no emptied level has more than they have.
    assert not_empty.size == 0 or (np.ptp(not_empty) <= 1 and counts.max() <= not_empty.min() + 1)


@settings(max_examples=30, deadline=None)
@given(n_images=st.integers(1, 60), seed=st.integers(0, 999))
def test_coarse_samples_repeat_no_reference(n_images: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    images = images_of(rng.normal(size=n_images).tolist(), [f"{one}" for one in rng.integers(0, 12, n_images)])
    references = {image["reference"] for image in images}
    assert sorted(image["reference"] for image in draw_coarse(images, None, rng)) == sorted(references)
    with pytest.raises(UsageError, match=f"sample is {len(references) + 1}, but there are only {len(references)}"):
        draw_coarse(images, len(references) + 1, rng)


def annotations(file: Path, score: str) -> tuple[list[float], list[dict[str, str]]]:
    with open(file, encoding="utf-8", newline="") as text:
        rows = list(csv.DictReader(text))
    return [float(row[score]) for row in rows], rows


@pytest.mark.parametrize(
    ("file", "score", "expected"),
    [
        ("koniq10k_distributions_sets.csv", "MOS", [32] * 5),
        ("uw_SPAQ.txt", "score", [32] * 5),
        ("uw_LIVE_Challenge.txt", "score", [20] * 5),
        ("agiqa3k_data.csv", "mos_quality", [20] * 5),
        # Only 15 of the 39,810 images are in the lowest fifth of the scale.
        ("live_fb_labels_image.csv", "mos", [15, 47, 46, 46, 46]),
    ],
)
def test_coarse_samples_of_real_databases_are_uniform(
    reference: Path, file: str, score: str, expected: list[int]
) -> None:
    scores, _ = annotations(reference / "iqa-annotations" / file, score)
    images = images_of(scores)
    assert levels_of(draw_coarse(images, sum(expected), np.random.default_rng(0)), images) == expected


def test_coarse_samples_have_all_references_of_kadid_and_csiq(reference: Path) -> None:
    scores, rows = annotations(reference / "iqa-annotations" / "uw_KADID-10k.txt", "score")
    kadid = images_of(scores, [row["ref_img_path"] for row in rows])
    drawn = draw_coarse(kadid, None, np.random.default_rng(0))
    assert len(drawn) == 81 and sorted(levels_of(drawn, kadid)) == [16, 16, 16, 16, 17]
    lines = (reference / "iqa-annotations" / "csiq_label.txt").read_text(encoding="utf-8").split()
    csiq = images_of([-float(score) for score in lines[1::2]], [name.split(".")[0] for name in lines[::2]])
    drawn = draw_coarse(csiq, None, np.random.default_rng(0))
    assert len(drawn) == 30 and levels_of(drawn, csiq) == [6] * 5


def test_fine_pools_share_the_reference_and_the_type_or_the_level() -> None:
    rows = ["sea blur 1", "sea blur 2", "sea noise 1", "sea noise 2", "tree blur 1", "tree noise 1", "dog blur 2"]
    names = ("reference", "distortion_type", "distortion_level")
    images = [{"id": str(n), **dict(zip(names, row.split(), strict=True))} for n, row in enumerate(rows)]

    def pools(config: str) -> dict[str, str]:
        found = draw_references(images, config, 3, np.random.default_rng(0))
        return {name: "".join(image["id"] for image in pool) for name, pool in found.items()}

    assert pools("fine_levels") == {"sea.blur": "01", "sea.noise": "23"}
    assert pools("fine_types") == {"sea.1": "02", "sea.2": "13", "tree.1": "45"}


@pytest.mark.parametrize(
    ("score", "interval"),
    [(0, "0_25"), (24.999, "0_25"), (25, "25_50"), (49.999, "25_50"), (50, "50_75"), (75, "75_100"), (100, "75_100")],
)
def test_intervals_include_their_lower_end_and_the_last_one_both(score: float, interval: str) -> None:
    images = images_of([score, score])
    assert draw_intervals(images, "spaq", None, np.random.default_rng(0)) == {f"interval_{interval}": images}
    with pytest.raises(UsageError, match=r"the quality of image '2' is -0\.1, outside its scale, 0 to 1"):
        draw_intervals(images_of([0.5, 1, -0.1]), "csiq", None, np.random.default_rng(0))
