"""A judge behind an OpenAI-compatible chat-completions server.

A round is lost if its request fails or is not sent. Lost rounds are not stored, so the same command asks for them
again. A reply that was cut off, refused or malformed is stored, and the metric counts a failed round.
"""

import contextlib
import copy
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from eyechart.datasets_scripts.common.errors import UsageError, check_ranges
from eyechart.evaluators.backends.endpoint.client import ChatClient, attempted
from eyechart.evaluators.backends.endpoint.failures import DROPPED, dropped_settings
from eyechart.evaluators.backends.endpoint.limits import Charge, LimitError
from eyechart.evaluators.backends.endpoint.options import DEFAULT_TEMPERATURE, EndpointOptions, read_key
from eyechart.evaluators.backends.processes import ALONE, Processes
from eyechart.evaluators.judging.replies import Conversation, failure, reply_keys
from eyechart.evaluators.requests.errors import EndpointError, ModelError, QuotaError
from eyechart.evaluators.requests.store import ResponseStore
from eyechart.evaluators.requests.types import Answer
from eyechart.metrics.scoring.choices.replies import CUT_OFF, REFUSED
from eyechart.metrics.scoring.errors import LostRoundsWarning
from eyechart.metrics.scoring.judging.prompts import Messages

MOST_FAILURES = 16
"""After this many conversations in a row without a reply, the server counts as unavailable."""

# Conversations between two exchanges with the other processes, which wait meanwhile and may time out.
_CONVERSATIONS_PER_ROUND = 64
_LOST = "lost"


@dataclass(frozen=True)
class JudgeOptions:
    """A judge on a server and its request settings, without the API key.

    Attributes:
        model: The judge's name on its server.
        endpoint: Address, concurrent requests, timeout in seconds, retries, price and spending limit.
        temperature: The sampling temperature, at least 0. The papers state none; 1.0 is the servers' default, which is
            not sent to a server that refuses it. At 0, all rounds of a judge would be equal.
        max_tokens: Maximum length of a reply in tokens, at least 1. A judge that reasons first needs more.
    """

    model: str
    endpoint: EndpointOptions = field(default_factory=EndpointOptions)
    temperature: float = DEFAULT_TEMPERATURE
    max_tokens: int = 64

    def __post_init__(self) -> None:
        """Refuse values that are out of range."""
        if not self.model:
            raise UsageError("model='' is not allowed; expected the judge's name on its server.")
        check_ranges(self, temperature=0, max_tokens=1)

    def key(self) -> str:
        """The API key in `EYECHART_JUDGE_API_KEY`, or else `OPENAI_API_KEY`; "" if missing. It is kept nowhere."""
        return read_key("EYECHART_JUDGE_API_KEY") or read_key()


@dataclass
class _Totals:
    """A judge's totals for one task."""

    used: dict[bytes, Answer] = field(default_factory=dict)
    timings: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    failures: Counter[str | None] = field(default_factory=Counter)
    """Numbers of rounds without a usable reply, by reason: lost, cut off or refused."""
    reason: str | None = None
    """Why the first round was lost."""
    most_prompt_tokens: int = 0
    """Tokens of the longest prompt so far."""
    in_vain: int = 0
    """Conversations without a reply since the last reply."""
    stopped: ModelError | str | None = None
    """Why no more requests are sent; None while they are."""

    def stop(self, reason: ModelError | str) -> None:
        """Send no more requests; the first reason is kept."""
        self.stopped = self.stopped or reason
        self.reason = self.reason or str(reason)


class EndpointJudge:
    """A judge on a server, asked about many conversations at once; can be passed to a metric as `judge`.

    Equal conversations are asked once and get the same replies. A store supplies earlier replies and keeps new ones; of
    several processes, the main one sends all requests.
    """

    def __init__(self, options: JudgeOptions, store: ResponseStore | None = None, processes: Processes = ALONE) -> None:
        """Check the address and the key, which may raise `UsageError`; nothing is sent."""
        self.name = options.model
        self._options, self._store, self._processes = options, store, processes
        self._client = ChatClient(options.model, options.endpoint, key=options.key())
        self._identity = {
            "name": options.model,
            "base_url": options.endpoint.address,
            "temperature": float(options.temperature),
            "max_tokens": options.max_tokens,
            **options.endpoint.asked(),
        }
        self._progress: Callable[[int, int], None] | None = None
        self._totals = _Totals()

    def for_task(self, progress: Callable[[int, int], None] | None = None) -> "EndpointJudge":
        """The same judge with separate totals, for one task; `progress` gets (done, total) missing conversations."""
        judge = copy.copy(self)
        judge._progress, judge._totals = progress, _Totals()
        return judge

    def __call__(self, messages: Messages, n: int) -> list[str | None]:
        """Replies to one conversation, as from `ask_all`."""
        return self.ask_all([messages], n)[0]

    def ask_all(self, conversations: Sequence[Messages], n: int) -> list[list[str | None]]:
        """`n` replies to each conversation, None if lost, cut off or refused; the same in every process.

        Warns of lost rounds (`LostRoundsWarning`); raises `ModelError` if every request would fail and the server has
        not replied in this task, or the main process failed.
        """
        processes = self._processes
        if processes.count == 1:
            return self._ask_all(conversations, n)
        replies: list[list[str | None]] = []
        for start in range(0, len(conversations), _CONVERSATIONS_PER_ROUND):
            part = conversations[start : start + _CONVERSATIONS_PER_ROUND]
            # The other processes only take part in the exchange.
            ask = partial(self._ask_all, part if processes.is_main else [], n)
            replies += processes.gather(processes.together(ask))[0]
        return replies

    def settings(self) -> dict[str, Any]:
        """The judge, its decoding, and what its replies cost in US dollars, stored or new; for the main process."""
        totals, options = self._totals, self._options.endpoint
        usage, metadata = Counter[str](), set[tuple[str, str]]()
        for reply in totals.used.values():
            usage.update(reply.usage)
            metadata |= reply.response_metadata.items()
        cost = options.cost(usage["prompt_tokens"], usage["completion_tokens"])
        dropped = dropped_settings({value for name, value in metadata if name == DROPPED})
        lost = totals.failures[_LOST]
        return {
            **self._identity,
            **({"temperature": None} if "decoding" in dropped else {}),
            **dropped,
            "served": sorted(value for name, value in metadata if name == "served"),
            "max_cost": options.max_cost,
            "price": None if options.price is None else dict(zip(("input", "output"), options.price, strict=True)),
            "replies": len(totals.used),
            **{name: usage[name] for name in ("requests", "prompt_tokens", "completion_tokens")},
            "requests_without_usage": usage["estimated"],
            "cost": None if options.price is None else round(cost, 6),
            "lost_rounds": lost,
            "cut_off_rounds": totals.failures[CUT_OFF],
            "refused_rounds": totals.failures[REFUSED],
            "incomplete": lost > 0,
            "reason": totals.reason if lost else None,
        }

    def timings(self) -> dict[str, float]:
        """What the task took in this run: seconds, replies from the store, requests, and US dollars if known."""
        cost = () if self._options.endpoint.price is None else ("judge_cost",)
        names = ("judge_seconds", "judge_replies_from_store", "judge_requests", *cost)
        return {name: round(self._totals.timings[name], 6) for name in names}

    def _ask_all(self, conversations: Sequence[Messages], n: int) -> list[list[str | None]]:
        start, totals = time.perf_counter(), self._totals
        keys = [reply_keys(self._identity, messages, n) for messages in conversations]
        stored = {} if self._store is None else self._store.get(key for of_each in keys for key in of_each)
        # An edited value may be a model's answer.
        totals.used |= {key: reply for key, reply in stored.items() if reply.logits is None}
        totals.timings["judge_replies_from_store"] += len(stored)
        # Equal conversations are asked once.
        missing = {
            left: Conversation(left, messages)
            for messages, of_each in zip(conversations, keys, strict=True)
            if (left := tuple(key for key in of_each if key not in totals.used))
        }
        if missing:
            self._ask(list(missing.values()))
        totals.timings["judge_seconds"] += time.perf_counter() - start
        rounds = [[totals.used.get(key) for key in of_each] for of_each in keys]
        failures = Counter(_LOST if reply is None else failure(reply) for of_each in rounds for reply in of_each)
        totals.failures += failures
        if lost := failures[_LOST]:
            message = f"the judge {self.name!r} gave no reply in {lost} rounds; the first reason: {totals.reason}"
            warnings.warn(message, LostRoundsWarning, stacklevel=3)
        return [[None if reply is None or failure(reply) else reply.text for reply in of_each] for of_each in rounds]

    def _ask(self, missing: Sequence[Conversation]) -> None:
        """Ask for the missing replies and store them."""
        totals = self._totals
        if totals.stopped is None:
            with contextlib.closing(self._client.map(self._converse, missing)) as conversations:
                for done, conversation in enumerate(conversations, 1):
                    # Here and not where it is asked: the store belongs to this thread.
                    self._keep(conversation)
                    if self._progress:
                        self._progress(done, len(missing))
        # Without credit, stored replies still give a score.
        is_usable = totals.used if isinstance(totals.stopped, QuotaError) else totals.timings["judge_requests"]
        if isinstance(totals.stopped, ModelError) and not is_usable:
            raise totals.stopped

    async def _converse(self, conversation: Conversation) -> Conversation:
        """Ask for the replies, unless they might exceed the spending limit."""
        options, totals, n = self._options, self._totals, len(conversation.keys)
        if totals.stopped is not None:
            return conversation
        charge = Charge(self._client.budget)
        attempted.set(partial(charge.attempt, partial(self._highest_cost, conversation)))
        limit, temperature = options.max_tokens, options.temperature
        answers = self._client.completions(conversation.messages, n, max_tokens=limit, temperature=temperature)
        try:
            async for answer in answers:
                prompt_tokens, reply_tokens = conversation.add(answer, limit)
                totals.most_prompt_tokens = max(totals.most_prompt_tokens, prompt_tokens)
                charge.settle(options.endpoint.cost(prompt_tokens, reply_tokens))
        except LimitError:
            totals.stop(f"the next request might exceed the limit of {options.endpoint.max_cost} US dollars")
        except EndpointError as error:
            conversation.error = error
        except ModelError as error:
            conversation.error = error
            totals.stop(type(error)(f"the judge {self.name!r} cannot be asked: {error}"))
        conversation.cost = charge.cost
        return conversation

    def _highest_cost(self, conversation: Conversation) -> float:
        missing = 1 if "n" in self._client.dropped else len(conversation.keys) - len(conversation.replies)
        tokens = max(conversation.tokens, self._totals.most_prompt_tokens)
        return self._options.endpoint.cost(tokens, missing * self._options.max_tokens)

    def _keep(self, conversation: Conversation) -> None:
        """Store and count the replies to a conversation; after many conversations without one, stop."""
        totals, error = self._totals, conversation.error
        totals.timings["judge_requests"] += conversation.usage["requests"]
        totals.timings["judge_cost"] += conversation.cost
        if conversation.replies:
            totals.in_vain = 0
            first, *others = conversation.replies
            replies = [replace(first, usage=dict(conversation.usage)), *others]
            new = dict(zip(conversation.keys, replies, strict=False))
            totals.used |= new
            if self._store is not None:
                self._store.put(self.name, new)
        if error is None:
            return
        totals.reason = totals.reason or str(error)
        totals.in_vain += not conversation.replies
        if totals.in_vain >= MOST_FAILURES:
            reason = f"{totals.in_vain} conversations in a row got no reply; the last error: {error}"
            totals.stop(ModelError(f"the judge {self.name!r} cannot be asked: {reason}"))
