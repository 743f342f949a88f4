"""Requests as chat messages, the form that transformers processors and plain functions take, and the wanted words."""

from collections.abc import Collection, Mapping
from typing import Any

from PIL import Image

from eyechart.datasets_scripts.common.errors import ModelError
from eyechart.datasets_scripts.common.images import open_image
from eyechart.evaluators.requests.types import IMAGE, Request


def decode_image(source: Any) -> Image.Image:
    """Decode an image of a request to RGB; raises BadImageError if it cannot be read."""
    if isinstance(source, Image.Image):
        return source.convert("RGB")
    return open_image(source.read() if hasattr(source, "read") else source)


def to_messages(request: Request, images: list[Image.Image], system_prompt: str | None = None) -> list[dict[str, Any]]:
    """One user turn in the prompt's order, and an open assistant turn if the reply is prefilled."""
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


def distinct_words(tokens: Mapping[str, str | None], needed: Collection[str], *, where: str = "") -> list[str]:
    """The words that can be told apart by their first token; an unknown token, None, differs from all others.

    A word that shares its token is left out unless it is `needed`. Raises ModelError, whose message begins with
    `where`, if two needed words share theirs.

    Examples:
        >>> distinct_words({"good": "go", "poor": "po", "golden": "go"}, needed=["good", "poor"])
        ['good', 'poor']
    """
    words = []
    for word, token in tokens.items():
        alike = [other for other in tokens if other != word and token is not None and tokens[other] == token]
        if word in needed and (clash := [other for other in alike if other in needed]):
            raise ModelError(
                f"{where}the words '{word}' and '{clash[0]}' begin with the same token {token!r}, so they have the "
                "same next-token logit. Choose other words."
            )
        if word in needed or not alike:
            words.append(word)
    return words
