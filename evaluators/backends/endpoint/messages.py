"""Turns requests into chat messages in OpenAI's format, images as data URLs."""

import base64
import io
from typing import Any

from PIL import Image

from eyechart.datasets_scripts.common.images import encoded_image
from eyechart.evaluators.requests.types import IMAGE, Request


def to_chat_messages(request: Request) -> list[dict[str, Any]]:
    """One user turn with texts and images in the prompt's order, without the prefilled reply.

    Raises:
        BadImageError: An image cannot be read. It is checked here, because servers report it in many ways or not.
    """
    left = iter(request.images)
    content = [
        {"type": "image_url", "image_url": {"url": data_url(next(left))}}
        if part is IMAGE
        else {"type": "text", "text": part}
        for part in request.prompt
    ]
    return [{"role": "user", "content": content}]


def data_url(source: Any) -> str:
    """The image file unchanged, as a data URL; a PIL image, which has no file, is encoded as PNG.

    The server decides how to decode the file, for example whether it applies the EXIF orientation.

    Args:
        source: An image in one of the forms that requests allow.

    Raises:
        BadImageError: The image cannot be read.
    """
    if isinstance(source, Image.Image):
        buffer = io.BytesIO()
        source.convert("RGB").save(buffer, "PNG")
        data, kind = buffer.getvalue(), "image/png"
    else:
        data, kind = encoded_image(source.read() if hasattr(source, "read") else source)
    return f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}"
