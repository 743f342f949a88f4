"""What a run asks of a model in every chat: a system prompt, whether it reasons first, how its replies are drawn."""

import math
import re
from dataclasses import asdict, dataclass
from typing import Any

from eyechart.datasets_scripts.common.errors import ModelError, UsageError

_SWITCHES = ("enable_thinking", "thinking")
_BUDGET = "thinking_budget"


@dataclass(frozen=True)
class Sampling:
    """How texts are drawn at random, token by token; logits and losses never are.

    Attributes:
        temperature: What the logits are divided by, above 0.
        top_p: The likeliest tokens are drawn from whose probabilities together reach this, above 0 and at most 1.
        seed: Of the random numbers, at least 0.
    """

    temperature: float
    top_p: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what cannot be.

        Raises:
            UsageError: A value is not allowed.
        """
        if not 0 < self.temperature < math.inf:
            raise UsageError(f"temperature={self.temperature} is not allowed; it is above 0 where replies are drawn.")
        if not 0 < self.top_p <= 1:
            raise UsageError(f"top_p={self.top_p} is not allowed; it is above 0 and at most 1.")
        if self.seed < 0:
            raise UsageError(f"sampling_seed={self.seed} is not allowed; it is at least 0.")

    def fields(self, repeat: int) -> dict[str, Any]:
        """The same as fields of a request to a server, of which each repeat has a seed of its own.

        Args:
            repeat: Which of several replies to the request, from 1 on.
        """
        return {"temperature": self.temperature, "top_p": self.top_p, "seed": self.seed + repeat}


@dataclass(frozen=True)
class ChatOptions:
    """What a run asks of a model in every chat, whatever the task.

    Attributes:
        system_prompt: What the system says first; None for nothing.
        thinking: Whether the model reasons before it answers: True, False, or the most tokens of reasoning; None leaves
            it to the model.
        sampling: How replies are drawn; None takes the likeliest token each time.
    """

    system_prompt: str | None = None
    thinking: bool | int | None = None
    sampling: Sampling | None = None

    def __post_init__(self) -> None:
        """Refuse an empty prompt and a budget of nothing.

        Raises:
            UsageError: A value is not allowed.
        """
        if self.system_prompt is not None and not self.system_prompt.strip():
            raise UsageError("system_prompt='' is not allowed; leave it out for none.")
        if self.has_budget and int(self.thinking or 0) < 1:
            raise UsageError(f"thinking={self.thinking} is not allowed; a budget is at least 1 token, or say off.")

    @property
    def has_budget(self) -> bool:
        """Whether reasoning has a longest length."""
        return isinstance(self.thinking, int) and not isinstance(self.thinking, bool)

    def settings(self) -> dict[str, Any]:
        """The options as part of a result and of the keys of stored answers; sampling where there is some."""
        return {name: value for name, value in asdict(self).items() if name != "sampling" or value is not None}

    @property
    def decoding(self) -> str:
        """How tokens are chosen, as results call it."""
        return "greedy" if self.sampling is None else "sampling"

    def template_arguments(self, template: str, name: str) -> dict[str, Any]:
        """The arguments by which a chat template switches reasoning.

        Args:
            template: The chat template.
            name: How errors call the model.

        Raises:
            ModelError: The template has none.
        """
        if self.thinking is None:
            return {}
        switch = next((one for one in _SWITCHES if re.search(rf"\b{one}\b", template)), None)
        if switch is None or (self.has_budget and _BUDGET not in template):
            missing = _BUDGET if switch else " or ".join(_SWITCHES)
            raise ModelError(
                f"model '{name}': thinking={self.thinking} has no effect, as its chat template has no argument "
                f"{missing}. Leave --thinking out, or write what the model wants into --system-prompt."
            )
        budget = {_BUDGET: self.thinking} if self.has_budget else {}
        return {switch: self.thinking is not False, **budget}


def parse_thinking(text: str) -> bool | int:
    """The value of `--thinking`.

    Raises:
        UsageError: It is neither on, off nor a number.

    Examples:
        >>> parse_thinking("off"), parse_thinking("budget 512")
        (False, 512)
    """
    if text in ("on", "off"):
        return text == "on"
    number = text.removeprefix("budget").strip()
    if not number.isdecimal():
        raise UsageError(f"--thinking {text!r} is not allowed; it is on, off, or the most tokens of reasoning")
    return int(number)
