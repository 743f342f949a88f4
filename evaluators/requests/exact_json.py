"""JSON that gives back exactly what was put in.

Floats keep all their digits; nan and the infinities are spelled as Python spells them. Halves of surrogate pairs, which
a model may write, are encoded as they are: the JSON escapes of two of them in a row would be read as one character.
"""

import json
from typing import Any


def encode(value: Any, *, sort_keys: bool = False) -> bytes:
    """Spell a JSON value.

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
