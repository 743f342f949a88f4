"""The bundled tiny model: a LLaVA-architecture model of 0.97 M parameters, a working default that needs no network.

`README.md` beside this file is its card; `train.py` made it.
"""

from pathlib import Path

NAME = "eyechart/tiny-vlm"
IMAGE_SIZE = 64
"""Width and height, in pixels, that the model sees."""


def folder() -> Path:
    """The folder of the bundled model, for `from_pretrained`."""
    return Path(__file__).parent / "model"
