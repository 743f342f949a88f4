"""A judge behind an OpenAI-compatible chat-completions server.

What becomes of failures:

- A request that fails after its retries (408, 409, 429, 5xx, a timeout, a broken connection, an answer of another
  form) loses the rounds that it asked for, and the others are asked all the same.
- What no other request would change (a wrong key, an unknown model, no server, no money), and many failures in a row,
  stop the asking. If the server has given no reply to this task before, the error is raised, as it is the user's to
  mend; otherwise the rounds that are left are lost. Want of money also ends with what is stored, if anything is.
- The limit on spending stops before the request that might pass it, and loses the rounds that are left.

Lost rounds are not stored: the same command run again asks for them. A result with lost rounds says `incomplete` and
why. A reply of another form than asked for is a reply: stored, and a failed round of the metric that reads it.
"""

import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from eyechart.datasets_scripts.common.errors import ModelError, QuotaError
from eyechart.evaluators.backends.endpoint.client import ChatClient
from eyechart.evaluators.backends.endpoint.thread_pool import map_unordered
from eyechart.evaluators.judging.server import Conversed, JudgeServer
from eyechart.evaluators.judging.stored_replies import Reply, from_value, reply_keys, sum_usage
from eyechart.evaluators.requests.store import ResponseStore
from eyechart.metrics.scoring.errors import LostRoundsWarning
from eyechart.metrics.scoring.judging.prompts import Messages

MOST_FAILURES = 16
"""Conversations in a row that may get no reply before the server counts as gone."""

Progress = Callable[[int, int], None]
"""Called with (done, total) conversations that have to be asked."""

_Keys = tuple[bytes, ...]


@dataclass
class _Totals:
    """What a task had of its judge.

    Attributes:
        used: The replies, by key.
        from_store: How many of them were stored.
        requests: Requests that were answered now.
        cost: US dollars spent now.
        seconds: Time taken.
        lost: Rounds without a reply.
        reason: Why the first of them was lost.
        is_answered: Whether the server gave a reply now.
        failures: Conversations without a reply since the last one with one.
    """

    used: dict[bytes, Reply] = field(default_factory=dict)
    from_store: int = 0
    requests: int = 0
    cost: float = 0.0
    seconds: float = 0.0
    lost: int = 0
    reason: str | None = None
    is_answered: bool = False
    failures: int = 0


class EndpointJudge:
    """Asks a judge on a server, many conversations at once; a metric's `judge`.

    Equal conversations are asked once and have the same replies, as they would with a store.

    Args:
        server: The judge.
        store: Gives the replies of earlier runs and keeps those of this one; None asks for all of them.
        progress: Called with (done, total) conversations after each one that was asked.
    """

    def __init__(
        self, server: JudgeServer, store: ResponseStore | None = None, progress: Progress | None = None
    ) -> None:
        """Keep them; nothing is sent."""
        self._server = server
        self._store = store
        self._progress = progress
        self._totals = _Totals()
        self._lock = threading.Lock()
        self._stopped: ModelError | str | None = None

    @property
    def name(self) -> str:
        """The judge's name on its server."""
        return self._server.options.model

    def for_task(self, progress: Progress | None = None) -> "EndpointJudge":
        """The same judge with totals of its own, for one task; the limit on spending holds for all tasks together.

        Args:
            progress: Called with (done, total) conversations after each one that was asked.
        """
        return EndpointJudge(self._server, self._store, progress)

    def __call__(self, messages: Messages, n: int) -> list[str | None]:
        """Replies to one conversation, as `ask_all` gives them."""
        return self.ask_all([messages], n)[0]

    def ask_all(self, conversations: Sequence[Messages], n: int) -> list[list[str | None]]:
        """Replies to several conversations, from the store where it has them.

        Args:
            conversations: Chat messages each.
            n: Number of replies to each.

        Returns:
            `n` replies to each conversation, None for those that were lost.

        Raises:
            ModelError: The server refuses the key or the model or cannot be reached, and has given no reply so far.
            StoreError: The store cannot be read or written; what it holds is kept.

        Warns:
            LostRoundsWarning: Replies were lost.
        """
        start = time.perf_counter()
        identity = self._server.identity()
        keys = [reply_keys(identity, messages, n) for messages in conversations]
        replies = self._stored([key for of_each in keys for key in of_each])
        missing: dict[_Keys, Messages] = {}
        for messages, of_each in zip(conversations, keys, strict=True):
            left = tuple(key for key in of_each if key not in replies)
            if left:
                missing[left] = messages
        totals = self._totals
        totals.from_store += len(replies)
        totals.used |= replies
        if missing:
            self._ask(missing, replies)
        totals.used |= replies
        totals.seconds += time.perf_counter() - start
        lost = sum(key not in replies for of_each in keys for key in of_each)
        if lost:
            totals.lost += lost
            message = f"the judge {self.name!r} gave no reply in {lost} rounds; the first reason: {totals.reason}"
            warnings.warn(message, LostRoundsWarning, stacklevel=2)
        return [[replies[key].text if key in replies else None for key in of_each] for of_each in keys]

    def settings(self) -> dict[str, Any]:
        """The judge, its decoding, and what the replies cost that have a part in the task, stored ones included.

        `cost` is in US dollars, None without a price. `requests_without_usage` are those whose tokens the server did
        not count: their greatest possible number is taken. `lost_rounds` are rounds without any reply; where there are
        some, the result is `incomplete`, and `reason` is that of the first one.
        """
        totals, price = self._totals, self._server.price
        usage = sum_usage(list(totals.used.values()))
        cost = self._server.cost(usage["prompt_tokens"], usage["completion_tokens"])
        return {
            **self._server.identity(),
            "served": sorted({reply.served for reply in totals.used.values() if reply.served}),
            "max_cost": self._server.options.max_cost,
            "price": None if price is None else {"input": price.input, "output": price.output},
            "replies": len(totals.used),
            "requests": usage["requests"],
            "requests_without_usage": usage["estimated"],
            "prompt_tokens": usage["prompt_tokens"],
            "completion_tokens": usage["completion_tokens"],
            "cost": None if price is None else round(cost, 6),
            "lost_rounds": totals.lost,
            "incomplete": totals.lost > 0,
            "reason": totals.reason if totals.lost else None,
        }

    def timings(self) -> dict[str, float]:
        """What this run took for the task: seconds, replies from the store, requests, and US dollars where known."""
        totals = self._totals
        spent = {} if self._server.price is None else {"judge_cost": round(totals.cost, 6)}
        return {
            "judge_seconds": totals.seconds,
            "judge_replies_from_store": float(totals.from_store),
            "judge_requests": float(totals.requests),
            **spent,
        }

    def _stored(self, keys: Sequence[bytes]) -> dict[bytes, Reply]:
        if self._store is None:
            return {}
        return {key: from_value(value) for key, value in self._store.get(keys).items()}

    def _ask(self, missing: Mapping[_Keys, Messages], replies: dict[bytes, Reply]) -> None:
        """Ask for what is missing, store it and add it to the replies."""
        if self._stopped is None:
            with self._server.connect() as client:
                work, items = partial(self._put, client), list(missing.items())
                concurrency = self._server.options.endpoint.concurrency
                for done, (keys, found) in enumerate(map_unordered(work, items, concurrency), 1):
                    # Not from the threads: the store belongs to this one.
                    had = dict(zip(keys, found.replies, strict=False))
                    replies |= had
                    if had and self._store is not None:
                        self._store.put(self.name, {key: reply.to_value() for key, reply in had.items()})
                    self._count(found)
                    if self._progress:
                        self._progress(done, len(items))
        if not isinstance(self._stopped, ModelError) or self._totals.is_answered:
            return
        if not (isinstance(self._stopped, QuotaError) and self._totals.used):
            raise self._stopped

    def _put(self, client: ChatClient, item: tuple[_Keys, Messages]) -> tuple[_Keys, Conversed]:
        """Put a conversation to the judge, in a thread of its own."""
        keys, messages = item
        if self._stopped is not None:
            return keys, Conversed()
        found = self._server.converse(client, messages, len(keys))
        if isinstance(found.error, ModelError):
            self._stop(type(found.error)(f"the judge {self.name!r} cannot be asked: {found.error}"))
        elif found.is_limited:
            self._stop(f"the next request might pass the limit of {self._server.options.max_cost} US dollars")
        return keys, found

    def _count(self, found: Conversed) -> None:
        totals = self._totals
        totals.requests += found.requests
        totals.cost += found.cost
        if found.error is not None and totals.reason is None:
            totals.reason = str(found.error)
        if found.replies:
            totals.is_answered, totals.failures = True, 0
        elif found.error is not None:
            totals.failures += 1
            if totals.failures >= MOST_FAILURES:
                reason = f"{totals.failures} conversations in a row got no reply, the last of them as {found.error}"
                self._stop(ModelError(f"the judge {self.name!r} cannot be asked: {reason}"))

    def _stop(self, reason: ModelError | str) -> None:
        """Ask nothing any more; the first reason counts."""
        with self._lock:
            if self._stopped is None:
                self._stopped = reason
        if self._totals.reason is None:
            self._totals.reason = str(reason)
