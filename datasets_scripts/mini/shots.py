"""Distorted pictures with opinion scores, for synthetic demo data of image quality databases.

Every content is one scene with ten distortions at five levels. The score falls by 18 per level, from 82 to 10. A jitter
of at most 4 imitates the raters' disagreement; it is too small to mix up the levels.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from PIL import Image

from eyechart.datasets_scripts.mini import MINI_SEED
from eyechart.datasets_scripts.mini.distortions import LEVELS, distort
from eyechart.datasets_scripts.mini.scenes import Scene, draw_scene

TYPE_CODES = {
    "blur": 1,
    "motion blur": 3,
    "desaturation": 7,
    "JPEG compression": 10,
    "white noise": 11,
    "salt-and-pepper noise": 13,
    "over-exposure": 16,
    "darkening": 17,
    "pixelation": 21,
    "low contrast": 25,
}
"""KADID's code of each distortion type that is drawn here, in the order of the codes."""
_JITTER = 4.0


@dataclass(frozen=True)
class Shot:
    """One distorted picture and its opinion score."""

    content: int
    """Number of the scene, from 1."""
    distortion: str
    """A key of `TYPE_CODES`."""
    level: int
    """1 (barely visible) to 5 (severe)."""
    score: float
    """Mean opinion on 0 (worst) to 100 (best)."""
    seed: tuple[int, ...]
    """Seed of everything random in this shot."""

    @property
    def code(self) -> int:
        """KADID's code of the distortion."""
        return TYPE_CODES[self.distortion]

    @property
    def number(self) -> int:
        """Position among the fifty shots of the content, from 0."""
        return list(TYPE_CODES).index(self.distortion) * len(LEVELS) + self.level - 1

    def rng(self) -> np.random.Generator:
        """Return a new generator for further random values of this shot."""
        return np.random.default_rng([*self.seed, 1])

    def draw(self, pristine: Image.Image) -> Image.Image:
        """Return the distorted picture, given that of the scene."""
        # One state for all levels: the same noise field and direction, only stronger.
        field = np.random.default_rng(list(self.seed[:-1]))
        return distort(pristine, self.distortion, self.level, field)


def scene_of(stream: int, content: int) -> Scene:
    """Return the scene of a content, counted from 1."""
    return draw_scene(np.random.default_rng([MINI_SEED, stream, content - 1]))


def shots_of(stream: int, contents: int) -> Iterator[Shot]:
    """Make all shots of a dataset's demo data, content by content.

    Args:
        stream: Number of the dataset, which seeds its scenes and jitter.
        contents: Number of scenes.
    """
    for content in range(1, contents + 1):
        for distortion, code in TYPE_CODES.items():
            for level in LEVELS:
                seed = (MINI_SEED, stream, content - 1, code, level)
                jitter = np.random.default_rng(list(seed)).uniform(-_JITTER, _JITTER)
                yield Shot(content, distortion, level, float(100 - 18 * level + jitter), seed)
