"""JSON values: spelled exactly for the store, and checked or shown where others wrote them."""

import json
import math
import re
from typing import Any, TypeGuard

_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""All but tab and line feed: what a terminal or a page obeys instead of showing, and what none can encode."""


def encode(value: Any, *, sort_keys: bool = False) -> bytes:
    """Spell a JSON value so that `decode` gives back exactly what was put in.

    Floats keep all their digits; nan and the infinities are spelled as Python spells them. Halves of surrogate pairs,
    which a model may write, are encoded as they are: the JSON escapes of two of them in a row would be read as one
    character.

    Args:
        value: None, booleans, numbers, texts, and lists and string-keyed dicts of these; tuples become lists.
        sort_keys: Give dicts that are equal the same spelling.

    Examples:
        >>> encode({"b": 0.1, "a": "é"}, sort_keys=True).decode()
        '{"a":"é","b":0.1}'
    """
    text = json.dumps(value, sort_keys=sort_keys, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")


def decode(data: bytes) -> Any:
    """The value that `encode` spelled.

    Raises:
        ValueError: The bytes are no JSON.
    """
    return json.loads(data.decode("utf-8", "surrogatepass"))


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a value is a finite number; True and False are not."""
    # A whole number can be too large for `isfinite`.
    return (isinstance(value, int) and not isinstance(value, bool)) or (
        isinstance(value, float) and math.isfinite(value)
    )


def is_unicode(text: str) -> bool:
    """Whether a text can be written to a file: JSON can spell halves of characters."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def is_deeper(value: Any, levels: int) -> bool:
    """Whether lists and objects lie within each other on more levels than these."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return inner is not None and (levels == 0 or any(is_deeper(one, levels - 1) for one in inner))


def brief(value: object) -> str:
    """A value as text of one line, without anything that a terminal would obey."""
    try:
        text = repr(value)
    except ValueError:
        return "a number of thousands of digits"
    return text if len(text) <= 80 else f"{text[:76]}...{text[-1]}"


def printable(text: str) -> str:
    r"""A text of unknown origin for a terminal or a page.

    Control characters, marks that turn the direction of writing and halves of characters become their escapes; tabs
    and line feeds stay.

    Examples:
        >>> printable("a\x1b[2Jb\n"), printable("\u202egnp.exe")
        ('a\\x1b[2Jb\n', '\\u202egnp.exe')
    """
    return _OBEYED.sub(lambda found: _escaped(ord(found[0])), text)


def _escaped(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def without_nan(value: Any) -> Any:
    """The same structure with None for nan and infinities.

    Args:
        value: None, booleans, numbers, texts, and lists, tuples and dicts of these; tuples become lists, keys texts.

    Examples:
        >>> without_nan({"srcc": float("nan"), "interval": (0.1, float("inf"))})
        {'srcc': None, 'interval': [0.1, None]}
    """
    if isinstance(value, dict):
        return {str(key): without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
