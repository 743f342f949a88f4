"""Options of replies that are drawn at random, and of repeats."""

from dataclasses import dataclass
from typing import Annotated

import typer

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.backends.chat_options import Sampling

SAMPLING = "Sampling"
"""Panel of the help page."""


@dataclass(frozen=True)
class SamplingArguments:
    """How replies are drawn, and how often each request is asked."""

    temperature: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Draw replies at random at this temperature (default: 0, which takes the likeliest token each time).",
            rich_help_panel=SAMPLING,
        ),
    ] = None
    top_p: Annotated[
        float | None,
        typer.Option(
            "--top-p",
            help="Draw from the likeliest tokens whose probabilities together reach this (default: 1, all of them).",
            rich_help_panel=SAMPLING,
        ),
    ] = None
    sampling_seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of the draws (default: 0).", rich_help_panel=SAMPLING)
    ] = None

    repeats: Annotated[
        int,
        typer.Option(
            min=1,
            help="Ask everything K times: mean and spread over the repeats, pass@K and majority vote of choices.",
            metavar="K",
            rich_help_panel=SAMPLING,
        ),
    ] = 1

    def options(self) -> Sampling | None:
        """How replies are drawn; None where nothing is.

        Raises:
            UsageError: A value is not allowed, or has no effect as nothing is drawn.
        """
        if self.temperature:
            top_p = 1.0 if self.top_p is None else self.top_p
            return Sampling(self.temperature, top_p, self.sampling_seed or 0)
        if self.repeats > 1:
            raise UsageError(
                f"--repeats {self.repeats} at temperature 0 is not allowed: the likeliest token is taken each time, so "
                "all repeats would be equal. Give --temperature above 0, such as 0.7, or leave --repeats out."
            )
        for name, value in (("--top-p", self.top_p), ("--sampling-seed", self.sampling_seed)):
            if value is not None:
                raise UsageError(f"{name} {value} has no effect at temperature 0; give --temperature above 0 with it")
        return None
