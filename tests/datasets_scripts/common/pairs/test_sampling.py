import csv
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.datasets_scripts.common.pairs.sampling import coarse_sample, draw, quality_levels, rescale
from eyechart.datasets_scripts.common.quality.image_statistics import colorfulness, spatial_information


def counts_of(levels: np.ndarray, chosen: list[int]) -> list[int]:
    return np.bincount(levels[chosen], minlength=5).tolist()


def test_rescaling_is_linear_and_knows_its_ends() -> None:
    assert rescale([0.25, 1], 0, 1) == [25, 100]
    with pytest.raises(UsageError, match=r"scores\[1\] is 5.5, outside the scale 1 to 5"):
        rescale([1, 5.5], 1, 5)
    with pytest.raises(UsageError, match="two increasing numbers, found 5 and 1"):
        rescale([3], 5, 1)
    with pytest.raises(UsageError, match="outside"):
        rescale([float("nan")], 0, 1)


def test_levels_are_equally_wide() -> None:
    assert quality_levels(range(11)).tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4]
    assert quality_levels([3, 3]).tolist() == [0, 0]
    assert quality_levels([]).tolist() == []


@settings(max_examples=60, deadline=None)
@given(data=st.data(), n_images=st.integers(1, 60), seed=st.integers(0, 999))
def test_samples_are_as_large_as_asked_for_and_repeat_no_content(data: st.DataObject, n_images: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores, contents = rng.normal(size=n_images).tolist(), rng.integers(0, 12, n_images).tolist()
    per_content = data.draw(st.integers(1, 3))
    possible = sum(min(count, per_content) for count in Counter(contents).values())
    size = data.draw(st.integers(1, possible))
    settings_ = {"contents": contents, "attributes": rng.normal(size=(n_images, 2)), "per_content": per_content}
    chosen = coarse_sample(scores, size, np.random.default_rng(seed), **settings_)
    assert chosen == sorted(set(chosen)) and len(chosen) == size
    assert max(Counter(contents[image] for image in chosen).values()) <= per_content
    assert chosen == coarse_sample(scores, size, np.random.default_rng(seed), **settings_)
    with pytest.raises(UsageError, match=rf"size is {possible + 1}; .* 1 to {possible} "):
        coarse_sample(scores, possible + 1, rng, **settings_)


@settings(max_examples=30, deadline=None)
@given(n_images=st.integers(10, 300), seed=st.integers(0, 999))
def test_levels_are_filled_evenly_until_they_are_empty(n_images: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.beta(4, 2, n_images)
    levels = quality_levels(scores)
    size = int(rng.integers(1, n_images + 1))
    drawn = np.bincount(levels[coarse_sample(scores, size, rng)], minlength=5)
    present = np.bincount(levels, minlength=5)
    not_empty = drawn[drawn < present]
    # Levels with images left differ by one at most, and no emptied level holds more than they do.
    assert not_empty.size == 0 or np.ptp(not_empty) <= 1
    assert not_empty.size == 0 or drawn.max() <= not_empty.min() + 1


def test_attributes_are_balanced_although_they_go_with_the_score() -> None:
    rng = np.random.default_rng(0)
    scores = rng.uniform(0, 100, 2000)
    attributes = np.column_stack([scores + rng.normal(0, 40, 2000), rng.lognormal(size=2000)])
    fifths = [quality_levels(np.argsort(np.argsort(column))) for column in attributes.T]
    spread = {}
    for balanced in (False, True):
        chosen = coarse_sample(scores, 100, np.random.default_rng(1), attributes=attributes if balanced else None)
        assert counts_of(quality_levels(scores), chosen) == [20] * 5
        spread[balanced] = [np.ptp(counts_of(column, chosen)) for column in fifths]
    assert max(spread[True]) <= 2 and min(spread[False]) >= 5


def test_an_empty_sample() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(UsageError, match=r"size is 0; expected 1 to 2 "):
        coarse_sample([1, 2], 0, rng)


def test_drawing_keeps_the_order() -> None:
    rng = np.random.default_rng(3)
    assert draw("abc", 9, rng) == ["a", "b", "c"]
    drawn = [tuple(draw("abcd", 2, rng)) for _ in range(600)]
    assert set(drawn) == {("a", "b"), ("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d")}
    assert min(Counter(drawn).values()) > 60


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
def test_realistic_databases_give_uniform_levels(reference: Path, file: str, score: str, expected: list[int]) -> None:
    scores, _ = annotations(reference / "iqa-annotations" / file, score)
    attributes = np.random.default_rng(5).lognormal(size=(len(scores), 2))
    chosen = coarse_sample(scores, sum(expected), np.random.default_rng(0), attributes=attributes)
    assert counts_of(quality_levels(scores), chosen) == expected
    for column in attributes.T:
        fifths = np.searchsorted(np.sort(column), column) * 5 // len(scores)
        assert np.ptp(counts_of(fifths, chosen)) <= len(chosen) // 25


def test_kadid_gives_one_image_of_each_of_its_81_references(reference: Path) -> None:
    scores, rows = annotations(reference / "iqa-annotations" / "uw_KADID-10k.txt", "score")
    contents = [row["ref_img_path"] for row in rows]
    chosen = coarse_sample(scores, 81, np.random.default_rng(0), contents=contents)
    assert len({contents[image] for image in chosen}) == 81
    assert sorted(counts_of(quality_levels(scores), chosen)) == [16, 16, 16, 16, 17]


def test_csiq_gives_one_image_of_each_of_its_30_references(reference: Path) -> None:
    lines = (reference / "iqa-annotations" / "csiq_label.txt").read_text(encoding="utf-8").split("\n")
    rows = [line.split() for line in lines if line]
    scores, contents = [-float(score) for _, score in rows], [name.split(".")[0] for name, _ in rows]
    chosen = coarse_sample(scores, 30, np.random.default_rng(0), contents=contents)
    assert len({contents[image] for image in chosen}) == 30
    assert counts_of(quality_levels(scores), chosen) == [6] * 5


def test_real_images_are_balanced_in_what_they_show(reference: Path) -> None:
    scores, rows = annotations(reference / "kadis700k" / "mos.csv", "mos")
    measured = []
    for row in rows:
        with Image.open(reference / "kadis700k" / row["image"]) as image:
            pixels = np.asarray(image.convert("RGB").reduce(4))
        measured.append([spatial_information(pixels), colorfulness(pixels)])
    attributes = np.array(measured)
    chosen = coarse_sample(scores, 40, np.random.default_rng(0), attributes=attributes)
    assert counts_of(quality_levels(scores), chosen) == [8] * 5
    for column in attributes.T:
        fifths = np.argsort(np.argsort(column)) * 5 // len(column)
        assert np.ptp(counts_of(fifths, chosen)) <= 2
