"""The bundled tiny model, a default that needs no network; `evaluators/tiny_vlm` has its weights and card."""

from pathlib import Path

NAME = "eyechart/tiny-vlm"


def folder() -> Path:
    """The folder of the bundled model, for `from_pretrained`."""
    return Path(__file__).parents[1] / "tiny_vlm" / "model"
