"""The first token of a word that is several: as the server splits it, or else a guess.

vLLM and llama.cpp say at `/tokenize` how they split a text. Of other servers it is only known that a word has more
than one token, from the length of a prompt that ends in it. Then the longest of the returned tokens with which the word
begins is taken for its first, which is wrong where a tokenizer that merges pairs has that token and begins the word
with a shorter one.
"""

from collections.abc import Sequence

from eyechart.evaluators.backends.endpoint.completion import Completion
from eyechart.evaluators.backends.endpoint.question import Question
from eyechart.evaluators.backends.endpoint.words import plain


class FirstTokens:
    """What words begin with, as far as a server says; it is asked about each word once."""

    def __init__(self) -> None:
        """Nothing was asked yet."""
        self._known: dict[tuple[str, str], str | bool] = {}

    def choose(self, question: Question, completion: Completion, word: str, beginnings: Sequence[str]) -> str | None:
        """The token that a word begins with.

        Args:
            question: What was asked.
            completion: The server's answer.
            word: The word; a blank stands before it.
            beginnings: Texts of returned tokens with which the word could begin; at least one.

        Returns:
            One of `beginnings`; None where the first token is not among them, or not known.
        """
        # Without a prefilled reply there is no place to put the word.
        if question.way is None:
            return None
        with question.lock:
            key = (question.request.prefill, word)
            if key not in self._known:
                self._known[key] = _ask(question, completion, word)
        first = self._known[key]
        if isinstance(first, str):
            # vLLM leaves out the blank of a token of SentencePiece in one place and shows it in the other.
            return next((text for text in (first, first.lstrip()) if text in beginnings), None)
        return max(beginnings, key=len) if first else None


def _ask(question: Question, completion: Completion, word: str) -> str | bool:
    """The text of the word's first token or, where the server does not say, whether it has several."""
    before, more = question.request.prefill, f" {word}"
    tokens, first = question.client.tokenize(before), question.client.tokenize(before + more)
    if tokens is not None and first is not None and first[: len(tokens)] == tokens and len(first) > len(tokens):
        return plain(first[len(tokens)])
    return _prompt_tokens(question.ask(more, max_tokens=1)) - _prompt_tokens(completion) > 1


def _prompt_tokens(completion: Completion) -> int:
    return completion.usage.prompt_tokens if completion.usage else 0
