"""The log-probabilities of given words among the most probable tokens that a server returns, found by their text."""

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence

from eyechart.datasets_scripts.common.errors import EndpointError
from eyechart.evaluators.backends.chat import distinct_words
from eyechart.evaluators.requests.types import Request

FirstToken = Callable[[str, Sequence[str]], Awaitable[str | None]]
"""Takes a word and the texts of returned tokens with which it could begin, and returns the first token's text; None if
it is not among them or unknown."""
# What OpenAI writes instead of the log-probability of a very unlikely token.
_NO_VALUE = -9999.0


async def find_words(
    likeliest: Mapping[str, float], request: Request, first_token: FirstToken
) -> tuple[dict[str, float], tuple[str, ...]]:
    """The log-probability of each word's first token.

    Args:
        likeliest: Log-probabilities of the most probable tokens at one position, by their texts.
        request: The words. An optional word is left out if it begins with the same token as another.
        first_token: Called only for words that are not a whole returned token.

    Returns:
        The log-probability of each word, and the words whose token was not returned. Their value is the smallest
        returned log-probability, which is an upper bound.

    Raises:
        ModelError: Two words begin with the same token.
    """
    values = {token: value for token, value in likeliest.items() if value > _NO_VALUE} or dict(likeliest)
    lowest = min(values.values())
    if lowest == -math.inf:
        raise EndpointError("the server returned a probability of 0 for each of the most probable tokens")
    tokens = {word: await _token_of(word, values, first_token, not request.prefill) for word in request.all_words}
    words = distinct_words(tokens, request.words)
    logits = {word: lowest if (token := tokens[word]) is None else values[token] for word in words}
    return logits, tuple(word for word in words if tokens[word] is None)


async def _token_of(word: str, values: Mapping[str, float], first_token: FirstToken, opens_reply: bool) -> str | None:
    """The returned token that the word is or begins with."""
    # A space comes before a word in the reply; whether one opens a reply is unknown, so the more probable form counts.
    matches = [text for text in (f" {word}", word) if text in values]
    if matches:
        return max(matches, key=lambda text: values[text]) if opens_reply else matches[0]
    beginnings = [text for text in values if text.strip() and (f" {word}".startswith(text) or word.startswith(text))]
    return await first_token(word, beginnings) if beginnings else None
