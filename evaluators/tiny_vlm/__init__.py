"""The bundled tiny model, a default that needs no network: a LLaVA-architecture model of one million parameters.

`README.md` next to this file is its card; `tests/tiny_vlm` has the scripts that trained and measured it.
"""

from pathlib import Path

NAME = "eyechart/tiny-vlm"


def folder() -> Path:
    """The folder of the bundled model, for `from_pretrained`."""
    return Path(__file__).parent / "model"
