"""The bundled tiny model: a LLaVA-architecture model of one million parameters.

`README.md` next to this file is its card; `train.py` trains it, `measure.py` measures it.
"""

from eyechart.evaluators.backends.bundled import NAME, folder

__all__ = ["IMAGE_SIZE", "NAME", "folder"]

IMAGE_SIZE = 64
"""Width and height of the images that the model sees, in pixels."""
