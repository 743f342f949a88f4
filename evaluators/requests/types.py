"""The types passed between protocols and backends: `Request`, `Answer`, `Response`, `Backend`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from enum import Enum
from typing import Annotated, Any, NamedTuple, Protocol, runtime_checkable

from pydantic import ConfigDict, Field, with_config

from eyechart.datasets_scripts.common.errors import DataError

Row = Mapping[str, Any]
"""One row of a dataset; images are still encoded."""
FROM_FILE = "predictions_file"
"""Name in results of the backend that reads precomputed predictions."""
PROVIDER = "chosen by the provider"
"""The setting `decoding` of replies without a temperature."""


class ImagePlace(Enum):
    """The place of an image in a prompt."""

    IMAGE = "image"


IMAGE = ImagePlace.IMAGE


class OutputType(Enum):
    """What a request asks of a model."""

    TEXT = "text"
    LOGITS = "next-token logits"
    LOSSES = "losses of given continuations"


Prompt = tuple[str | ImagePlace, ...]
"""Texts and image places, in the order the model sees them."""
_Count = Annotated[int, Field(strict=True, ge=0, lt=2**63)]
_Number = Annotated[float, Field(strict=True)]


@dataclass(frozen=True)
class Request:
    """One question to a model."""

    id: str
    """The row's id."""
    prompt: Prompt
    images: tuple[Any, ...]
    """One for each image place: a PIL image, a path, `{"bytes", "path"}`, or an object whose `read()` returns one."""
    options: tuple[str, ...] = ()
    """The options as the prompt shows them, in that order; empty if missing."""
    prefill: str = ""
    """Beginning of the reply, given to the model."""
    words: tuple[str, ...] = ()
    """Words whose next-token logits are requested; empty otherwise."""
    optional_words: tuple[str, ...] = ()
    """Further words, whose logits are requested if available."""
    continuations: tuple[str, ...] = ()
    """Texts whose losses as continuations of the prompt and `prefill` are requested; empty otherwise."""
    max_new_tokens: int = 32
    """Maximum length of the reply, in tokens."""
    image_ids: tuple[str, ...] = ()
    """Ids of the images in the data, if scores of single images can answer the request; empty otherwise."""
    pass_name: str = "main"
    """Which of several passes over the same row: "main", "rotation:1", "forced", "reversed"."""
    repeat: int = 1
    """Which of several replies to the same request, if replies are sampled."""
    optional: bool = False
    """Whether the row can be scored without an answer to this request."""

    def __post_init__(self) -> None:
        """Refuse a reply without tokens."""
        if self.output_type is OutputType.TEXT and self.max_new_tokens < 1:
            raise ValueError(f"request {self.id!r} has max_new_tokens={self.max_new_tokens}; expected at least 1")

    @property
    def all_words(self) -> tuple[str, ...]:
        """The required words, then the optional ones."""
        return self.words + self.optional_words

    @property
    def output_type(self) -> OutputType:
        """Losses if there are continuations, logits if there are words, else text."""
        if self.continuations:
            return OutputType.LOSSES
        return OutputType.LOGITS if self.words else OutputType.TEXT

    def rendered(self) -> str:
        r"""The request as text: the prompt, then one line each for prefill, words and continuations.

        Examples:
            >>> Request("1", ("Which? ", IMAGE), (None,), prefill="It is", continuations=("A", "B")).rendered()
            'Which? <image>\n[reply begins with] It is\n[compares the losses of] A | B'
        """
        lines = ["".join("<image>" if part is IMAGE else str(part) for part in self.prompt)]
        if self.prefill:
            lines.append(f"[reply begins with] {self.prefill}")
        if self.words:
            lines.append(f"[reads the logits of] {' | '.join(self.all_words)}")
        if self.continuations:
            lines.append(f"[compares the losses of] {' | '.join(self.continuations)}")
        return "\n".join(lines)


class Loss(NamedTuple):
    """How well a model predicts a given text."""

    total: _Number
    """Sum of the negative log-likelihoods of the text's tokens, in nats; lower is likelier."""
    tokens: Annotated[_Count, Field(ge=1)]
    """Number of the text's tokens, at least 1."""

    @property
    def mean(self) -> float:
        """Negative log-likelihood per token, in nats."""
        return self.total / self.tokens


@with_config(ConfigDict(extra="forbid", allow_inf_nan=False))
@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a model or a judge answered, in the form in which it is stored; it is checked when it is stored and read."""

    text: str | None = None
    """The answer, without the reasoning before it; "" if the model wrote only reasoning, None if there is no text."""
    reasoning: str | None = None
    """What a reasoning model wrote before its answer."""
    finish_reason: str | None = None
    """How the text ended: one of `reasoning.FINISH_REASONS`, or another word of the server's; None if unknown."""
    logits: Mapping[str, _Number] | None = None
    """Next-token logit of each required word and of the available optional words, up to a shared constant."""
    losses: tuple[Loss, ...] | None = None
    """Loss of each continuation."""
    score: _Number | None = None
    """A quality score instead of logits, from a file of precomputed predictions; higher is better."""
    image_scores: tuple[_Number, ...] | None = None
    """Quality scores of the request's images, if the text comes from comparing them; higher is better."""
    upper_bound_words: tuple[str, ...] = ()
    """Words whose logit is only an upper bound, because the server returned only its most probable tokens."""
    usage: Mapping[str, _Count] = field(default_factory=dict)
    """Tokens that a server charged for: "prompt_tokens", "completion_tokens"; the first of a judge's replies to a
    conversation also has "requests", and "estimated" where the server did not count."""
    options: tuple[str, ...] | None = None
    """The options as they were shown, if the backend knows better than the request (precomputed predictions)."""
    rendered_prompt: str | None = None
    """The prompt as the chat template renders it, or the texts that an image was compared with; None if unknown."""
    images_downscaled: _Count | None = None
    """How many of the request's images were downscaled for the model; None if unknown."""
    response_metadata: Mapping[str, str] = field(default_factory=dict)
    """Settings known only from the response, such as the model name that a server reports."""


@dataclass(frozen=True)
class Response(Answer):
    """A backend's answer to one request, or an error."""

    request: Request
    _: KW_ONLY
    stored: bool = field(default=False, compare=False)
    """Whether it comes from the response store instead of a new request."""
    cluster: str | None = None
    """What the item shares with others, if a file of predictions says so."""
    error: DataError | None = None
    """Why the request could not be answered, for example an image that cannot be read."""


@runtime_checkable
class Backend(Protocol):
    """Anything that answers requests; a subclass overrides what differs."""

    name: str
    """The model's id or folder."""
    needs_images: bool = True
    """Whether requests have to carry their images."""
    writes_replies: bool = True
    """Whether it generates replies, so that longer ones can be requested; precomputed predictions cannot change."""
    billed_per_request: bool = False
    """Whether each request is sent and billed separately, so that fewer requests cost less."""
    samples: bool = False
    """Whether it samples its replies, so that the repeats of a request differ."""

    def check(self, output_type: OutputType) -> None:
        """Raise `ModelError` if the backend can't give this; here it gives everything."""
        return

    def for_data(self, dataset: str) -> "Backend":
        """The backend for the rows of one dataset; row ids are unique only within a dataset."""
        return self

    def identity(self) -> dict[str, Any] | None:
        """All that an answer depends on other than its request, as JSON: part of its key; None if it is unknown."""
        return None

    def answer(self, requests: Sequence[Request]) -> Iterator[Response]:
        """Yield one response per request, in any order, as they become ready."""

    def settings(self) -> dict[str, Any]:
        """Everything about the model and its use that can change an answer; complete after `answer`.

        Values that differ between answers belong in the `Response`, because stored answers are not requested again.
        """
