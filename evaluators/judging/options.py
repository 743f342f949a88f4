"""How a judge on a server is asked."""

import math
from dataclasses import dataclass, field

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.backends.endpoint.options import EndpointOptions

KEY_VARIABLE = "EYECHART_JUDGE_API_KEY"
"""The environment variable with the judge's key, where it is another than the model's."""


@dataclass(frozen=True)
class JudgeOptions:
    """A judge on a server, and how it is asked.

    The API key is no option: it is the environment variable `EYECHART_JUDGE_API_KEY`, or else `OPENAI_API_KEY`.

    Attributes:
        model: The judge's name on its server.
        endpoint: Address, requests at once, seconds to wait, retries.
        temperature: The sampling temperature, at least 0. The papers print none; 1.0 is the servers' own default, and
            several rounds of a judge at 0 would be one.
        max_tokens: The longest reply wanted, in tokens, at least 1. A judge that thinks first needs more.
        price: US dollars per million tokens of a prompt and of a reply, at least 0; None if unknown.
        max_cost: US dollars that may be spent, at least 0; None for no limit. Stored replies cost nothing. No request
            is sent once what was charged, what is in flight and the request itself would pass the limit.
    """

    model: str
    endpoint: EndpointOptions = field(default_factory=EndpointOptions)
    temperature: float = 1.0
    max_tokens: int = 64
    price: tuple[float, float] | None = None
    max_cost: float | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        if not self.model:
            raise UsageError("model='' is not allowed; it is the judge's name on its server.")
        if not 0 <= self.temperature < math.inf:
            raise UsageError(f"temperature={self.temperature} is not allowed; it is at least 0 and finite.")
        least = {"max_tokens": 1, "max_cost": 0}
        for name, allowed in least.items():
            value = getattr(self, name)
            if value is not None and not value >= allowed:
                raise UsageError(f"{name}={value} is not allowed; it is at least {allowed}.")
        if self.price is not None and not all(0 <= value < math.inf for value in self.price):
            raise UsageError(f"price={self.price} is not allowed; it is two numbers of at least 0.")
        if self.max_cost is not None and self.price is None:
            raise UsageError(
                "max_cost is given without price, so it cannot be kept. Give US dollars per million "
                "tokens of prompts and of replies (--judge-price 2.5 10; 0 0 for a server of your own), or leave out "
                "max_cost."
            )

    def cost(self, prompt_tokens: float, completion_tokens: float) -> float:
        """What tokens cost in US dollars; 0 without a price.

        Examples:
            >>> JudgeOptions("judge", price=(2.5, 10.0)).cost(1000, 20)
            0.0027
        """
        prompt, reply = self.price or (0.0, 0.0)
        return (prompt_tokens * prompt + completion_tokens * reply) / 1_000_000
