"""The log-probabilities of given words among the few likeliest tokens that a server returns.

Words are found by their text. A word is its whole token, with the blank before it or else without. Where no such token
is returned, the word may be several tokens, and counts by its first.
"""

import math
from collections.abc import Callable, Mapping, Sequence

from eyechart.datasets_scripts.common.errors import EndpointError
from eyechart.evaluators.backends.distinct_words import distinct_words

# What OpenAI writes instead of the log-probability of a very unlikely token.
_NO_VALUE = -9999.0
# How tokenizers write a blank in the tokens themselves; some servers pass that on.
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
        likeliest: Log-probabilities of the likeliest tokens at one place, by their texts.
        words: The words that are compared.
        first_token: Says which of the texts of returned tokens is the first token of a word, None if it is not among
            them or not known; asked only about words whose whole token is not there while a beginning of theirs is.
        optional: Further words; those that begin with the same token as another are left out.
        opens_reply: Whether the words would begin the reply. What the server writes before it is not known then, so of
            a word with and without a blank the likelier one counts; elsewhere a blank stands before it.

    Returns:
        The log-probability of each word, and the words whose token is not there: they have the smallest value there
        is, an upper bound of theirs.

    Raises:
        ModelError: Two words begin with the same token.
        EndpointError: All tokens have a probability of 0.
    """
    values = {token: value for token, value in likeliest.items() if value > _NO_VALUE} or dict(likeliest)
    tokens = {word: _token_of(word, values, first_token, opens_reply) for word in (*words, *optional)}
    tokens = {word: tokens[word] for word in distinct_words(tokens, words)}
    lowest = min(values.values())
    if lowest == -math.inf:
        raise EndpointError("the server gives each of its likeliest tokens a probability of 0")
    found = {word: lowest if token is None else values[token] for word, token in tokens.items()}
    return found, tuple(word for word, token in tokens.items() if token is None)


def plain(token: str) -> str:
    """A token's text with its blanks as blanks."""
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
