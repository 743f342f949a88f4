"""Secrets in the environment, and texts without them: what servers send, and what is shown or written, passes here."""

import os
import re
from functools import cache

_NAMES = ("KEY", "TOKEN", "SECRET", "PASSWORD")
"""Endings of the names of variables that contain secrets."""
_USER = re.compile(r"(?<=://)[^\s/@\"'<>]+(?=@)")
# Placeholders for servers that need no key, such as EMPTY or 0, can occur in any text.
_PLACEHOLDER = re.compile(r".{0,5}|[^\W\d_]{,12}|[\d.:+-]{,12}")


def redact(text: str) -> str:
    r"""The text, which may be JSON, without secrets in any spelling and without users in URLs.

    Examples:
        >>> os.environ["DEMO_KEY"] = "sk-abc"
        >>> redact(r"no such key: sk-abc, \u0073k-abc, %73k-abc"), redact("https://me:password@host/v1")
        ('no such key: [secret], [secret], [secret]', 'https://[secret]@host/v1')
    """
    values = [os.environ[name] for name in os.environ if name.upper().endswith(_NAMES)]
    lines = {line.strip() for value in values for line in value.splitlines()}
    # A secret may contain another one.
    for line in sorted(lines, key=len, reverse=True):
        if not _PLACEHOLDER.fullmatch(line):
            text = _spellings(line).sub("[secret]", text)
    return _USER.sub("[secret]", text)


@cache
def _spellings(secret: str) -> re.Pattern[str]:
    """A secret as it is, with JSON escapes or URL-encoded."""
    parts = []
    for character in secret:
        plain, encoded = re.escape(character), "".join(f"%{byte:02x}" for byte in character.encode(errors="replace"))
        parts.append(rf"(?:{plain}|\\{{1,8}}(?:{plain}|(?i:u{ord(character):04x}))|(?i:{encoded}))")
    return re.compile("".join(parts))
