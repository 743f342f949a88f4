"""API keys in what a server sends: some repeat the key in an error, and a hostile one could in any text."""

from typing import Any

MARK = "[API key]"
"""What stands in place of a key."""
# The placeholders for servers that want no key, such as EMPTY or ollama: words that may be in any reply.
_LONGEST_PLACEHOLDER = 12


def redact(text: str, key: str) -> str:
    """The text with `MARK` in place of the key.

    Args:
        text: What a server sent.
        key: The API key; "" if there is none. Short words, as servers that want no key are given, do not count.

    Examples:
        >>> redact("no such key: sk-abc123", "sk-abc123"), redact("The image is EMPTY.", "EMPTY")
        ('no such key: [API key]', 'The image is EMPTY.')
    """
    return text.replace(key, MARK) if _is_secret(key) else text


def redact_json(content: bytes, key: str) -> bytes:
    """The body of an answer with `MARK` in place of the key in its texts, however JSON spells them.

    Args:
        content: The body, which may be no JSON.
        key: The API key; "" if there is none.
    """
    from pydantic_core import from_json, to_json

    if not _is_secret(key):
        return content
    # Also where it is no JSON, or where the key is cut off with the rest of what an error shows.
    content = content.replace(key.encode(), MARK.encode())
    if b"\\" not in content:
        # Nothing is spelled by escapes, so that the key cannot be there in other bytes.
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
