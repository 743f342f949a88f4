"""`eyechart leaderboard`: the Space of results, built from leaderboard entries."""

import datetime
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eyechart.datasets_scripts.common.whole import unwritable, write_whole
from eyechart.evaluators.commands.command import Command, Group
from eyechart.evaluators.runs.console import checked, say
from eyechart.evaluators.runs.data_dirs import parse_data_dirs

if TYPE_CHECKING:
    from eyechart.hub_cards.leaderboard.build import Outcome

app = typer.Typer(
    cls=Group, help="The leaderboard: a static Space made of finished runs.", no_args_is_help=True, add_completion=False
)


@app.callback()
def leaderboard() -> None:
    """Keep `build` a command of its own."""


@app.command(cls=Command)
def build(
    entries: Annotated[Path, typer.Argument(help="Folder that holds the folders of finished runs.")],
    out: Annotated[Path, typer.Option("--out", "--output", help="Folder of the Space to write.")] = Path(
        "eyechart_leaderboard"
    ),
    data_dir: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[DATASET=]PATH",
            help="Folder of a release, to compare predictions with; by default those downloaded before. Repeatable.",
        ),
    ] = None,
    outcome_file: Annotated[
        Path | None,
        typer.Option("--outcome", help="File for what was rejected and replaced (default: <out>_outcome.json)."),
    ] = None,
) -> None:
    """Recompute the scores of entries and write the folder of the Space; the exit code is 1 if any was rejected."""

    def run() -> "Outcome":
        from eyechart.hub_cards.leaderboard.boards import BOARDS
        from eyechart.hub_cards.leaderboard.build import build as build_space

        datasets = tuple(dict.fromkeys(board.dataset for board in BOARDS))
        folders = parse_data_dirs(data_dir or [], datasets, "dataset")
        try:
            return build_space(entries, out, datetime.datetime.now(datetime.UTC), folders)
        except OSError as error:
            raise unwritable(f"the Space in '{out}'", error) from error

    outcome = checked(run)
    _print(outcome)
    file = outcome_file or out.resolve().with_name(f"{out.resolve().name}_outcome.json")
    checked(lambda: _write_outcome(file, outcome))
    accepted, rejected = len(outcome.accepted), len(outcome.rejected)
    if not (accepted or rejected):
        say(f"no entries in {entries} yet: the boards show the papers' rows and how to submit")
    say(f"{accepted} accepted, {len(outcome.replaced)} replaced, {rejected} rejected; reasons are in {file}")
    say(f"The Space is in {out}; see it with `python -m http.server --directory {out}`")
    if rejected:
        raise typer.Exit(1)


def _print(outcome: "Outcome") -> None:
    """What became of the entries, without anything that a terminal would obey: others wrote them."""
    for lost in outcome.rejected:
        where = f"{lost.task} on {lost.dataset}" if lost.task else "all of it"
        say(f"rejected {lost.entry}, {where}:")
        for reason in lost.reasons:
            say(f"    {reason}")
    for former in outcome.replaced:
        say(f"replaced {former.entry}, {former.board}, {former.model}: by {former.by}")
    for row in outcome.accepted:
        if row.check.unchecked:
            say(f"not recomputed {row.entry.source}, {row.board.name}: {row.check.unchecked}")
    for note in outcome.notes:
        say(f"to look at: {note}")


def _write_outcome(file: Path, outcome: "Outcome") -> None:
    report: dict[str, Any] = {
        "rejected": list(map(asdict, outcome.rejected)),
        "replaced": list(map(asdict, outcome.replaced)),
    }
    report["not_recomputed"] = [
        {"entry": row.entry.source, "board": row.board.name, "reason": row.check.unchecked}
        for row in outcome.accepted
        if row.check.unchecked
    ]
    report["to_look_at"] = outcome.notes
    try:
        write_whole(file, json.dumps(report, indent=2) + "\n")
    except OSError as error:
        raise unwritable(f"outcome='{file}'", error) from error
