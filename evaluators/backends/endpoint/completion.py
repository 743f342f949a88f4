"""The parts of a server's chat completion that are used, validated."""

from typing import Annotated, Any

from pydantic import AfterValidator, AliasChoices, BaseModel, BeforeValidator, Field, ValidationError

from eyechart.datasets_scripts.common.errors import EndpointError
from eyechart.metrics.scoring.reasoning import LENGTH, REASONING, REFUSAL, STOPPED_EARLY

# What rounding may add to the logarithm of a probability of 1.
_ROUNDING = 1e-3
# More than any context length: a larger count is an error of the server.
_MOST_TOKENS = 10**8


def _check_logprob(value: float) -> float:
    if not value <= _ROUNDING:
        raise ValueError(f"log-probability is {value}; expected at most 0")
    return value


def _count(value: Any) -> int:
    """A number of tokens; 0 if it is impossible, as if it were missing."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return int(value) if is_number and 0 <= value <= _MOST_TOKENS and value == int(value) else 0


Logprob = Annotated[float, AfterValidator(_check_logprob)]
Count = Annotated[int, BeforeValidator(_count)]


class TopLogprob(BaseModel):
    """One of the most probable tokens at one position."""

    token: str
    logprob: Logprob


class Token(TopLogprob):
    """The token that was generated at one position."""

    top_logprobs: list[TopLogprob] = []

    @property
    def likeliest(self) -> dict[str, float]:
        """Log-probabilities of the most probable tokens at this position; of two equal texts the more probable one."""
        ascending = sorted(self.top_logprobs, key=lambda top: top.logprob)
        return {top.token: top.logprob for top in ascending}


class Logprobs(BaseModel):
    """The tokens of a reply."""

    content: list[Token] | None = None


class Message(BaseModel):
    """A reply."""

    content: str | None = None
    refusal: str | None = None
    """The model's refusal, if the server separates it from the reply."""
    reasoning: str | None = Field(default=None, validation_alias=AliasChoices("reasoning", "reasoning_content"))
    """The reasoning before the reply, if the server separates it: `reasoning_content` in DeepSeek, SGLang, llama.cpp
    and older versions of vLLM, `reasoning` in newer ones."""

    @property
    def text(self) -> str | None:
        """The reply, or the refusal; "" if there is only reasoning, None if there is nothing."""
        text = self.refusal if self.content is None else self.content
        return "" if text is None and self.reasoning else text


class CompletionChoice(BaseModel):
    """One of the replies asked for."""

    message: Message
    logprobs: Logprobs | None = None
    finish_reason: str | None = None

    @property
    def text(self) -> str:
        """The reply's text; "" if all tokens went into hidden reasoning, or a content filter removed the text.

        Raises:
            EndpointError: The reply has no text, and the finish reason does not explain it.
        """
        text = self.message.text
        if text is None and self.finish_reason not in STOPPED_EARLY:
            raise EndpointError(f"the server's reply has no text (finish_reason {self.finish_reason!r})")
        return text or ""

    @property
    def ended(self) -> str | None:
        """Why the reply ended; a refusal has its own finish reason."""
        return REFUSAL if self.message.content is None and self.message.refusal is not None else self.finish_reason

    @property
    def tokens(self) -> list[Token]:
        """The reply's tokens; empty if the server does not return them."""
        return (self.logprobs and self.logprobs.content) or []

    @property
    def has_likeliest(self) -> bool:
        """Whether the server returned the most probable tokens; True for a reply without tokens."""
        returned = self.logprobs is not None and self.logprobs.content is not None
        return returned and all(token.top_logprobs for token in self.tokens[:1])


class CompletionDetails(BaseModel):
    """Details of the tokens of a reply."""

    reasoning_tokens: Count = 0


class Usage(BaseModel):
    """The billed tokens, as far as the server reports them."""

    prompt_tokens: Count = 0
    completion_tokens: Count = 0
    completion_tokens_details: CompletionDetails | None = Field(default=None, exclude=True)


class PromptToken(BaseModel):
    """One of the tokens at one position of a prompt."""

    logprob: Logprob


class Completion(BaseModel):
    """The complete answer of a server."""

    choices: list[CompletionChoice]
    prompt_logprobs: list[dict[str, PromptToken] | None] | None = None
    """By token id, the prompt's own token first; only vLLM returns them."""
    usage: Usage | None = None
    model: str | None = None
    dropped: Annotated[frozenset[str], BeforeValidator(lambda _: frozenset())] = frozenset()
    """The parameters that the client dropped from the request; never read from the answer."""

    @property
    def finish_reason(self) -> str | None:
        """Why the first reply ended; truncation within hidden reasoning has its own finish reason."""
        choice = self.choices[0]
        details = self.usage and self.usage.completion_tokens_details
        is_hidden = choice.ended == LENGTH and not choice.text and details and details.reasoning_tokens
        return REASONING if is_hidden else choice.ended


def parse_completion(content: bytes) -> Completion:
    """Parse the body of an answer with status 200.

    Raises:
        ValueError: The body is not JSON, or not a chat completion.
    """
    try:
        return Completion.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        what = f"'{where}': {first['msg']}" if where else first["msg"]
        begin = content[:80].decode(errors="replace")
        hint = ". Is the base URL correct? It usually ends in /v1" if begin.lstrip().startswith("<") else ""
        raise ValueError(f"the answer is not a chat completion ({what}); it begins with {begin!r}{hint}") from None
