"""Options for sampled replies and for repeats."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import typer

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.backends.chat_options import Sampling


@dataclass(frozen=True)
class SamplingArguments:
    """How replies are sampled, and how often each request is asked."""

    panel: ClassVar[str] = "Sampling"

    temperature: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Sampling temperature of replies (default: 0, greedy decoding).",
        ),
    ] = None
    top_p: Annotated[
        float | None,
        typer.Option(
            "--top-p",
            help="Nucleus sampling: use only the most likely tokens with this total probability (default: 1, all).",
        ),
    ] = None
    sampling_seed: Annotated[int | None, typer.Option(min=0, help="Seed for sampling (default: 0).")] = None

    repeats: Annotated[
        int,
        typer.Option(
            min=1,
            help="Ask every request K times: mean and spread over the repeats; for choices, pass@K and majority vote.",
            metavar="K",
        ),
    ] = 1

    def options(self) -> Sampling | None:
        """How replies are sampled; None for greedy decoding.

        Raises:
            UsageError: A value is not allowed, or has no effect with greedy decoding.
        """
        if self.temperature:
            top_p = 1.0 if self.top_p is None else self.top_p
            return Sampling(self.temperature, top_p, self.sampling_seed or 0)
        if self.repeats > 1:
            raise UsageError(
                f"--repeats {self.repeats} needs a --temperature above 0, such as 0.7: at temperature 0 decoding is "
                "greedy and all repeats would be equal"
            )
        for name, value in (("--top-p", self.top_p), ("--sampling-seed", self.sampling_seed)):
            if value is not None:
                raise UsageError(f"{name} {value} has no effect at temperature 0; add a --temperature above 0")
        return None
