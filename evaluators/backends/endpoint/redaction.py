"""Removes the API key from what a server sends: some servers repeat it in errors, a hostile one could anywhere."""

from typing import Any

MARK = "[API key]"
"""Replaces the key."""
# Placeholders for servers that need no key, such as EMPTY or ollama, are words that can occur in any reply.
_LONGEST_PLACEHOLDER = 12


def redact(text: str, key: str) -> str:
    """The text with `MARK` in place of the key.

    Args:
        text: Text from a server.
        key: The API key; "" if missing. Short words, which are placeholders, are not replaced.

    Examples:
        >>> redact("no such key: sk-abc123", "sk-abc123"), redact("The image is EMPTY.", "EMPTY")
        ('no such key: [API key]', 'The image is EMPTY.')
    """
    return text.replace(key, MARK) if _is_secret(key) else text


def redact_json(content: bytes, key: str) -> bytes:
    """The body of an answer with `MARK` in place of the key, also if JSON spells the key with escapes.

    Args:
        content: The body; it need not be JSON.
        key: The API key; "" if missing.
    """
    from pydantic_core import from_json, to_json

    if not _is_secret(key):
        return content
    # Replaced in the raw bytes too, in case they are not valid JSON.
    content = content.replace(key.encode(), MARK.encode())
    if b"\\" not in content:
        # Without escapes, the key cannot be present in other bytes.
        return content
    try:
        return to_json(_redacted(from_json(content), key), inf_nan_mode="constants")
    except ValueError:
        return content


def _redacted(value: Any, key: str) -> Any:
    if isinstance(value, str):
        return redact(value, key)
    if isinstance(value, dict):
        return {redact(name, key): _redacted(item, key) for name, item in value.items()}
    if isinstance(value, list):
        return [_redacted(item, key) for item in value]
    return value


def _is_secret(key: str) -> bool:
    return len(key) > (_LONGEST_PLACEHOLDER if key.isalpha() else 5)
