"""The parts of a server's answers that are used, validated."""

from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, AliasChoices, AliasPath, BaseModel, BeforeValidator, Field, ValidationError

from eyechart.evaluators.backends.endpoint.failures import DROPPED, SEPARATOR, USUAL_ADDRESS, clean
from eyechart.evaluators.requests.errors import EndpointError
from eyechart.evaluators.requests.secrets import redact
from eyechart.metrics.scoring.reasoning import LENGTH, REASONING, REFUSAL, STOPPED_EARLY

_BLANKS = str.maketrans({"\u2581": " ", "\u0120": " "})
# Rounding may add a little to the logarithm of a probability of 1.
Logprob = Annotated[float, Field(le=1e-3)]
Text = Annotated[str, AfterValidator(redact)]
"""A text without secrets."""
Name = Annotated[str, Field(max_length=1000), AfterValidator(redact)]


def _possible_count(value: Any) -> int:
    """A count; 0 for one that is missing or impossible: more than any context length is an error of the server."""
    return value if type(value) is int and 0 <= value <= 10**8 else 0


Count = Annotated[int, BeforeValidator(_possible_count)]


def plain(token: str) -> str:
    """A token's text with ordinary spaces: some servers return them as tokenizers write them."""
    return token.translate(_BLANKS)


class Token(BaseModel):
    """A token of a prompt or a reply, and the most probable tokens at its position."""

    logprob: Logprob
    token: Annotated[str, AfterValidator(plain)] = ""
    top_logprobs: "list[Token]" = Field([], fail_fast=True)

    @property
    def likeliest(self) -> dict[str, float]:
        """Log-probabilities of the most probable tokens at this position; of two equal texts the more probable one."""
        ascending = sorted(self.top_logprobs, key=lambda top: top.logprob)
        return {top.token: top.logprob for top in ascending}


class Choice(BaseModel):
    """One of the replies asked for."""

    message: dict[str, Any]
    content: Text | None = Field(None, validation_alias=AliasPath("message", "content"))
    refusal: Text | None = Field(None, validation_alias=AliasPath("message", "refusal"))
    """The model's refusal, if the server separates it from the reply."""
    reasoning: Text | None = Field(
        None,
        validation_alias=AliasChoices(AliasPath("message", "reasoning"), AliasPath("message", "reasoning_content")),
    )
    """The reasoning before the reply, if the server separates it; newer versions of vLLM call it `reasoning`."""
    tokens: list[Token] | None = Field(None, fail_fast=True, validation_alias=AliasPath("logprobs", "content"))
    finish_reason: Name | None = None

    @property
    def sent_text(self) -> str | None:
        """The reply, or the refusal; "" if there is only reasoning, None if there is nothing."""
        text = self.refusal if self.content is None else self.content
        return "" if text is None and self.reasoning else text

    @property
    def text(self) -> str:
        """The reply's text; "" without one, which the finish reason explains."""
        if self.sent_text is None and self.finish_reason not in STOPPED_EARLY:
            raise EndpointError(f"the server's reply has no text (finish_reason {self.finish_reason!r})")
        return self.sent_text or ""

    @property
    def ended(self) -> str | None:
        """Why the reply ended; a refusal has its own finish reason."""
        return REFUSAL if self.content is None and self.refusal is not None else self.finish_reason


class Usage(BaseModel):
    """The billed tokens, as far as the server reports them."""

    prompt_tokens: Count = 0
    completion_tokens: Count = 0
    reasoning_tokens: Count = Field(
        default=0, validation_alias=AliasPath("completion_tokens_details", "reasoning_tokens"), exclude=True
    )


class Completion(BaseModel):
    """The complete answer of a server."""

    choices: list[Choice] = Field(fail_fast=True, max_length=1000)
    prompt_logprobs: list[dict[str, Token] | None] | None = Field(None, fail_fast=True)
    """By token id, the prompt's own token first; only vLLM returns them."""
    usage: Annotated[Usage, BeforeValidator(lambda usage: usage or {})] = Usage()
    model: Name | None = None
    dropped: Annotated[frozenset[str], BeforeValidator(lambda _: frozenset())] = frozenset()
    """The parameters that the client dropped from the request; never read from the answer."""

    @property
    def finish_reason(self) -> str | None:
        """Why the first reply ended; truncation within hidden reasoning has its own finish reason."""
        choice = self.choices[0]
        is_hidden = choice.ended == LENGTH and not choice.text and self.usage.reasoning_tokens
        return REASONING if is_hidden else choice.ended

    @property
    def metadata(self) -> dict[str, str]:
        """What is known only from the answer, as stored with each reply; without what is unknown."""
        metadata = {"served": self.model, DROPPED: SEPARATOR.join(sorted(self.dropped))}
        return {name: value for name, value in metadata.items() if value}


class Model(BaseModel):
    """A model that a server lists."""

    id: Name = Field(min_length=1)
    owned_by: Any = ""


class About(BaseModel):
    """A server's version, in the forms of vLLM, SGLang and llama.cpp."""

    version: Text = Field(max_length=100, validation_alias=AliasChoices("version", "build_info"))


class ModelList(BaseModel):
    """The models that a server lists."""

    data: list[Model] = Field(fail_fast=True, max_length=10_000)


Form = TypeVar("Form", bound=BaseModel)


def parse(form: type[Form], content: bytes, name: str, url: str) -> Form:
    """Parse the body of an answer with status 200; raises `EndpointError` if it does not have the form."""
    try:
        return form.model_validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        what = f"'{'.'.join(map(str, first['loc']))}': {first['msg']}"
        begin = redact(content[:4096].decode(errors="replace"))[:80]
        hint = f". {USUAL_ADDRESS}" if begin.lstrip().startswith("<") else ""
        what = f"the answer is not {name} ({what}); it begins with {begin!r}{hint}"
        raise EndpointError(clean(f"{url} answered with status 200, but {what}")) from None
