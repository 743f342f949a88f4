"""What a server sends back for a chat completion, as far as it is used, and checked before it is."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ValidationError

from eyechart.datasets_scripts.common.errors import EndpointError

# What rounding may add to the logarithm of a probability of 1.
_ROUNDING = 1e-3


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


class Choice(BaseModel):
    """One of the replies asked for."""

    message: Message
    logprobs: Logprobs | None = None
    finish_reason: str | None = None

    @property
    def text(self) -> str:
        """The reply's text.

        Raises:
            EndpointError: There is none, for example because a filter took it.
        """
        text = self.message.refusal if self.message.content is None else self.message.content
        if text is None:
            raise EndpointError(f"the server's reply has no text (finish_reason {self.finish_reason!r})")
        return text

    @property
    def tokens(self) -> list[Token]:
        """The reply's tokens; empty if the server does not return them."""
        return (self.logprobs and self.logprobs.content) or []

    @property
    def has_likeliest(self) -> bool:
        """Whether the server returned the likeliest tokens; so it did where the reply has no tokens at all."""
        returned = self.logprobs is not None and self.logprobs.content is not None
        return returned and all(token.top_logprobs for token in self.tokens[:1])


class Usage(BaseModel):
    """Tokens that a server charges for."""

    prompt_tokens: int = 0
    completion_tokens: int = 0


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
