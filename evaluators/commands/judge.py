"""The options with which `eyechart run` and `score` name a judge on a server.

typer reads a command's options from its signature, so each command names them all, and hands them to `judge_options`.
"""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.backends.endpoint.options import DEFAULT_TIMEOUT, EndpointOptions
from eyechart.evaluators.commands.arguments import JUDGE

if TYPE_CHECKING:
    from eyechart.evaluators.judging import JudgeOptions

JudgeName = Annotated[
    str | None,
    typer.Option(
        "--judge",
        metavar="MODEL",
        help="The judge's name on its server; without it none is asked.",
        rich_help_panel=JUDGE,
    ),
]
JudgeUrl = Annotated[
    str | None,
    typer.Option(
        "--judge-base-url",
        metavar="URL",
        help="Address of the judge's server (default: OpenAI's).",
        rich_help_panel=JUDGE,
    ),
]
JudgeTemperature = Annotated[
    float | None,
    typer.Option("--judge-temperature", min=0, help="Of the sampling (default: 1).", rich_help_panel=JUDGE),
]
JudgeTokens = Annotated[
    int | None,
    typer.Option("--judge-max-tokens", min=1, help="The judge's longest reply (default: 64).", rich_help_panel=JUDGE),
]
JudgeConcurrency = Annotated[
    int, typer.Option("--judge-concurrency", min=1, help="Requests at once to the judge.", rich_help_panel=JUDGE)
]
JudgeTimeout = Annotated[
    float | None,
    typer.Option(
        "--judge-timeout",
        min=0.001,
        metavar="SECONDS",
        help=f"How long to wait for an answer of the judge (default: {DEFAULT_TIMEOUT:.0f}).",
        rich_help_panel=JUDGE,
    ),
]
JudgeCost = Annotated[
    float | None,
    typer.Option(
        "--judge-max-cost",
        min=0,
        metavar="DOLLARS",
        help="US dollars that may be spent; what is left then stays unjudged, and the result says so.",
        rich_help_panel=JUDGE,
    ),
]
JudgePrices = Annotated[
    Path | None,
    typer.Option("--judge-prices", metavar="FILE", help="A table of prices of your own.", rich_help_panel=JUDGE),
]


def judge_options(
    name: str | None,
    base_url: str | None,
    temperature: float | None,
    max_tokens: int | None,
    concurrency: int,
    timeout: float | None,
    max_cost: float | None,
    prices: Path | None,
) -> "JudgeOptions | None":
    """The judge of a run; None where no judge is named.

    Raises:
        UsageError: Something is said about a judge that is not named, or is not allowed.
    """
    given = {
        "--judge-base-url": base_url,
        "--judge-temperature": temperature,
        "--judge-max-tokens": max_tokens,
        "--judge-timeout": timeout,
        "--judge-max-cost": max_cost,
        "--judge-prices": prices,
    }
    said = [option for option, value in given.items() if value is not None]
    if name is None:
        if said:
            raise UsageError(f"{', '.join(said)} has no effect without --judge, the judge's name on its server")
        return None
    from eyechart.evaluators.judging import JudgeOptions

    seconds = DEFAULT_TIMEOUT if timeout is None else timeout
    endpoint = EndpointOptions(base_url=base_url, concurrency=concurrency, timeout=seconds)
    options = JudgeOptions(name, endpoint, max_cost=max_cost, prices=prices)
    return replace(
        options,
        temperature=options.temperature if temperature is None else temperature,
        max_tokens=max_tokens or options.max_tokens,
    )
