"""What a server sends back for a chat completion, as far as it is used, and checked before it is."""

from typing import Annotated, Any

from pydantic import AfterValidator, AliasChoices, BaseModel, BeforeValidator, Field, TypeAdapter, ValidationError

from eyechart.datasets_scripts.common.errors import EndpointError
from eyechart.metrics.scoring.reasoning import LENGTH, REASONING, REFUSAL, STOPPED_EARLY

# What rounding may add to the logarithm of a probability of 1.
_ROUNDING = 1e-3
# More than any context: what a server counts beyond it is no count.
_MOST_TOKENS = 10**8


def _check_logprob(value: float) -> float:
    if not value <= _ROUNDING:
        raise ValueError(f"a log-probability is at most 0; this one is {value}")
    return value


Logprob = Annotated[float, AfterValidator(_check_logprob)]


class TopLogprob(BaseModel):
    """One of the likeliest tokens at one place."""

    token: str
    logprob: Logprob


class Token(TopLogprob):
    """The token that was generated at one place."""

    top_logprobs: list[TopLogprob] = []

    @property
    def likeliest(self) -> dict[str, float]:
        """Log-probabilities of the likeliest tokens at this place; of equal texts the likelier one."""
        ascending = sorted(self.top_logprobs, key=lambda top: top.logprob)
        return {top.token: top.logprob for top in ascending}


class Logprobs(BaseModel):
    """The tokens of a reply."""

    content: list[Token] | None = None


class Message(BaseModel):
    """A reply."""

    content: str | None = None
    refusal: str | None = None
    """What a model says instead of a reply, where the server separates the two."""
    reasoning: str | None = Field(default=None, validation_alias=AliasChoices("reasoning", "reasoning_content"))
    """What it wrote before, where the server separates the two: `reasoning_content` of DeepSeek, SGLang, llama.cpp and
    older versions of vLLM, `reasoning` of newer ones."""

    @property
    def text(self) -> str | None:
        """The reply, or the refusal; "" where there is reasoning alone. None where there is nothing."""
        found = self.refusal if self.content is None else self.content
        return "" if found is None and self.reasoning else found


class Choice(BaseModel):
    """One of the replies asked for."""

    message: Message
    logprobs: Logprobs | None = None
    finish_reason: str | None = None

    @property
    def text(self) -> str:
        """The reply's text.

        Raises:
            EndpointError: There is none, and the server does not say why.
        """
        text = self.message.text
        if text is None and self.finish_reason in STOPPED_EARLY:
            # All tokens went into reasoning that the server keeps to itself, or a filter took the text.
            return ""
        if text is None:
            raise EndpointError(f"the server's reply has no text (finish_reason {self.finish_reason!r})")
        return text

    @property
    def ended(self) -> str | None:
        """Why the reply ended, a refusal told from an answer."""
        return REFUSAL if self.message.content is None and self.message.refusal is not None else self.finish_reason

    @property
    def tokens(self) -> list[Token]:
        """The reply's tokens; empty if the server does not return them."""
        return (self.logprobs and self.logprobs.content) or []

    @property
    def has_likeliest(self) -> bool:
        """Whether the server returned the likeliest tokens; so it did where the reply has no tokens at all."""
        returned = self.logprobs is not None and self.logprobs.content is not None
        return returned and all(token.top_logprobs for token in self.tokens[:1])


def _count(value: Any) -> int:
    """A number of tokens; 0, as for one that is not told, where none can have it."""
    is_whole = (isinstance(value, int) and not isinstance(value, bool)) or (
        isinstance(value, float) and value.is_integer()
    )
    return int(value) if is_whole and 0 <= value <= _MOST_TOKENS else 0


Count = Annotated[int, BeforeValidator(_count)]


class CompletionDetails(BaseModel):
    """What the tokens of a reply were for."""

    reasoning_tokens: Count = 0


class Usage(BaseModel):
    """Tokens that a server charges for, as far as it tells them."""

    prompt_tokens: Count = 0
    completion_tokens: Count = 0
    completion_tokens_details: CompletionDetails | None = None

    @property
    def counted(self) -> dict[str, int]:
        """The tokens of the prompt and of the reply."""
        return {"prompt_tokens": self.prompt_tokens, "completion_tokens": self.completion_tokens}


class PromptToken(BaseModel):
    """One of the tokens at one place of a prompt."""

    logprob: Logprob


class Completion(BaseModel):
    """The whole answer of a server."""

    choices: list[Choice]
    prompt_logprobs: list[dict[str, PromptToken] | None] | None = None
    """By token id, the prompt's own token first; only vLLM returns them."""
    usage: Usage | None = None
    model: str | None = None

    @property
    def finish_reason(self) -> str | None:
        """Why the first reply ended, one within hidden reasoning told from others that are cut off."""
        ended = self.choices[0].ended
        details = self.usage and self.usage.completion_tokens_details
        is_hidden = ended == LENGTH and not self.choices[0].text and details and details.reasoning_tokens
        return REASONING if is_hidden else ended


class _Piece(BaseModel):
    piece: str | list[int]
    """A part of a character is its bytes."""


class _OfLlamaCpp(BaseModel):
    tokens: list[_Piece]


class _OfVllm(BaseModel):
    token_strs: list[str]


_TOKENS = TypeAdapter[_OfVllm | _OfLlamaCpp](_OfVllm | _OfLlamaCpp)


def parse_tokens(content: bytes) -> list[str] | None:
    """Read the texts of tokens, as vLLM and llama.cpp answer at `/tokenize`; None for any other answer.

    Examples:
        >>> parse_tokens(b'{"count": 1, "tokens": [341], "token_strs": [" s"]}')
        [' s']
        >>> parse_tokens(b'{"tokens": [{"id": 341, "piece": " s"}]}')
        [' s']
    """
    try:
        found = _TOKENS.validate_json(content)
    except ValidationError:
        return None
    return found.token_strs if isinstance(found, _OfVllm) else [str(token.piece) for token in found.tokens]


def parse_completion(content: bytes) -> Completion:
    """Read a server's answer.

    Args:
        content: The body of an answer with status 200.

    Raises:
        ValueError: It is no JSON, or not that of a chat completion.
    """
    try:
        return Completion.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        what = f"'{where}': {first['msg']}" if where else first["msg"]
        begin = content[:80].decode(errors="replace")
        hint = ". Is the base URL right? It usually ends in /v1" if begin.lstrip().startswith("<") else ""
        raise ValueError(f"it is no chat completion ({what}); it begins {begin!r}{hint}") from None
