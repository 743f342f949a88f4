"""Secrets in the environment, and texts without them: what servers send, and what is shown or written, passes here."""

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import Any

from pydantic_core import from_json, to_json

_NAMES = ("KEY", "TOKEN", "SECRET", "PASSWORD")
"""Endings of the names of variables that contain secrets."""
SECRET = "[secret]"
_USER = re.compile(r"(?<=://)[^\s/@\"'<>]+(?=@)")


def redact(text: str) -> str:
    r"""The text without secrets, in whatever spelling: with JSON escapes or URL-encoded; and without users in URLs.

    Examples:
        >>> os.environ["DEMO_KEY"] = "sk-abc"
        >>> redact("no such key: sk-abc, \\u0073k-abc, %73k-abc"), redact("https://me:password@host/v1")
        ('no such key: [secret], [secret], [secret]', 'https://[secret]@host/v1')
        >>> os.environ["DEMO_KEY"] = "placeholders"
        >>> redact("These are placeholders.")
        'These are placeholders.'
    """
    for secret in _secrets():
        text = _spellings(secret).sub(SECRET, text)
    return _USER.sub(SECRET, text)


def redact_json(content: bytes) -> bytes:
    """The body of an answer without secrets; it need not be JSON."""
    text = content.decode(errors="surrogateescape")
    if (redacted := redact(text)) == text:
        return content
    with suppress(ValueError):
        # Otherwise a number that contains the digits of a secret would not stay a number.
        return to_json(redact_values(from_json(content)), inf_nan_mode="constants")
    return redacted.encode(errors="surrogateescape")


def redact_values(value: Any) -> Any:
    """A JSON value whose texts contain no secrets."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {redact(key): redact_values(item) for key, item in value.items()}
    return [redact_values(item) for item in value] if isinstance(value, list | tuple) else value


def _secrets() -> list[str]:
    """The lines of all secrets, the longest first; without placeholders for servers that need no key.

    Those, such as EMPTY, ollama or 0, are words or numbers that can occur in any text.
    """
    values = [value for name, value in os.environ.items() if name.upper().endswith(_NAMES)]
    lines = {line.strip() for value in values for line in value.splitlines()}
    return sorted((line for line in lines if len(line) > (12 if line.isalpha() else 5)), key=len, reverse=True)


@cache
def _spellings(secret: str) -> re.Pattern[str]:
    def spellings(character: str) -> str:
        encoded = "".join(f"%{byte:02x}" for byte in character.encode(errors="replace"))
        plain = re.escape(character)
        return rf"(?:{plain}|\\+(?:{plain}|(?i:u{ord(character):04x}))|(?i:{encoded}))"

    return re.compile("".join(map(spellings, secret)))
