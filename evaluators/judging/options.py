"""How a judge on a server is asked."""

from dataclasses import dataclass, field
from pathlib import Path

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
        temperature: Of the sampling, at least 0. The papers print none; 1.0 is the servers' own default, and several
            rounds of a judge at 0 would be one.
        max_tokens: The longest reply wanted, in tokens, at least 1. A judge that thinks first needs more.
        max_cost: US dollars that may be spent, at least 0; None for no limit. Stored replies cost nothing. A request is
            sent only if it may be sent again as often as `endpoint` says, each time at its greatest possible cost.
        prices: A table of prices that goes before `EYECHART_HOME/prices.toml` and the bundled one.
    """

    model: str
    endpoint: EndpointOptions = field(default_factory=EndpointOptions)
    temperature: float = 1.0
    max_tokens: int = 64
    max_cost: float | None = None
    prices: Path | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        if not self.model:
            raise UsageError("model='' is not allowed; it is the judge's name on its server.")
        least = {"temperature": 0, "max_tokens": 1, "max_cost": 0}
        for name, allowed in least.items():
            value = getattr(self, name)
            if value is not None and not value >= allowed:
                raise UsageError(f"{name}={value} is not allowed; it is at least {allowed}.")
