"""Secrets in the environment, and texts without them: what servers send, and what is shown or written, passes here."""

import json
import os
import re
from functools import lru_cache
from typing import Any
from urllib.parse import quote

_CHOSEN, _GIVEN = ("PASSWORD", "SECRET"), ("KEY", "TOKEN")
"""Endings of the names of variables that contain secrets; those that people choose can be words."""
_USER = re.compile(r"(?<=://)[^\s/@\"'<>]+(?=@)")
# Words such as not-needed, short numbers, dates, and marks such as </think> can occur in any text.
_ORDINARY = re.compile(r".{,7}|\D[^A-Z\d]{,19}|[^a-z\d]{,20}|[\d.:+-]{,11}|[<\[].*[>\]]")


def redact(text: str) -> str:
    """The text without secrets, also as they are in JSON and in URLs, and without users in URLs.

    Examples:
        >>> os.environ["DEMO_KEY"] = "sk/abc-123"
        >>> redact("no such key: sk/abc-123, sk%2Fabc-123"), redact("https://me:password@host/v1")
        ('no such key: [secret], [secret]', 'https://[secret]@host/v1')
    """
    return _redact(text, _spellings(_variables()))


def redact_values(value: Any) -> Any:
    """A JSON value whose strings have no secrets; names of fields stay."""
    spellings = _spellings(_variables())

    def without(part: Any) -> Any:
        if isinstance(part, dict):
            return {name: without(field) for name, field in part.items()}
        if isinstance(part, list):
            return [without(item) for item in part]
        return _redact(part, spellings) if isinstance(part, str) else part

    return without(value)


def _redact(text: str, spellings: list[str]) -> str:
    for spelling in spellings:
        # Unlike a regular expression, also linear where a secret repeats itself.
        text = text.replace(spelling, "[secret]")
    return _USER.sub("[secret]", text) if "://" in text else text


def _variables() -> tuple[tuple[str, str], ...]:
    return tuple((name, os.environ[name]) for name in os.environ if name.upper().endswith(_CHOSEN + _GIVEN))


@lru_cache(8)
def _spellings(variables: tuple[tuple[str, str], ...]) -> list[str]:
    """The spellings of the secrets in variables, the longest first: a secret may contain another one."""
    lines = ((name.upper(), line.strip()) for name, value in variables for line in value.splitlines())
    secrets = {line for name, line in lines if _is_secret(name, line)}
    escaped = (json.dumps(secret, ensure_ascii=is_ascii)[1:-1] for secret in secrets for is_ascii in (True, False))
    quoted = (quote(secret, safe="", errors="replace") for secret in secrets)
    return sorted({*secrets, *escaped, *quoted}, key=len, reverse=True)


def _is_secret(name: str, value: str) -> bool:
    if name.endswith(_CHOSEN):
        return len(value) > 5
    is_path = os.path.isabs(value) and os.path.exists(value)
    return name.endswith(_GIVEN) and not (is_path or _ORDINARY.fullmatch(value))
