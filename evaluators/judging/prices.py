"""What judges cost: the table `prices.toml` beside this file, and the user's own."""

import math
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.datasets_scripts.common.paths import eyechart_home

FILE = "prices.toml"
"""Name of the user's own table under `EYECHART_HOME`."""

_BUNDLED = Path(__file__).parent / FILE
_FIELDS = ("input", "output")
_PER = 1_000_000


@dataclass(frozen=True)
class Price:
    """What a model's tokens cost.

    Attributes:
        input: US dollars per million tokens of a prompt, at least 0.
        output: US dollars per million tokens of a reply, at least 0.
    """

    input: float
    output: float

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Cost of a request in US dollars.

        Examples:
            >>> Price(input=2.5, output=10.0).cost(1000, 20)
            0.0027
        """
        return (prompt_tokens * self.input + completion_tokens * self.output) / _PER


def find_price(model: str, file: Path | None = None) -> Price | None:
    """The price of a model, from the first table that has it: the file given, the user's own, the bundled one.

    Args:
        model: The model's name on its server.
        file: A table of the form of the bundled one.

    Returns:
        The price; None where no table has one.

    Raises:
        UsageError: A table cannot be read, or an entry in it is no price.

    Examples:
        >>> find_price("gpt-4o-mini")
        Price(input=0.15, output=0.6)
    """
    own = eyechart_home() / FILE
    for table in (file, own if own.exists() else None, _BUNDLED):
        prices = {} if table is None else read_prices(table)
        if model in prices:
            return prices[model]
    return None


def missing_price(model: str) -> UsageError:
    """Make the error for a limit in dollars on a model without a price."""
    return UsageError(
        f"max_cost is given, but no price of the judge {model!r} is known, so nothing tells when it is reached. Leave "
        f"out max_cost, or add the price to {eyechart_home() / FILE}, in US dollars per million tokens (0 for a server "
        f'of your own), as three lines: ["{model}"], then input = 0.0, then output = 0.0.'
    )


def read_prices(path: Path) -> dict[str, Price]:
    """Read a table of prices.

    Args:
        path: A TOML file with a section for each model, of numbers `input` and `output`.

    Raises:
        UsageError: It cannot be read, or an entry is no price.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"the table of prices {path} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise UsageError(f"the table of prices {path} is no TOML file: {error}") from error
    return {model: _price(path, model, entry) for model, entry in table.items()}


def _price(path: Path, model: str, entry: Any) -> Price:
    sound = isinstance(entry, dict) and set(entry) == set(_FIELDS) and all(map(_is_price, entry.values()))
    if not sound:
        raise UsageError(
            f"the table of prices {path} has {entry!r} for {model!r}; expected the numbers input and output, in US "
            'dollars per million tokens, at least 0. A name with a dot is written in quotes: ["gpt-4.1"].'
        )
    return Price(**{name: float(entry[name]) for name in _FIELDS})


def _is_price(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf
