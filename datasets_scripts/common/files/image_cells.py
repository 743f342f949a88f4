"""The location of an encoded image inside an annotation file: a small object, so that lists of rows stay small."""

from abc import ABC, abstractmethod
from typing import Any


class ImageCell(ABC):
    """An image that is read when the dataset is written, not when the annotations are read."""

    problem: str = ""
    """Why the image cannot be read; "" if it can."""

    @abstractmethod
    def load(self) -> bytes:
        """Return the encoded image."""


def load_image(image: Any) -> Any:
    """Return a value that `datasets.Image` accepts: the bytes of a cell, else the path or value unchanged.

    A cell's path is dropped: `datasets` prefers a file of that name, wherever it is, to the cell's own bytes.
    """
    return {"bytes": image.load(), "path": None} if isinstance(image, ImageCell) else image
