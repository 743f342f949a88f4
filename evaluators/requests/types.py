"""The types that travel from a protocol to a backend and back: `Request`, `Response`, `RowResponses`, `Backend`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol, runtime_checkable

from eyechart.datasets_scripts.common.errors import DataError

Row = Mapping[str, Any]
"""One row of a dataset, in the columns of its kind; images are still encoded."""


class ImagePlace(Enum):
    """Where an image stands in a prompt."""

    IMAGE = "image"


IMAGE = ImagePlace.IMAGE


class OutputType(Enum):
    """What a request wants of a model."""

    TEXT = "text"
    LOGITS = "next-token logits"
    LOSSES = "losses of given continuations"


Prompt = tuple[str | ImagePlace, ...]
"""Texts and image places, in the order the model sees them."""


@dataclass(frozen=True)
class Request:
    """One question to a model."""

    id: str
    """The row's id."""
    prompt: Prompt
    images: tuple[Any, ...]
    """One for each image place of the prompt: a PIL image, a path, `{"bytes", "path"}`, or an object whose `read()`
    gives that."""
    options: tuple[str, ...] = ()
    """The options as the prompt shows them, in that order; empty where there are none."""
    prefill: str = ""
    """How the reply begins, given to the model."""
    words: tuple[str, ...] = ()
    """Words whose next-token logits are wanted; empty otherwise."""
    optional_words: tuple[str, ...] = ()
    """Further words, whose logits are wanted as well where they can be had."""
    continuations: tuple[str, ...] = ()
    """Texts whose losses as what follows the prompt and `prefill` are wanted; empty otherwise."""
    max_new_tokens: int = 32
    """The longest text wanted, in tokens."""
    image_ids: tuple[str, ...] = ()
    """What the data call the images, where scores of single images can answer; empty elsewhere."""
    pass_name: str = "main"
    """Which of several passes over the same row: "main", "rotation:1", "forced", "reversed"."""
    repeat: int = 1
    """Which of several replies to the same request, where these are drawn at random."""
    optional: bool = False
    """Whether the row can be scored without an answer to this."""

    def __post_init__(self) -> None:
        """Refuse a request for two things at once, or for none."""
        if self.words and self.continuations:
            raise ValueError(f"request {self.id!r} wants logits and losses; it may want one of them")
        if self.optional_words and not self.words:
            raise ValueError(f"request {self.id!r} wants logits of optional words alone; it has to need some")
        if self.output_type is OutputType.TEXT and self.max_new_tokens < 1:
            raise ValueError(f"request {self.id!r} wants a text of {self.max_new_tokens} tokens; it is at least 1 long")

    @property
    def all_words(self) -> tuple[str, ...]:
        """The words that are needed, then the optional ones."""
        return self.words + self.optional_words

    @property
    def output_type(self) -> OutputType:
        """Losses where there are continuations, logits where there are words, else text."""
        if self.continuations:
            return OutputType.LOSSES
        return OutputType.LOGITS if self.words else OutputType.TEXT


@dataclass(frozen=True)
class Loss:
    """How well a model predicts a given text.

    Attributes:
        total: Sum of the negative log-likelihoods of the text's tokens, in nats; lower is likelier.
        tokens: Number of the text's tokens, at least 1.
    """

    total: float
    tokens: int

    @property
    def mean(self) -> float:
        """Negative log-likelihood per token, in nats."""
        return self.total / self.tokens


@dataclass(frozen=True)
class Response:
    """A backend's answer to one request: text, logits, losses, or the error in their place."""

    request: Request
    text: str | None = None
    """The answer, without the reasoning before it; "" where the model said nothing else."""
    reasoning: str | None = None
    """What a reasoning model wrote before its answer."""
    finish_reason: str | None = None
    """How the text ended: one of `reasoning.FINISH_REASONS`, or another word of the server's; None where unknown."""
    logits: Mapping[str, float] | None = None
    """Next-token logit of each word needed, and of the optional ones that could be had, up to a constant that all words
    share (so log-probabilities too)."""
    losses: tuple[Loss, ...] | None = None
    """Loss of each continuation asked for."""
    score: float | None = None
    """A quality score in place of logits, from a file of precomputed ones; higher is better."""
    image_scores: tuple[float, ...] | None = None
    """Quality scores of the request's images, where the text comes from comparing them; higher is better."""
    upper_bound_words: tuple[str, ...] = ()
    """Words whose logit is only an upper bound, as the server returned no more than its most probable tokens."""
    usage: Mapping[str, int] = field(default_factory=dict)
    """Tokens that a server charged for: "prompt_tokens", "completion_tokens"."""
    options: tuple[str, ...] | None = None
    """The options as they were shown, where the backend knows better than the request (precomputed predictions)."""
    rendered_prompt: str | None = None
    """The prompt as the model's chat template writes it, images as their placeholders, or the texts that an image was
    compared with, one a line; None where a server renders it."""
    images_downscaled: int | None = None
    """How many of the request's images the model saw with fewer pixels than they have; None where unknown."""
    response_metadata: Mapping[str, str] = field(default_factory=dict)
    """Settings known only from the answer, such as the name under which a server answered."""
    stored: bool = field(default=False, compare=False)
    """Whether it comes from the response store and was not asked for now."""
    error: DataError | None = None
    """Why the request could not be answered, for example an image that cannot be read."""
    item: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """What the protocol read from it: columns of predictions.parquet."""


@dataclass(frozen=True)
class RowResponses:
    """A row with the responses to its requests, in the order in which they were asked."""

    row: Row
    responses: tuple[Response, ...]

    def of_pass(self, name: str) -> Response | None:
        """The response to the request of that pass; None where it was not asked."""
        return next((response for response in self.responses if response.request.pass_name == name), None)


@runtime_checkable
class Backend(Protocol):
    """Anything that answers requests; a subclass overrides what differs."""

    needs_images: bool = True
    """Whether requests have to carry their images."""
    writes_replies: bool = True
    """Whether it writes replies when asked, which then may be longer ones; predictions are there already."""
    billed_per_request: bool = False
    """Whether each request is asked and paid for by itself, so that asking fewer of them saves."""
    samples: bool = False
    """Whether it draws its replies at random, so that the repeats of a request differ."""

    @property
    def name(self) -> str:
        """The model's id or folder."""

    def check(self, output_type: OutputType) -> None:
        """Raise `ModelError` if the backend can't give this."""

    def for_data(self, dataset: str) -> "Backend":
        """What answers about the rows of a dataset, whose ids need be unique in it alone."""
        return self

    def identity(self) -> dict[str, Any] | None:
        """All that an answer depends on besides its request, as JSON values: the key of stored answers.

        None where that is unknown, as for a function: such answers are never stored.
        """
        return None

    def answer(self, requests: Sequence[Request]) -> Iterator[Response]:
        """Yield one response per request, in any order, as they become ready."""

    def settings(self) -> dict[str, Any]:
        """Everything about the model and its use that can change an answer; complete after `answer`.

        What differs between answers belongs into the `Response`, as stored ones are not asked for again.
        """
