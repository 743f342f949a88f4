"""Arguments that several commands share."""

import json
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from eyechart.datasets_scripts.common.errors import UsageError

HOW = "How the tasks are run"
"""Panel of the help page with the settings that tasks take; each is an error where no task takes it."""
JUDGE = "Who judges"


class BackendKind(Enum):
    """Who runs the model."""

    TRANSFORMERS = "transformers"
    OPENAI = "openai"


Subset = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Data set to run on; the task's own by default. Repeatable."),
]
Split = Annotated[str | None, typer.Option(help="Split to run on; the task's first by default.")]
Limit = Annotated[int | None, typer.Option(min=1, help="Evaluate only the first N items.")]
_SEED = "Seed of the bootstrap intervals and of random choices"
Seed = Annotated[int, typer.Option(min=0, help=f"{_SEED}.")]
OptionalSeed = Annotated[int | None, typer.Option(min=0, help=f"{_SEED} (default: 0).")]
"""None where it is not given, as a suite file has a seed of its own."""
DataDirs = Annotated[
    list[str] | None,
    typer.Option(
        "--data-dir",
        metavar="[SUBSET=]PATH",
        help="Folder of the release; without it, the official one is downloaded where that is possible. Repeatable.",
    ),
]
Mini = Annotated[
    bool, typer.Option("--mini", help="Use synthetic data, a mini release, for data sets without --data-dir.")
]
DataOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--option", metavar="NAME=VALUE", help="Setting of the data set's own, its value as JSON or text. Repeatable."
    ),
]
Out = Annotated[
    Path | None, typer.Option("--out", "--output", help="Folder for the results (default: ./eyechart_runs/<time>).")
]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Leave out rows and images that cannot be read; list them.")]
SkipMissing = Annotated[bool, typer.Option("--skip-missing", help="Leave out rows whose image is absent; list them.")]
NoStore = Annotated[
    bool, typer.Option("--no-store", help="Neither use answers of earlier runs nor keep those of this one.")
]

AsPublished = Annotated[
    bool | None,
    typer.Option(
        "--as-published",
        help="Run as the paper did, where the defaults are better or cheaper; the result lists what this changes.",
        rich_help_panel=HOW,
    ),
]
Wording = Annotated[str | None, typer.Option(help="Another wording of the prompt.", rich_help_panel=HOW)]
Inference = Annotated[
    str | None,
    typer.Option(
        help="options, closed-set (the option of the lowest loss) or top-token (the likeliest token).",
        rich_help_panel=HOW,
    ),
]
Words = Annotated[
    str | None, typer.Option(help="Words whose logits give a score, such as high/low.", rich_help_panel=HOW)
]
Temperature = Annotated[float | None, typer.Option(help="What logits are divided by.", rich_help_panel=HOW)]
Ties = Annotated[str | None, typer.Option(help="Ranking of equal logits: exact or released.", rich_help_panel=HOW)]
Aggregator = Annotated[
    str | None,
    typer.Option(help="From pairs to scores: map, mle, mle_ridge, perron or trueskill.", rich_help_panel=HOW),
]
Blind = Annotated[bool | None, typer.Option("--blind", help="Ask without the image.", rich_help_panel=HOW)]
WithoutBlind = Annotated[
    Path | None,
    typer.Option(
        exists=True,
        file_okay=False,
        metavar="FOLDER",
        help="Score also without the questions that the blind run in this folder solved.",
        rich_help_panel=HOW,
    ),
]
Marking = Annotated[
    bool | None,
    typer.Option("--marking", help="Have a judge mark answers to open questions too, 1 to 5.", rich_help_panel=HOW),
]
HumanLetters = Annotated[
    Path | None,
    typer.Option(
        exists=True,
        dir_okay=False,
        metavar="FILE",
        help="CSV or JSON Lines with id, pass and the letter that people read in the reply: tells the agreement.",
        rich_help_panel=HOW,
    ),
]
Fallback = Annotated[
    str | None, typer.Option(help="What an unreadable reply becomes: wrong or random.", rich_help_panel=HOW)
]
Rounds = Annotated[int | None, typer.Option(min=1, help="Replies asked of the judge.", rich_help_panel=JUDGE)]


def parse_options(values: Sequence[str]) -> dict[str, Any]:
    """Name to value of `NAME=VALUE`; what is no JSON is text.

    Raises:
        UsageError: Not of that form, or a name is given twice.
    """
    options: dict[str, Any] = {}
    for value in values:
        name, equals, text = value.partition("=")
        if not equals or name in options:
            raise UsageError(f"--option {value!r} is not NAME=VALUE, or gives NAME again")
        try:
            options[name] = json.loads(text)
        except ValueError:
            options[name] = text
    return options
