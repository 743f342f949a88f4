"""Requests as the chat messages of OpenAI's format, images as data URLs."""

import base64
import io
from typing import Any

from PIL import Image

from eyechart.datasets_scripts.common.images import encoded_image
from eyechart.evaluators.requests.types import IMAGE, Request


def to_chat_messages(request: Request) -> list[dict[str, Any]]:
    """One user turn, texts and images in the prompt's order; without the prefilled reply.

    Raises:
        BadImageError: One of the images cannot be read, which servers report in many ways or not at all.
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
    """The image as its file holds it, byte by byte; a PIL image, which has no file, as a PNG.

    What a server does with it, for example with its EXIF orientation, is the server's.

    Args:
        source: An image as requests carry it.

    Raises:
        BadImageError: It cannot be read.
    """
    if isinstance(source, Image.Image):
        buffer = io.BytesIO()
        source.convert("RGB").save(buffer, "PNG")
        data, kind = buffer.getvalue(), "image/png"
    else:
        data, kind = encoded_image(source.read() if hasattr(source, "read") else source)
    return f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}"
