"""How an image processor resizes images; reported with every result, because resizing changes image quality."""

import dataclasses
import enum
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from PIL import Image

if TYPE_CHECKING:
    import torch

_SETTINGS = (
    *("do_resize", "size", "crop_size", "do_center_crop", "do_pad", "min_pixels", "max_pixels", "resample"),
    *("image_grid_pinpoints", "do_image_splitting", "max_image_size", "do_pan_and_scan", "crop_to_patches"),
    *("min_patches", "max_patches", "max_image_tiles", "pan_and_scan_max_num_crops"),
)


def size_settings(image_processor: Any) -> dict[str, Any]:
    """The processor's settings of image size, those that it has, as JSON values."""
    values = {name: _plain(getattr(image_processor, name, None)) for name in _SETTINGS}
    return {name: value for name, value in values.items() if value is not None}


def is_downscaled(image: Image.Image, inputs: "Mapping[str, torch.Tensor]", image_processor: Any) -> bool | None:
    """Whether the processor downscaled an image; None if its output and settings do not show it."""
    pixels, grid = inputs.get("pixel_values"), inputs.get("image_grid_thw")
    if grid is not None:
        return int(grid.prod()) * image_processor.patch_size**2 < image.width * image.height
    if getattr(image_processor, "image_grid_pinpoints", None):
        from transformers.image_processing_utils import select_best_resolution

        # LLaVA-Next chooses for each image a grid of tiles.
        height, width = select_best_resolution((image.height, image.width), image_processor.image_grid_pinpoints)
        return image.height > height or image.width > width
    if hasattr(image_processor, "do_image_splitting") and set(_plain(image_processor.size)) == {"longest_edge"}:
        # Idefics3: the tiles together show the image resized to `size`; without tiles it is resized to one tile.
        limits = image_processor.size if image_processor.do_image_splitting else image_processor.max_image_size
        return max(image.size) > limits["longest_edge"]
    if pixels is None or pixels.dim() != 4 or len(pixels) != 1:
        return None
    if not getattr(image_processor, "do_resize", False):
        return False
    size = _plain(getattr(image_processor, "size", None)) or {}
    if size.get("height") and size.get("width"):
        return image.width > size["width"] or image.height > size["height"]
    return min(image.size) > size["shortest_edge"] if set(size) == {"shortest_edge"} else None


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = dataclasses.asdict(value)
    if isinstance(value, dict):
        return {key: item for key, item in value.items() if item is not None}
    return value.value if isinstance(value, enum.Enum) else value
