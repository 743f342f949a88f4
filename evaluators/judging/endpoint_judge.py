"""A judge behind an OpenAI-compatible chat-completions server.

How failures are handled:

- A request that still fails after its retries (408, 409, 429, 5xx, a timeout, a broken connection, a malformed
  response) loses the rounds that it asked for; the other requests are still sent.
- Errors that every request would meet (a wrong key, an unknown model, no server, no credit), and many failures in a
  row, stop all requests. If the server has not yet replied in this task, the error is raised, because the user has to
  fix it; otherwise the remaining rounds are lost. If credit runs out, stored replies count as replies, too.
- Requests stop before one would exceed the spending limit; the remaining rounds are lost.

Lost rounds are not stored; running the same command again asks for them. A result with lost rounds is marked
`incomplete`, with the reason. A reply that was cut off, refused or malformed is still a reply: it is stored, and the
metric counts a failed round. A reply that was cut off or refused fails even if its text could be parsed.
"""

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
from eyechart.evaluators.backends.endpoint.client import ChatClient, ServerRecord, resolve_address
from eyechart.evaluators.backends.endpoint.refused_parameters import dropped_settings
from eyechart.evaluators.backends.endpoint.thread_pool import map_unordered
from eyechart.evaluators.backends.processes import Processes
from eyechart.evaluators.judging.options import JudgeOptions
from eyechart.evaluators.judging.replies import Conversed, Reply, Spending, converse, reply_keys
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
    """A judge's totals for one task.

    Attributes:
        used: The replies, by key.
        from_store: Number of replies from the store.
        requests: Number of requests that were answered in this run.
        cost: US dollars spent in this run.
        seconds: Time taken.
        lost: Number of rounds without a reply.
        failures: Number of rounds with a reply that was cut off or refused, by reason.
        reason: Why the first round was lost.
        is_answered: Whether the server replied in this run.
        in_vain: Conversations without a reply since the last reply.
        stopped: Why no more requests are sent; None while they are.
    """

    used: dict[bytes, Reply] = field(default_factory=dict)
    from_store: int = 0
    requests: int = 0
    cost: float = 0.0
    seconds: float = 0.0
    lost: int = 0
    failures: Counter[str | None] = field(default_factory=Counter)
    reason: str | None = None
    is_answered: bool = False
    in_vain: int = 0
    stopped: ModelError | str | None = None

    def stop(self, reason: ModelError | str) -> None:
        """Send no more requests; the first reason is kept."""
        self.stopped = self.stopped or reason
        self.reason = self.reason or str(reason)


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
            "base_url": resolve_address(options.endpoint),
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
        """Replies to several conversations, from the store if available; the same in every process.

        Args:
            conversations: The chat messages of each conversation.
            n: Number of replies per conversation.

        Returns:
            `n` replies per conversation, None for those that were lost, cut off or refused.

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
        """The judge, its decoding, and the cost of the task's replies, stored ones included.

        `cost` is in US dollars, None without a price. `requests_without_usage` counts requests whose token counts were
        missing or impossible and are estimated. `lost_rounds` counts rounds without any reply; if there are any, the
        result is `incomplete` and `reason` says why the first was lost. The evaluation also sets `incomplete` if no
        round about a text has a usable reply. `cut_off_rounds` and `refused_rounds` count rounds whose reply was cut
        off or refused. `temperature` is None if the server refuses it. With several processes, only the main one has
        the complete values.
        """
        totals, options = self._totals, self._options
        replies = totals.used.values()
        usage = {
            name: sum(reply.usage.get(name, 0) for reply in replies)
            for name in ("requests", "estimated", "prompt_tokens", "completion_tokens")
        }
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
            "lost_rounds": totals.lost,
            "cut_off_rounds": totals.failures[CUT_OFF],
            "refused_rounds": totals.failures[REFUSED],
            "incomplete": totals.lost > 0,
            "reason": totals.reason if totals.lost else None,
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
        keys = [tuple(reply_keys(self._identity, messages, n)) for messages in conversations]
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
        lost = sum(key not in replies for of_each in keys for key in of_each)
        if lost:
            totals.lost += lost
            message = f"the judge {self.name!r} gave no reply in {lost} rounds; the first reason: {totals.reason}"
            warnings.warn(message, LostRoundsWarning, stacklevel=3)
        totals.failures.update(replies[key].failure for of_each in keys for key in of_each if key in replies)
        return [[replies[key].usable_text if key in replies else None for key in of_each] for of_each in keys]

    def _ask(self, missing: Mapping[tuple[bytes, ...], Messages], replies: dict[bytes, Reply]) -> None:
        """Ask for the missing replies, store them and add them to `replies`."""
        totals = self._totals

        def put(item: tuple[tuple[bytes, ...], Messages]) -> tuple[tuple[bytes, ...], Conversed]:
            keys, messages = item
            if totals.stopped is not None:
                return keys, Conversed()
            found = converse(client, self._options, self._spending, messages, len(keys))
            if found.is_limited:
                totals.stop(f"the next request might exceed the limit of {self._options.max_cost} US dollars")
            elif isinstance(found.error, ModelError):
                totals.stop(type(found.error)(f"the judge {self.name!r} cannot be asked: {found.error}"))
            return keys, found

        if totals.stopped is None:
            with ChatClient(self.name, self._options.endpoint, self._record, key=self._options.key()) as client:
                found = map_unordered(put, list(missing.items()), self._options.endpoint.concurrency)
                for done, (keys, conversed) in enumerate(found, 1):
                    # Not in the worker threads: the store belongs to this thread.
                    had = dict(zip(keys, conversed.replies, strict=False))
                    replies |= had
                    totals.used |= had
                    if had and self._store is not None:
                        self._store.put(self.name, {key: reply.to_value() for key, reply in had.items()})
                    self._count(conversed)
                    if self._progress:
                        self._progress(done, len(missing))
        if not isinstance(totals.stopped, ModelError) or totals.is_answered:
            return
        if not (isinstance(totals.stopped, QuotaError) and totals.used):
            raise totals.stopped

    def _count(self, found: Conversed) -> None:
        totals = self._totals
        totals.requests += found.requests
        totals.cost += found.cost
        if found.error is not None:
            totals.reason = totals.reason or str(found.error)
        if found.replies:
            totals.is_answered, totals.in_vain = True, 0
        elif found.error is not None:
            totals.in_vain += 1
            if totals.in_vain >= MOST_FAILURES:
                reason = f"{totals.in_vain} conversations in a row got no reply; the last error: {found.error}"
                totals.stop(ModelError(f"the judge {self.name!r} cannot be asked: {reason}"))
