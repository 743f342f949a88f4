"""A judge in several processes: the main one asks, and every one gets the replies."""

from collections.abc import Sequence
from typing import Any

from eyechart.evaluators.backends.processes import Processes
from eyechart.evaluators.judging.endpoint_judge import EndpointJudge, Progress
from eyechart.metrics.scoring.judging.prompts import Messages

# Conversations between two exchanges: the other processes wait meanwhile, and what waits for long is given up.
_CONVERSATIONS_PER_ROUND = 64


class DistributedJudge:
    """Asks in the main process, once for all.

    Args:
        judge: What asks; in the main process only.
        processes: All processes; each of them has to ask the same.
    """

    def __init__(self, judge: EndpointJudge, processes: Processes) -> None:
        """Keep both."""
        self._judge = judge
        self._processes = processes

    @property
    def name(self) -> str:
        """The judge's name on its server."""
        return self._judge.name

    def for_task(self, progress: Progress | None = None) -> "DistributedJudge":
        """As `EndpointJudge.for_task`."""
        return DistributedJudge(self._judge.for_task(progress), self._processes)

    def __call__(self, messages: Messages, n: int) -> list[str | None]:
        """As `EndpointJudge.__call__`, in every process."""
        return self.ask_all([messages], n)[0]

    def ask_all(self, conversations: Sequence[Messages], n: int) -> list[list[str | None]]:
        """As `EndpointJudge.ask_all`, in every process.

        Raises:
            ModelError: The main process failed; the message holds its reason.
        """
        replies: list[list[str | None]] = []
        for start in range(0, len(conversations), _CONVERSATIONS_PER_ROUND):
            part = conversations[start : start + _CONVERSATIONS_PER_ROUND]

            def ask(part: Sequence[Messages] = part) -> list[list[str | None]]:
                return self._judge.ask_all(part, n) if self._processes.is_main else []

            replies += self._processes.gather(self._processes.together(ask))[0]
        return replies

    def settings(self) -> dict[str, Any]:
        """Those of the judge; complete in the main process, which writes results."""
        return self._judge.settings()

    def timings(self) -> dict[str, float]:
        """Those of the judge; complete in the main process."""
        return self._judge.timings()
