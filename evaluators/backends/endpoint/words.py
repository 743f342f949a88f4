"""The log-probabilities of given words among the most probable tokens that a server returns.

Words are found by their text: a token that is the whole word, with a space before it if there is such a token,
otherwise without. If no such token is returned, the word may consist of several tokens, and its first token counts.
"""

import math
from collections.abc import Callable, Mapping, Sequence

from eyechart.datasets_scripts.common.errors import EndpointError
from eyechart.evaluators.backends.distinct_words import distinct_words

# What OpenAI writes instead of the log-probability of a very unlikely token.
_NO_VALUE = -9999.0
# How tokenizers write a space in tokens; some servers return it like this.
_BLANKS = str.maketrans({"\u2581": " ", "\u0120": " "})


def find_words(
    likeliest: Mapping[str, float],
    words: Sequence[str],
    first_token: Callable[[str, Sequence[str]], str | None],
    *,
    optional: Sequence[str] = (),
    opens_reply: bool = False,
) -> tuple[dict[str, float], tuple[str, ...]]:
    """The log-probability of each word's first token.

    Args:
        likeliest: Log-probabilities of the most probable tokens at one position, by their texts.
        words: The words that are compared.
        first_token: Takes a word and the returned tokens with which it could begin, and returns the word's first token,
            or None if it is not among them or unknown. Called only for words that are not a whole returned token.
        optional: Further words; a word is left out if it begins with the same token as another.
        opens_reply: Whether the words would begin the reply. It is then unknown whether the server puts a space before
            the reply, so the more probable of the word with and without a space counts. Otherwise a space comes before
            the word.

    Returns:
        The log-probability of each word, and the words whose token was not returned. Their value is the smallest
        returned log-probability, which is an upper bound.

    Raises:
        ModelError: Two words begin with the same token.
        EndpointError: All tokens have a probability of 0.
    """
    values = {token: value for token, value in likeliest.items() if value > _NO_VALUE} or dict(likeliest)
    tokens = {word: _token_of(word, values, first_token, opens_reply) for word in (*words, *optional)}
    tokens = {word: tokens[word] for word in distinct_words(tokens, words)}
    lowest = min(values.values())
    if lowest == -math.inf:
        raise EndpointError("the server returned a probability of 0 for each of the most probable tokens")
    found = {word: lowest if token is None else values[token] for word, token in tokens.items()}
    return found, tuple(word for word, token in tokens.items() if token is None)


def plain(token: str) -> str:
    """A token's text with ordinary spaces."""
    return token.translate(_BLANKS)


def _token_of(
    word: str,
    values: Mapping[str, float],
    first_token: Callable[[str, Sequence[str]], str | None],
    opens_reply: bool,
) -> str | None:
    """The returned token that the word is or begins with."""
    tokens = {plain(token): token for token in values}
    whole = [tokens[text] for text in (f" {word}", word) if text in tokens]
    if whole:
        return max(whole, key=lambda token: values[token]) if opens_reply else whole[0]
    beginnings = [text for text in tokens if text.strip() and (f" {word}".startswith(text) or word.startswith(text))]
    first = first_token(word, beginnings) if beginnings else None
    return None if first is None else tokens[first]
