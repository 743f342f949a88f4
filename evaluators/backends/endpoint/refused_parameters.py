"""Parameters that a provider refuses: which ones its error names, the request without them, and what the result says.

Models that reason often allow no sampling parameters; providers then answer 400 (OpenAI, Anthropic, Moonshot) or 422
(Mistral). The request is sent again without the parameter, once for each parameter.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any

DROPPED = "dropped_parameters"
"""The setting that lists the dropped parameters, separated by `SEPARATOR` where a response carries them."""
SEPARATOR = ", "
PROVIDER = "chosen by the provider"
"""The setting `decoding` of replies without a temperature."""

# Where an error names several, the first one is dropped first. Errors that name only max_tokens say that its value is
# too large.
_NAMED_BY = {"max_tokens": "max_completion_tokens", "seed": "seed", "top_p": "top_p", "temperature": "temperature"}
REMOVABLE = frozenset((*_NAMED_BY, "n"))
"""Parameters that `extra_body` may remove."""


def named_parameters(error: object) -> tuple[str, ...]:
    """The parameters that a provider's error names.

    Examples:
        >>> named_parameters("`temperature` and `top_p` cannot both be specified for this model.")
        ('top_p', 'temperature')
        >>> named_parameters("max_tokens is too large")
        ()
    """
    text = str(error)
    return tuple(name for name, word in _NAMED_BY.items() if re.search(rf"\b{word}\b", text, re.IGNORECASE))


def without(fields: Mapping[str, Any], dropped: Collection[str]) -> dict[str, Any]:
    """The fields of a request without some parameters; `max_completion_tokens` replaces `max_tokens`.

    Examples:
        >>> without({"temperature": 0.0, "max_tokens": 9}, {"max_tokens"})
        {'temperature': 0.0, 'max_completion_tokens': 9}
    """
    left = {name: value for name, value in fields.items() if name not in dropped}
    replaced = {"max_completion_tokens": fields["max_tokens"]} if "max_tokens" in fields.keys() & dropped else {}
    return {**left, **replaced}


def dropped_settings(carried: Collection[str]) -> dict[str, Any]:
    """What a result says about dropped parameters, given those of each reply as one text; empty without any."""
    names = sorted({name for text in carried for name in text.split(SEPARATOR) if name})
    decoding = {"decoding": PROVIDER} if "temperature" in names else {}
    return {DROPPED: names, **decoding} if names else {}
