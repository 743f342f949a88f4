"""The first token of a word of several tokens: from the server's tokenizer, or otherwise a guess.

vLLM and llama.cpp return the tokens of a text at `/tokenize`. With other servers, the length of a prompt that ends in
the word shows only that the word has more than one token. The longest returned token with which the word begins is then
assumed to be its first token. This is wrong if the tokenizer splits the word after a shorter token.
"""

from collections.abc import Sequence

from eyechart.evaluators.backends.endpoint.completion import Completion
from eyechart.evaluators.backends.endpoint.question import Question
from eyechart.evaluators.backends.endpoint.words import plain


class FirstTokens:
    """The first tokens of words, as far as the server reveals them; it is asked about each word once."""

    def __init__(self) -> None:
        """Start without known words."""
        self._known: dict[tuple[str, str], str | bool] = {}

    def choose(self, question: Question, completion: Completion, word: str, beginnings: Sequence[str]) -> str | None:
        """The token that a word begins with.

        Args:
            question: The question.
            completion: The server's answer.
            word: The word; it follows a space.
            beginnings: Texts of returned tokens with which the word could begin; at least one.

        Returns:
            One of `beginnings`; None if the first token is not among them or unknown.
        """
        # Without a prefilled reply, the word cannot be put into the prompt.
        if question.way is None:
            return None
        with question.lock:
            key = (question.request.prefill, word)
            if key not in self._known:
                self._known[key] = _ask(question, completion, word)
        first = self._known[key]
        if isinstance(first, str):
            # vLLM shows the space of a SentencePiece token in one of the two places only.
            return next((text for text in (first, first.lstrip()) if text in beginnings), None)
        return max(beginnings, key=len) if first else None


def _ask(question: Question, completion: Completion, word: str) -> str | bool:
    """The text of the word's first token or, if the server does not return it, whether the word has several tokens."""
    before, more = question.request.prefill, f" {word}"
    tokens, first = question.client.tokenize(before), question.client.tokenize(before + more)
    if tokens is not None and first is not None and first[: len(tokens)] == tokens and len(first) > len(tokens):
        return plain(first[len(tokens)])
    return _prompt_tokens(question.ask(more, max_tokens=1)) - _prompt_tokens(completion) > 1


def _prompt_tokens(completion: Completion) -> int:
    return completion.usage.prompt_tokens if completion.usage else 0
