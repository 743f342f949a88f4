"""Synthetic demo data of LLDescribe: `images_lldescribe/`, and `descriptions.json` with golden texts for most images.

The real golden texts are private; these describe the drawn scenes. One image in ten has none, as in a partial copy.
"""

import json
from pathlib import Path

import numpy as np

from eyechart.datasets_scripts.mini import MINI_SEED
from eyechart.datasets_scripts.mini.distortions import DISTORTION_TYPES, LEVELS, distort
from eyechart.datasets_scripts.mini.questions import DISTORTION_OPTIONS, quality, severity
from eyechart.datasets_scripts.mini.scenes import Scene, draw_scene

ITEMS = 70
"""Number of images."""
_STREAM = 4
_IMAGES = "images_lldescribe"


def write(folder: Path) -> None:
    """Write the release into `folder`."""
    (folder / _IMAGES).mkdir()
    golden = []
    for index in range(ITEMS):
        rng = np.random.default_rng([MINI_SEED, _STREAM, index])
        scene = draw_scene(rng)
        # Every distortion type at every level, one and a half times.
        kind, level = (
            DISTORTION_TYPES[index % len(DISTORTION_TYPES)],
            LEVELS[index // len(DISTORTION_TYPES) % len(LEVELS)],
        )
        name = f"mini_{index:04d}.png"
        distort(scene.image, kind, level, rng).save(folder / _IMAGES / name)
        if index % 10 != 9:
            golden.append({"img_path": name, "description": describe(scene, kind, level)})
    text = json.dumps(golden, ensure_ascii=False, indent=1)
    (folder / "descriptions.json").write_text(text + "\n", encoding="utf-8", newline="\n")


def describe(scene: Scene, distortion_type: str, level: int) -> str:
    """Describe in a few sentences the content and the quality of a distorted scene.

    Args:
        scene: The pristine scene.
        distortion_type: One of `DISTORTION_TYPES`.
        level: 1 to 5.
    """
    distortion = DISTORTION_OPTIONS[distortion_type].lower()
    return (
        f"The image shows a {scene.size} {scene.color} {scene.shape} on a {scene.background} background. "
        f"{_EFFECTS[distortion_type]} It suffers from {severity(level).lower()} {distortion}. "
        f"Overall, the quality of the image is {quality(level).lower()}."
    )


_EFFECTS = {
    "blur": "The edges are blurry and the texture is lost.",
    "motion blur": "The object is blurred along one direction.",
    "white noise": "The image is noisy all over.",
    "salt-and-pepper noise": "Black and white dots of noise cover the image.",
    "JPEG compression": "Blocky artifacts are visible along the edges.",
    "darkening": "The lighting is dark.",
    "over-exposure": "The bright areas are overexposed.",
    "desaturation": "The colors are faded.",
    "low contrast": "The contrast is low and the image looks flat.",
    "pixelation": "The image is pixelated and lacks detail.",
}
