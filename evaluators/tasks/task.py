"""What a task is made of."""

from collections.abc import Callable
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from enum import Enum
from typing import Any

from eyechart.evaluators.types import Prompt
from eyechart.evaluators.types import Row
from eyechart.evaluators.types import Wanted


class Kind(Enum):
    """The evaluator classes."""

    MULTIPLE_CHOICE = "multiple_choice"
    QUALITY_ASSESSMENT = "quality_assessment"


@dataclass(frozen=True)
class Task:
    """One row of `eyechart tasks`: which data, which prompt, which evaluator, which metric."""

    name: str
    """`<paper>/<part>`."""
    description: str
    """One line, for the table of tasks."""
    paper: str
    """Title and section."""
    evaluator: Kind
    """Which evaluator class runs it."""
    subsets: tuple[str, ...]
    """Data sets it runs on; the first is the default."""
    splits: tuple[str, ...]
    """Splits it runs on; the first is the default."""
    metric: str
    """Name of the evaluate module."""
    metric_config: str | None
    """Configuration of the evaluate module."""
    prompt: Callable[[Row], Prompt]
    """From a row to what the model sees; options are shown in the row's order."""
    prompt_id: str
    """Names the wording in the result; a change of wording is a new id."""
    groups: tuple[str, ...] = ()
    """Columns to break the scores down by."""
    prefill: str = ""
    """How the reply begins, given to the model."""
    words: tuple[str, ...] = ()
    """Two words whose next-token logits are pooled, positive first."""
    max_new_tokens: int = 32
    metric_arguments: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of the metric's compute."""

    @property
    def wanted(self) -> Wanted:
        """What its requests want of a model."""
        return Wanted.LOGITS if self.words else Wanted.TEXT
