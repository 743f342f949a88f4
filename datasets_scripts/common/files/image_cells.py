"""The location of an encoded image inside an annotation file: a small object, so that lists of rows stay small."""

from abc import ABC, abstractmethod
from typing import Any


class ImageCell(ABC):
    """An image that is read when the dataset is written, not when the annotations are read."""

    problem: str = ""
    """Why the image cannot be read; "" if it can."""

    @abstractmethod
    def load(self) -> dict[str, Any]:
        """Return the `{"bytes", "path"}` value of the image."""


def load_image(image: Any) -> Any:
    """Return a value that `datasets.Image` accepts: the content of a cell, else the path or value unchanged."""
    return image.load() if isinstance(image, ImageCell) else image
