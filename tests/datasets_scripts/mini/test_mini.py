"""Synthetic demo data: written once and whole, in the real layouts, with scores that fall with the level."""

import hashlib
import json
from collections import Counter, defaultdict
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies
from PIL import Image

from eyechart.datasets_scripts import DATASETS, load_dataset, mini
from eyechart.datasets_scripts.common.quality.databases import KADID_DISTORTIONS
from eyechart.datasets_scripts.mini.mmbench import FACTS, TREATMENTS, draw_picture, shown
from eyechart.datasets_scripts.mini.quality import LAYOUTS, TYPES, scene_of, shots
from eyechart.datasets_scripts.mini.questions import (
    CONCERNS,
    DISTORTION_OPTIONS,
    PAIR_CONCERNS,
    QUESTION_TYPES,
    SEVERITY,
    Question,
    ask,
    ask_pair,
)
from eyechart.datasets_scripts.mini.scenes import DISTORTION_TYPES, LEVELS, SCENE_FACTS, Look, draw_scene
from eyechart.metrics.scoring.choices.replies import extract_choice


def test_a_release_is_complete_or_absent_and_written_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail(name: str, folder: Path) -> None:
        (folder / "half").touch()
        raise KeyboardInterrupt

    monkeypatch.setenv("EYECHART_HOME", str(tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr(mini, "write", fail)
        with pytest.raises(KeyboardInterrupt):
            mini.release("kadis700k")
    assert list((tmp_path / "mini").iterdir()) == []
    folder = mini.release("kadis700k")
    assert (folder / "mos.csv").is_file()
    monkeypatch.setattr(mini, "write", fail)
    assert mini.release("kadis700k") == folder


DIGESTS = {
    **{"aesbench": "d0bb1816", "agiqa3k": "d99f5a3a", "cgiqa6k": "b5fb81cd", "csiq": "0f89a790"},
    **{"kadid10k": "0003f71e", "kadis700k": "f04a2e9f", "koniq10k": "bba07339", "live_fb": "2e83030c"},
    **{"live_itw": "1e9d051f", "lldescribe": "36363a23", "llsavisionqa": "0c288600", "llvisionqa": "9002236e"},
    **{"llvisionqa_pairs": "cccc6f14", "mm21": "c56afdf9", "mmbench": "3835ee16", "spaq": "d0b9b716"},
    **{"sqad": "22993604", "two_afc": "f09bcbe2"},
}
"""What README and the bundled model's card say was measured on these data."""


@pytest.mark.parametrize("name", DATASETS)
def test_annotations_are_those_of_the_published_numbers(name: str) -> None:
    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(one) for key, one in value.items()}
        if isinstance(value, list):
            return [plain(one) for one in value]
        return round(value, 6) if isinstance(value, float) else value

    found = hashlib.sha256()
    for config in DATASETS[name].configs:
        for part in load_dataset(name, config, data_dir=mini.release(name), images="skip").values():
            found.update(json.dumps([plain(row) for row in part]).encode())
    assert found.hexdigest()[:8] == DIGESTS[name]


@pytest.mark.parametrize("name", ["csiq", "kadid10k", "kadis700k", "koniq10k", "mm21"])
def test_rows_are_those_of_the_shots(name: str) -> None:
    """Quality falls with the level in every content and type, and names tell the facts where the real ones do."""
    part = load_dataset(name, data_dir=mini.release(name), split="test", images="skip")
    groups = defaultdict(dict)
    for row, shot in zip(part, shots(name), strict=True):
        groups[shot.content, shot.distortion][shot.level] = row["quality"]
        assert row["distortion_level"] in (None, shot.level)
    for levels in groups.values():
        assert all(levels[weaker] > levels[stronger] for weaker, stronger in pairwise(sorted(levels)))
    if name == "koniq10k":
        assert set(part["reference"]) == set(part["distortion_type"]) == set(part["distortion_level"]) == {None}
    else:
        assert None not in part["distortion_level"]
        assert len(set(part["reference"])) == len(LAYOUTS[name].contents) and len(set(part["distortion_type"])) == 10
    if name.startswith("kad"):
        assert set(part["distortion_type"]) == {KADID_DISTORTIONS[code - 1] for code, _ in TYPES.values()}
    if name == "kadid10k":
        with Image.open(mini.release(name) / "images" / "I02.png") as image:
            assert np.array_equal(image, scene_of(LAYOUTS[name].stream, 2).image)


@pytest.mark.parametrize(
    ("seed", "shape", "blocks"),
    [
        (0, "star", "7e80868c6564707b6a6574785b68686e"),
        (1, "square", "d0cbc9c9d3d0d1cdb8a4d7d1e3dadadb"),
        (4, "triangle", "8b898b819384b696817d96817d7a6e65"),
        (11, "circle", "6a6174766e83897f70adae8e74818b86"),
    ],
)
def test_scenes_are_those_of_the_published_numbers(seed: int, shape: str, blocks: str) -> None:
    """By the mean brightness of blocks of 16 x 16 pixels."""
    scene = draw_scene(np.random.default_rng(seed))
    found = np.asarray(scene.image.convert("L"), float).reshape(4, 16, 4, 16).mean(axis=(1, 3)).ravel()
    assert scene.shape == shape
    assert found == pytest.approx(list(bytes.fromhex(blocks)), abs=0.6)


def test_facts_of_a_scene_are_shown_by_the_scene_itself() -> None:
    scene = draw_scene(np.random.default_rng(0))
    for fact in FACTS:
        is_drawn = fact == "digit" or any(TREATMENTS.get(fact, {}).values())
        truth = FACTS[fact][-1] if is_drawn else shown(fact, scene)
        picture = draw_picture(fact, truth, scene, np.random.default_rng(0))
        assert (picture is scene.image) == (not is_drawn), fact


@cache
def drawn(kind: str, concern: str) -> list[tuple[tuple[Look, ...], Question]]:
    """Return questions with the one or two images that they are about."""
    asked = []
    for i in range(40):
        if concern in PAIR_CONCERNS:
            asked.append(ask_pair(np.random.default_rng([i, 5]), kind, concern))
        else:
            rng = np.random.default_rng([i, 3])
            look = Look(draw_scene(rng), DISTORTION_TYPES[i % 10], LEVELS[(i + i // 10) % 5])
            asked.append(((look,), ask(look, rng, kind, concern)))
    return asked


@pytest.mark.parametrize("kind", QUESTION_TYPES)
@pytest.mark.parametrize("concern", CONCERNS + PAIR_CONCERNS)
def test_every_type_and_concern_can_be_asked(kind: str, concern: str) -> None:
    counts = {"yes-or-no": {2}, "what": {3, 4}, "how": {3}}[kind]
    places: Counter[int] = Counter()
    for looks, asked in drawn(kind, concern):
        assert len(asked.options) in counts and len(set(asked.options)) == len(asked.options)
        assert asked.question.endswith("?")
        if concern in CONCERNS:
            assert (looks[0].scene.shape in asked.question) == concern.startswith("in-context")
        # What the metrics read as an answer must be the answer.
        letter = extract_choice(asked.answer, asked.options)
        assert letter and asked.options["ABCD".index(letter)] == asked.answer
        places[asked.options.index(asked.answer)] += 1
    assert all(places[place] > 3 for place in range(min(counts))), "the right answer stands everywhere"


@pytest.mark.parametrize(
    ("kind", "concern", "fact"),
    [
        ("what", "distortion", lambda look: DISTORTION_OPTIONS[look.distortion_type]),
        ("how", "in-context other", lambda look: look.scene.size),
        ("how", "other", lambda look: look.scene.position),
        ("what", "compare distortion", lambda look: DISTORTION_OPTIONS[look.distortion_type]),
        ("what", "compare other", lambda look: look.scene.shape),
        ("what", "joint distortion", lambda look: DISTORTION_OPTIONS[look.distortion_type]),
        ("how", "joint distortion", lambda look: SEVERITY[look.level]),
        ("what", "joint other", lambda look: look.scene.shape),
        ("how", "joint other", lambda look: look.scene.position),
    ],
)
def test_answers_are_true_of_the_image(kind, concern, fact) -> None:
    for looks, asked in drawn(kind, concern):
        assert fact(looks[-1]).lower() == asked.answer.lower()
        if concern.startswith("joint"):
            assert fact(looks[0]) == fact(looks[1])
        if (kind, concern) == ("what", "compare distortion"):
            assert fact(looks[0]) != fact(looks[1])


def test_comparisons_are_true_of_what_is_drawn() -> None:
    for (first, second), asked in drawn("how", "compare distortion"):
        assert (first.scene, first.distortion_type) == (second.scene, second.distortion_type)
        assert asked.answer == ("Better", "Similar", "Worse")[int(np.sign(second.level - first.level)) + 1]
    for (first, second), asked in drawn("yes-or-no", "compare distortion"):
        assert first.level != second.level and (asked.answer == "Yes") == (first.level < second.level)
    for looks, asked in drawn("how", "compare other"):
        sizes = [SCENE_FACTS["size"].index(look.scene.size) for look in looks]
        assert asked.answer == ("Smaller", "Similar", "Larger")[int(np.sign(sizes[1] - sizes[0])) + 1]
    for looks, asked in drawn("yes-or-no", "compare other"):
        sizes = [SCENE_FACTS["size"].index(look.scene.size) for look in looks]
        assert (asked.answer == "Yes") == (sizes[0] > sizes[1])


CHANGES = {
    "blur": (3.72, 7.78, 10.49, 11.98, 13.16),
    "motion blur": (6.99, 9.99, 11.24, 12.29, 13.65),
    "white noise": (6.07, 11.11, 17.79, 26.92, 37.92),
    "salt-and-pepper noise": (1.36, 3.48, 7.03, 14.26, 25.09),
    "JPEG compression": (5.85, 7.82, 10.41, 13.93, 17.52),
    "darkening": (45.84, 77.00, 102.67, 124.64, 146.64),
    "over-exposure": (29.89, 42.53, 55.20, 64.85, 69.13),
    "desaturation": (16.91, 26.63, 34.87, 42.11, 48.45),
    "low contrast": (6.49, 10.40, 13.42, 15.99, 18.40),
    "pixelation": (6.95, 10.84, 11.59, 12.51, 13.48),
}
"""The mean absolute difference to the pristine scene 1, by level."""
every_type = pytest.mark.parametrize("kind", DISTORTION_TYPES)


@every_type
def test_distortions_are_those_of_the_published_numbers(kind: str) -> None:
    scene = draw_scene(np.random.default_rng(1))
    drawn = (np.asarray(Look(scene, kind, level).draw(np.random.default_rng(7)), float) for level in LEVELS)
    found = [float(np.abs(image - np.asarray(scene.image, float)).mean()) for image in drawn]
    assert found == pytest.approx(CHANGES[kind], rel=0.01)


seeds = strategies.integers(0, 2**31)


def psnr(image: Image.Image, reference: Image.Image) -> float:
    """Peak signal-to-noise ratio of two 8-bit images, in dB."""
    error = np.mean((np.asarray(image, np.float64) - np.asarray(reference, np.float64)) ** 2)
    return float(10 * np.log10(255**2 / error)) if error else np.inf


@every_type
@settings(max_examples=5, deadline=None)
@given(scene_seed=seeds, noise_seed=seeds)
def test_every_level_lowers_the_psnr(kind: str, scene_seed: int, noise_seed: int) -> None:
    scene = draw_scene(np.random.default_rng(scene_seed))
    values = [psnr(Look(scene, kind, level).draw(np.random.default_rng(noise_seed)), scene.image) for level in LEVELS]
    assert np.isfinite(values).all()
    assert all(lower < higher for higher, lower in pairwise(values)), values
