"""Limits on what is sent to a server: what it may cost, and how many requests are under way at once."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import anyio
import openai

from eyechart.evaluators.backends.endpoint.failures import OVERLOADED

_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 8.0
"""Seconds that a refused attempt keeps its place: twice as long after each refusal without an answer in between."""
Send = Callable[[], Awaitable[Any]]


class LimitError(openai.OpenAIError):
    """An attempt is not sent, because it might exceed the spending limit."""


@dataclass
class Budget:
    """What requests may still cost in US dollars, without what those under way may cost."""

    left: float


class Charge:
    """What one question costs, in all its attempts: each its highest cost until an answer states another."""

    def __init__(self, budget: Budget) -> None:
        """Nothing yet."""
        self._budget, self.cost, self._reserved = budget, 0.0, 0.0

    async def attempt(self, highest: Callable[[], float], send: Send) -> Any:
        """Send one attempt, unless its highest cost exceeds what is left."""
        self._reserved = highest()
        if self._reserved > self._budget.left:
            raise LimitError
        self._spend(self._reserved)
        is_free = False
        try:
            response = await send()
            # A refused request costs nothing.
            is_free = response.status_code != 200
            return response
        except Exception as error:
            # By name: it is httpx's or httpx2's, as the version of openai has it.
            is_free = type(error).__name__.startswith("Connect")
            raise
        finally:
            self._spend(-self._reserved if is_free else 0)

    def settle(self, cost: float) -> None:
        """Replace the highest cost of the last attempt by the cost that its answer states."""
        self._spend(cost - self._reserved)

    def _spend(self, cost: float) -> None:
        self.cost += cost
        self._budget.left -= cost


class Window:
    """How many requests are under way at once: half as many after a refusal, one more after as many answers.

    Additive increase, multiplicative decrease: Chiu and Jain, Computer Networks and ISDN Systems 17, 1989. A request
    that is not answered in time counts as refused. Requests that were under way when the number was halved do not halve
    it again. While a server refuses everything without saying how long, all requests wait longer and longer.
    """

    def __init__(self, most: int) -> None:
        """Begin with the greatest number."""
        self._most = self.size = most
        self._answers = self._halvings = 0
        self._pause = _FIRST_PAUSE

    def open(self) -> None:
        """Begin to count in the event loop that is about to run."""
        self._limiter = anyio.CapacityLimiter(self.size)

    async def attempt(self, send: Send) -> Any:
        """Send one attempt as soon as it is within the number."""
        async with self._limiter:
            halvings = self._halvings
            try:
                response = await send()
            except Exception as error:
                if "Timeout" in type(error).__name__:
                    self._refused(halvings)
                raise
            if response.status_code in OVERLOADED:
                self._refused(halvings)
                if not any(name.lower().startswith("retry-after") for name in response.headers):
                    pause, self._pause = self._pause, min(_LONGEST_PAUSE, 2 * self._pause)
                    await anyio.sleep(pause)
            else:
                self._answered()
            return response

    def _refused(self, halvings: int) -> None:
        if halvings == self._halvings:
            self._halvings += 1
            self._resize(max(1, self.size // 2))

    def _answered(self) -> None:
        self._pause = _FIRST_PAUSE
        self._answers += 1
        if self._answers >= self.size < self._most:
            self._resize(self.size + 1)

    def _resize(self, size: int) -> None:
        self._answers, self.size = 0, size
        self._limiter.total_tokens = size
