"""Where an encoded image is inside an annotation file: small, so that lists of rows stay small."""

from abc import ABC, abstractmethod
from typing import Any


class ImageCell(ABC):
    """An image that is read when the data set is written, not when its annotations are."""

    problem: str = ""
    """Why the image cannot be read; empty if it can."""

    @abstractmethod
    def load(self) -> dict[str, Any]:
        """Return the `{"bytes", "path"}` value of the image."""


def load_image(image: Any) -> Any:
    """Return what `datasets` takes for an image: that of a cell, else the path or value as it is."""
    return image.load() if isinstance(image, ImageCell) else image
