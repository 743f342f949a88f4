"""What a run asks of a model in every chat: a system prompt, and whether it reasons before it answers."""

import re
from dataclasses import asdict, dataclass
from typing import Any

from eyechart.datasets_scripts.common.errors import ModelError, UsageError

_SWITCHES = ("enable_thinking", "thinking")
_BUDGET = "thinking_budget"


@dataclass(frozen=True)
class ChatOptions:
    """What a run asks of a model in every chat, whatever the task.

    Attributes:
        system_prompt: What the system says first; None for nothing.
        thinking: Whether the model reasons before it answers: True, False, or the most tokens of reasoning; None leaves
            it to the model.
    """

    system_prompt: str | None = None
    thinking: bool | int | None = None

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
        """The options as part of a result."""
        return asdict(self)

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
