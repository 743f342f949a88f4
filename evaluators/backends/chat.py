"""Chats with a model: options for all of a run, requests as messages, and the words whose logits are wanted."""

import hashlib
import math
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.requests.errors import ModelError
from eyechart.evaluators.requests.types import IMAGE, Request

if TYPE_CHECKING:
    from PIL.Image import Image

_SWITCHES = ("enable_thinking", "thinking")
_BUDGET = "thinking_budget"


@dataclass(frozen=True)
class Sampling:
    """How replies are sampled; logits and losses are never sampled.

    Attributes:
        temperature: Divides the logits, above 0.
        top_p: Sample only from the most probable tokens whose probabilities together reach this value, above 0 and at
            most 1.
        seed: Seed of the random numbers, at least 0.
    """

    temperature: float
    top_p: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        """Raise `UsageError` if a value is not allowed."""
        if not 0 < self.temperature < math.inf:
            raise UsageError(f"temperature={self.temperature} is not allowed; to sample replies it must be above 0.")
        if not 0 < self.top_p <= 1:
            raise UsageError(f"top_p={self.top_p} is not allowed; it must be above 0 and at most 1.")
        if self.seed < 0:
            raise UsageError(f"sampling_seed={self.seed} is not allowed; it must be at least 0.")

    def fields(self, question: str, repeat: int) -> dict[str, Any]:
        """The fields of a request to a server."""
        return {"temperature": self.temperature, "top_p": self.top_p, "seed": self.request_seed(question, repeat)}

    def request_seed(self, question: str, repeat: int) -> int:
        """The seed of a request, from 1 to 2**31 - 1, which every server accepts.

        It depends on everything by which the request's answer is stored: with another seed, question or repeat, counted
        from 1, the random numbers are others.
        """
        digest = hashlib.sha256(f"{self.seed} {repeat} {question}".encode(errors="surrogatepass")).digest()
        return int.from_bytes(digest) % (2**31 - 1) + 1


@dataclass(frozen=True)
class ChatOptions:
    """Options for every chat of a run, whatever the task.

    Attributes:
        system_prompt: System prompt; None for none.
        thinking: Whether the model reasons before it answers: True, False, or the maximum number of reasoning tokens;
            None leaves it to the model.
        sampling: How replies are sampled; None takes the most probable token each time (greedy decoding).
    """

    system_prompt: str | None = None
    thinking: bool | int | None = None
    sampling: Sampling | None = None

    def __post_init__(self) -> None:
        """Raise `UsageError` if a value is not allowed."""
        if self.system_prompt is not None and not self.system_prompt.strip():
            raise UsageError("system_prompt='' is not allowed; for no system prompt, leave it out.")
        if self.has_budget and int(self.thinking or 0) < 1:
            raise UsageError(f"thinking={self.thinking} is not allowed; give at least 1 token, or off.")

    @property
    def has_budget(self) -> bool:
        """Whether the length of the reasoning is limited."""
        return type(self.thinking) is int

    def settings(self) -> dict[str, Any]:
        """The options as part of a result and of the keys of stored responses; `sampling` only if set."""
        return {name: value for name, value in asdict(self).items() if name != "sampling" or value is not None}

    @property
    def decoding(self) -> str:
        """How tokens are chosen, in the words of results."""
        return "greedy" if self.sampling is None else "sampling"

    @property
    def required(self) -> frozenset[str]:
        """The parameters of sampling that a server must not refuse: those whose value the user chose."""
        given = {} if self.sampling is None else asdict(self.sampling)
        return frozenset(name for name, value in given.items() if value != getattr(Sampling, name, None))

    def template_arguments(self, template: str, name: str) -> dict[str, Any]:
        """The arguments that switch reasoning on or off in a chat template; raises ModelError if it has none."""
        if self.thinking is None:
            return {}
        switch = next((switch for switch in _SWITCHES if re.search(rf"\b{switch}\b", template)), None)
        if switch is None or (self.has_budget and _BUDGET not in template):
            missing = _BUDGET if switch else " or ".join(_SWITCHES)
            raise ModelError(
                f"model '{name}': thinking={self.thinking} has no effect, because the chat template has no argument "
                f"{missing}. Leave --thinking out, or ask for reasoning in --system-prompt as the model's card says."
            )
        budget = {_BUDGET: self.thinking} if self.has_budget else {}
        return {switch: self.thinking is not False, **budget}


def parse_thinking(text: str) -> bool | int:
    """Parse the value of `--thinking`; raises UsageError if it is neither on, off nor a number.

    Examples:
        >>> parse_thinking("off"), parse_thinking("512")
        (False, 512)
    """
    if text in ("on", "off"):
        return text == "on"
    if not text.isdecimal():
        raise UsageError(f"--thinking {text!r} is not allowed; give on, off, or a maximum number of reasoning tokens")
    return int(text)


def decode_image(source: Any) -> "Image":
    """Decode an image of a request to RGB; raises BadImageError if it cannot be read."""
    from PIL.Image import Image

    from eyechart.datasets_scripts.common.images import open_image

    if isinstance(source, Image):
        return source.convert("RGB")
    return open_image(source.read() if hasattr(source, "read") else source)


def user_turn(request: Request, images: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The user's message: texts and the parts of the images, in the prompt's order."""
    left = iter(images)
    content = [next(left) if part is IMAGE else {"type": "text", "text": part} for part in request.prompt]
    return {"role": "user", "content": content}


def to_messages(request: Request, images: "list[Image]", system_prompt: str | None = None) -> list[dict[str, Any]]:
    """One user turn in the prompt's order, and an open assistant turn if the reply is prefilled."""
    messages = [user_turn(request, ({"type": "image", "image": image} for image in images))]
    if system_prompt is not None:
        messages.insert(0, {"role": "system", "content": [{"type": "text", "text": system_prompt}]})
    if request.prefill:
        messages.append({"role": "assistant", "content": [{"type": "text", "text": request.prefill}]})
    return messages


def joined(text: str, continuation: str) -> str:
    r"""A text and its continuation, with a space between them unless the text is empty or ends in white space.

    Examples:
        >>> joined("The quality is", "good"), joined("Answer:\n", "good")
        ('The quality is good', 'Answer:\ngood')
    """
    return f"{text}{continuation}" if text[-1:].isspace() or not text else f"{text} {continuation}"


def inseparable(model: str, text: str) -> ModelError:
    """The error for a word or a continuation that changes the tokens of the text before it."""
    return ModelError(f"model '{model}': the tokens of '{text}' cannot be separated from those of the text before it.")


def distinct_words(tokens: Mapping[str, str | None], needed: Collection[str], *, where: str = "") -> list[str]:
    """The words that can be told apart by their first token; an unknown token, None, differs from all others.

    A word that shares its token is left out unless it is `needed`. Raises ModelError, whose message begins with
    `where`, if two needed words share theirs.

    Examples:
        >>> distinct_words({"good": "go", "poor": "po", "golden": "go"}, needed=["good", "poor"])
        ['good', 'poor']
    """
    words = []
    for word, token in tokens.items():
        alike = [other for other in tokens if other != word and token is not None and tokens[other] == token]
        if word not in needed and alike:
            continue
        if clash := [other for other in alike if other in needed]:
            raise ModelError(
                f"{where}the words '{word}' and '{clash[0]}' begin with the same token {token!r}, so they have the "
                "same next-token logit. Choose other words."
            )
        words.append(word)
    return words
