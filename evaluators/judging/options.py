"""Settings of a judge on a server."""

import math
from dataclasses import dataclass, field

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.backends.endpoint.options import DEFAULT_TEMPERATURE, EndpointOptions, check_ranges, read_key


@dataclass(frozen=True)
class JudgeOptions:
    """A judge on a server and its request settings.

    The API key is not a setting: it is read from the environment variable `EYECHART_JUDGE_API_KEY`, or else from
    `OPENAI_API_KEY`.

    Attributes:
        model: The judge's name on its server.
        endpoint: Address, concurrent requests, timeout in seconds, retries.
        temperature: The sampling temperature, at least 0. The papers state none; 1.0 is the servers' default, which is
            not sent to a server that refuses it. At 0, all rounds of a judge would be equal.
        max_tokens: Maximum length of a reply in tokens, at least 1. A judge that reasons first needs more.
        price: US dollars per million prompt tokens and per million reply tokens, at least 0; None if unknown.
        max_cost: Spending limit in US dollars, at least 0; None for no limit. Stored replies cost nothing. A request is
            not sent if it, the charges so far and the requests in flight could together exceed the limit.
    """

    model: str
    endpoint: EndpointOptions = field(default_factory=EndpointOptions)
    temperature: float = DEFAULT_TEMPERATURE
    max_tokens: int = 64
    price: tuple[float, float] | None = None
    max_cost: float | None = None

    def __post_init__(self) -> None:
        """Refuse values that are out of range."""
        if not self.model:
            raise UsageError("model='' is not allowed; expected the judge's name on its server.")
        if self.temperature != DEFAULT_TEMPERATURE and "temperature" in self.endpoint.removed:
            raise UsageError(f"temperature={self.temperature} is given, but extra_body removes it; leave out one.")
        check_ranges(self, temperature=0, max_tokens=1, max_cost=0)
        if self.price is not None and not all(0 <= value < math.inf for value in self.price):
            raise UsageError(f"price={self.price} is not allowed; expected two numbers of at least 0.")
        if self.max_cost is not None and self.price is None:
            raise UsageError(
                "max_cost needs a price. Give US dollars per million prompt tokens and per million reply tokens "
                "(--judge-arg price=[2.5,10]; [0,0] for your own server), or leave out max_cost."
            )

    def key(self) -> str:
        """The API key, "" if missing; not kept here, so that it is never shown with the options."""
        return read_key("EYECHART_JUDGE_API_KEY") or read_key()

    def cost(self, prompt_tokens: float, completion_tokens: float) -> float:
        """What tokens cost in US dollars; 0 without a price.

        Examples:
            >>> JudgeOptions("judge", price=(2.5, 10.0)).cost(1000, 20)
            0.0027
        """
        prompt, reply = self.price or (0.0, 0.0)
        return (prompt_tokens * prompt + completion_tokens * reply) / 1_000_000
