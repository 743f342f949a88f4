"""JSON values: encoded exactly for the store; checked and shown safely if others wrote them."""

import json
import math
import re
from typing import Any, TypeGuard

from eyechart.evaluators.requests.secrets import redact

_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters except tab and line feed, which a terminal or a page would obey, and lone surrogates."""


def encode(value: Any, *, sort_keys: bool = False) -> bytes:
    """Encode a JSON value so that `decode` restores it exactly, nan and infinities included; tuples become lists.

    Lone surrogates stay as they are, because the JSON escapes of two of them in a row would be read as one character.

    Examples:
        >>> encode({"b": 0.1, "a": "é"}, sort_keys=True).decode()
        '{"a":"é","b":0.1}'
    """
    text = json.dumps(value, sort_keys=sort_keys, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")


def decode(data: bytes) -> Any:
    """The value that `encode` encoded; raises `ValueError` for bytes that are not JSON."""
    return json.loads(data.decode("utf-8", "surrogatepass"))


def list_form(description: str) -> str:
    """What to write for a list, with the example in the description of its field."""
    example = re.search(r"\[[^][]+\]", description)
    return f"expected a list, such as {example[0].replace(', ', ',') if example else '[a,b]'}"


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a value is a finite number that a float can represent; True and False are not."""
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return False


def is_unicode(text: str) -> bool:
    """Whether a text can be written to a file: JSON can contain lone surrogates, UTF-8 cannot."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def brief(value: object) -> str:
    """A value as one line of text, without characters that a terminal would obey."""
    try:
        text = repr(value)
    except ValueError:
        return "a number with thousands of digits"
    return text if len(text) <= 80 else f"{text[:76]}...{text[-1]}"


def printable(text: str) -> str:
    r"""A text of unknown origin without secrets, with what a terminal or a page would obey and lone surrogates escaped.

    Examples:
        >>> printable("a\x1b[2Jb\n"), printable("\u202egnp.exe")
        ('a\\x1b[2Jb\n', '\\u202egnp.exe')
    """
    return _OBEYED.sub(lambda match: match[0].encode("unicode_escape", "surrogatepass").decode(), redact(text))
