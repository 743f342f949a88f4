"""How tasks are run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from eyechart.evaluators.protocols.protocol import Protocol
from eyechart.evaluators.protocols.settings import with_settings
from eyechart.evaluators.tasks.as_published import with_published_settings
from eyechart.evaluators.tasks.task import Task
from eyechart.metrics.scoring.judging.replies import Judge


@dataclass(frozen=True)
class RunOptions:
    """How a task is run."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the task's protocol, by name, that replace the task's defaults."""
    as_published: bool = False
    """Use the paper's settings instead of the task's defaults; the result lists them."""
    seed: int = 0
    """Seed of everything random: samples, the metric's bootstrap and its random choices."""
    judge: Judge | None = None
    """A function `judge(messages, n)` that returns n replies; with None, the metric scores without a judge."""
    skip_bad: bool = False
    """Leave out items that cannot be asked, each listed in `left_out`; otherwise, the first such item is an error."""
    repeats: int = 1
    """How many times to ask everything, for a backend that samples; the scores are those of the first repeat."""

    def protocol(self, task: Task) -> Protocol:
        """The protocol of a task with these options.

        Raises:
            UsageError: A setting is unknown, or the paper fixes it.
        """
        protocol = with_settings(task.bound(seed=self.seed, judge=self.judge), self.settings, task.name)
        return with_published_settings(task, protocol, self.settings) if self.as_published else protocol
