"""Turns requests into chat messages, the form that transformers processors and plain functions take."""

from typing import Any

from PIL import Image

from eyechart.datasets_scripts.common.images import open_image
from eyechart.evaluators.requests.types import IMAGE, Request


def decode_image(source: Any) -> Image.Image:
    """Decode an image of a request to RGB.

    Raises:
        BadImageError: The image cannot be read.
    """
    if isinstance(source, Image.Image):
        return source.convert("RGB")
    return open_image(source.read() if hasattr(source, "read") else source)


def to_messages(request: Request, images: list[Image.Image], system_prompt: str | None = None) -> list[dict[str, Any]]:
    """One user turn with texts and images in the prompt's order, and an open assistant turn if the reply is prefilled.

    Args:
        request: The request.
        images: Its images, decoded.
        system_prompt: System prompt; None for none.
    """
    left = iter(images)
    content = [
        {"type": "image", "image": next(left)} if part is IMAGE else {"type": "text", "text": part}
        for part in request.prompt
    ]
    messages: list[dict[str, Any]] = [{"role": "user", "content": content}]
    if system_prompt is not None:
        messages.insert(0, {"role": "system", "content": [{"type": "text", "text": system_prompt}]})
    if request.prefill:
        messages.append({"role": "assistant", "content": [{"type": "text", "text": request.prefill}]})
    return messages


def joined(text: str, continuation: str) -> str:
    r"""A text and its continuation, with a space between them unless the text is empty or ends in white space.

    Examples:
        >>> joined("The quality is", "good"), joined("Answer:\n", "good")
        ('The quality is good', 'Answer:\ngood')
    """
    return f"{text}{continuation}" if text[-1:].isspace() or not text else f"{text} {continuation}"
