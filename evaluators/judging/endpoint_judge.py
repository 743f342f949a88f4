"""A judge behind an OpenAI-compatible chat-completions server.

A request that still fails after its retries loses the rounds that it asked for. Errors that every request would meet (a
wrong key, an unknown model, no server, no credit), many failures in a row and the spending limit end all requests. If
the server has not replied in this task, such an error is raised; otherwise the remaining rounds are lost.

Lost rounds are not stored, so the same command asks for them again; a result with lost rounds is `incomplete`. A reply
that was cut off, refused or malformed is stored, and the metric counts a failed round.
"""

import contextlib
import copy
import math
import time
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from eyechart.datasets_scripts.common.errors import ModelError, QuotaError
from eyechart.evaluators.backends.endpoint.client import ChatClient, ServerRecord
from eyechart.evaluators.backends.endpoint.refused_parameters import dropped_settings
from eyechart.evaluators.backends.processes import Processes
from eyechart.evaluators.judging.options import JudgeOptions
from eyechart.evaluators.judging.replies import Outcome, Reply, Spending, converse, reply_keys
from eyechart.evaluators.requests.store import ResponseStore
from eyechart.evaluators.requests.stored_form import REPLY
from eyechart.metrics.scoring.choices.replies import CUT_OFF, REFUSED
from eyechart.metrics.scoring.errors import LostRoundsWarning
from eyechart.metrics.scoring.judging.prompts import Messages

MOST_FAILURES = 16
"""After this many conversations in a row without a reply, the server counts as unavailable."""

Progress = Callable[[int, int], None]
"""Called with (done, total), counting the conversations that are not in the store."""

# Conversations between two exchanges with the other processes, which wait meanwhile and may time out.
_CONVERSATIONS_PER_ROUND = 64


@dataclass
class _Totals:
    """A judge's totals for one task."""

    used: dict[bytes, Reply] = field(default_factory=dict)
    from_store: int = 0
    requests: int = 0
    cost: float = 0.0
    """In US dollars, in this run."""
    seconds: float = 0.0
    failures: Counter[str | None] = field(default_factory=Counter)
    """Numbers of rounds without a usable reply, by reason: "lost", cut off or refused."""
    reason: str | None = None
    """Why the first round was lost."""
    is_answered: bool = False
    in_vain: int = 0
    """Conversations without a reply since the last reply."""
    stopped: ModelError | str | None = None
    """Why no more requests are sent; None while they are."""

    def stop(self, reason: ModelError | str) -> None:
        """Send no more requests; the first reason is kept."""
        self.stopped = self.stopped or reason
        self.reason = self.reason or str(reason)

    def count(self, outcome: Outcome, name: str) -> None:
        """Count a conversation with the judge of this name; many without a reply, one after the other, are the last."""
        self.requests += outcome.requests
        self.cost += outcome.cost
        if outcome.error is not None:
            self.reason = self.reason or str(outcome.error)
        if outcome.replies:
            self.is_answered, self.in_vain = True, 0
        elif outcome.error is not None:
            self.in_vain += 1
            if self.in_vain >= MOST_FAILURES:
                reason = f"{self.in_vain} conversations in a row got no reply; the last error: {outcome.error}"
                self.stop(ModelError(f"the judge {name!r} cannot be asked: {reason}"))


class EndpointJudge:
    """A judge on a server, asked about many conversations at once; can be passed to a metric as `judge`.

    Equal conversations are asked once and get the same replies, as with a store. `for_task()` returns the judge for one
    task of a run.

    Args:
        options: The judge and its request settings.
        store: Supplies the replies of earlier runs and keeps the new ones; None asks for all of them.
        processes: All processes of the run; the main one sends all requests. None for a single process.
    """

    def __init__(
        self, options: JudgeOptions, store: ResponseStore | None = None, processes: Processes | None = None
    ) -> None:
        """Check the address and the key; nothing is sent.

        Raises:
            UsageError: The address or the key is not valid.
        """
        self._options = options
        self._store = store
        self._processes = processes
        options.key()
        self._record = ServerRecord()
        self._spending = Spending(math.inf if options.max_cost is None else options.max_cost)
        self._identity = {
            "name": options.model,
            "base_url": options.endpoint.address,
            "temperature": float(options.temperature),
            "max_tokens": options.max_tokens,
            **options.endpoint.asked(),
        }
        self._progress: Progress | None = None
        self._totals = _Totals()

    @property
    def name(self) -> str:
        """The judge's name on its server."""
        return self._options.model

    def for_task(self, progress: Progress | None = None) -> "EndpointJudge":
        """The same judge with separate totals, for one task; the spending limit applies to all tasks together.

        Args:
            progress: Called with (done, total) conversations after each conversation.
        """
        judge = copy.copy(self)
        judge._progress, judge._totals = progress, _Totals()
        return judge

    def __call__(self, messages: Messages, n: int) -> list[str | None]:
        """Replies to one conversation, as from `ask_all`."""
        return self.ask_all([messages], n)[0]

    def ask_all(self, conversations: Sequence[Messages], n: int) -> list[list[str | None]]:
        """`n` replies to each conversation, from the store if available; the same in every process.

        Lost, cut off and refused replies are None.

        Raises:
            ModelError: The server refuses the key or the model or cannot be reached, and has not replied so far; or the
                main process failed.
            StoreError: The store cannot be read or written; its contents are kept.

        Warns:
            LostRoundsWarning: Replies were lost.
        """
        processes = self._processes
        if processes is None:
            return self._ask_all(conversations, n)
        replies: list[list[str | None]] = []
        for start in range(0, len(conversations), _CONVERSATIONS_PER_ROUND):
            part = conversations[start : start + _CONVERSATIONS_PER_ROUND]
            # The other processes only take part in the exchange.
            ask = partial(self._ask_all, part if processes.is_main else [], n)
            replies += processes.gather(processes.together(ask))[0]
        return replies

    def settings(self) -> dict[str, Any]:
        """The judge, its decoding, and the cost of the task's replies in US dollars, stored ones included.

        `requests_without_usage` counts requests whose token counts were missing or impossible and are estimated;
        `reason` says why the first of the `lost_rounds` was lost. With several processes, only the main one has the
        complete values.
        """
        totals, options = self._totals, self._options
        replies = totals.used.values()
        usage = Counter[str]()
        for reply in replies:
            usage.update(reply.usage)
        cost = options.cost(usage["prompt_tokens"], usage["completion_tokens"])
        dropped = dropped_settings({reply.dropped_parameters for reply in replies})
        return {
            **self._identity,
            **({"temperature": None} if "decoding" in dropped else {}),
            **dropped,
            "served": sorted({reply.served for reply in replies if reply.served}),
            "max_cost": options.max_cost,
            "price": None if options.price is None else dict(zip(("input", "output"), options.price, strict=True)),
            "replies": len(replies),
            "requests": usage["requests"],
            "requests_without_usage": usage["estimated"],
            "prompt_tokens": usage["prompt_tokens"],
            "completion_tokens": usage["completion_tokens"],
            "cost": None if options.price is None else round(cost, 6),
            "lost_rounds": totals.failures["lost"],
            "cut_off_rounds": totals.failures[CUT_OFF],
            "refused_rounds": totals.failures[REFUSED],
            "incomplete": totals.failures["lost"] > 0,
            "reason": totals.reason if totals.failures["lost"] else None,
        }

    def timings(self) -> dict[str, float]:
        """What the task took in this run: seconds, replies from the store, requests, and US dollars if known."""
        totals = self._totals
        spent = {} if self._options.price is None else {"judge_cost": round(totals.cost, 6)}
        return {
            "judge_seconds": totals.seconds,
            "judge_replies_from_store": float(totals.from_store),
            "judge_requests": float(totals.requests),
            **spent,
        }

    def _ask_all(self, conversations: Sequence[Messages], n: int) -> list[list[str | None]]:
        start, totals = time.perf_counter(), self._totals
        keys = [reply_keys(self._identity, messages, n) for messages in conversations]
        stored = {} if self._store is None else self._store.get((key for of_each in keys for key in of_each), REPLY)
        replies = {key: Reply(**value) for key, value in stored.items()}
        totals.from_store += len(replies)
        totals.used |= replies
        missing = {
            left: messages
            for messages, of_each in zip(conversations, keys, strict=True)
            if (left := tuple(key for key in of_each if key not in replies))
        }
        if missing:
            self._ask(missing, replies)
        totals.seconds += time.perf_counter() - start
        rounds = [[replies.get(key) for key in of_each] for of_each in keys]
        failures = Counter("lost" if reply is None else reply.failure for of_each in rounds for reply in of_each)
        totals.failures += failures
        if lost := failures["lost"]:
            message = f"the judge {self.name!r} gave no reply in {lost} rounds; the first reason: {totals.reason}"
            warnings.warn(message, LostRoundsWarning, stacklevel=3)
        return [[None if reply is None or reply.failure else reply.text for reply in of_each] for of_each in rounds]

    def _ask(self, missing: Mapping[tuple[bytes, ...], Messages], replies: dict[bytes, Reply]) -> None:
        """Ask for the missing replies, store them and add them to `replies`."""
        totals = self._totals
        client = ChatClient(self.name, self._options.endpoint, self._record, key=self._options.key())

        async def ask(keys: tuple[bytes, ...]) -> Outcome:
            if totals.stopped is not None:
                return Outcome(keys)
            outcome = await converse(client, self._options, self._spending, keys, missing[keys])
            if outcome is None:
                totals.stop(f"the next request might exceed the limit of {self._options.max_cost} US dollars")
            elif isinstance(outcome.error, ModelError):
                totals.stop(type(outcome.error)(f"the judge {self.name!r} cannot be asked: {outcome.error}"))
            return outcome or Outcome(keys)

        if totals.stopped is None:
            with contextlib.closing(client.map(ask, list(missing))) as outcomes:
                for done, outcome in enumerate(outcomes, 1):
                    # Here and not where they are asked: the store belongs to this thread.
                    new = dict(zip(outcome.keys, outcome.replies, strict=False))
                    replies |= new
                    totals.used |= new
                    if new and self._store is not None:
                        self._store.put(self.name, {key: reply.to_value() for key, reply in new.items()})
                    totals.count(outcome, self.name)
                    if self._progress:
                        self._progress(done, len(missing))
        if not isinstance(totals.stopped, ModelError) or totals.is_answered:
            return
        if not (isinstance(totals.stopped, QuotaError) and totals.used):
            raise totals.stopped
