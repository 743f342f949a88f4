"""The bundled tiny model: a LLaVA-architecture model of one million parameters.

`README.md` beside this file is its card; `train.py` made it, `measure.py` measures it.
"""

from eyechart.evaluators.backends.bundled import NAME, folder

__all__ = ["IMAGE_SIZE", "NAME", "folder"]

IMAGE_SIZE = 64
"""Width and height, in pixels, that the model sees."""
