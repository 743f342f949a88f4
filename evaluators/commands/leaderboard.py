"""`eyechart leaderboard`: the Space of results, built from submissions and previewed."""

import datetime
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.runs.console import checked

if TYPE_CHECKING:
    from eyechart.hub_cards.leaderboard.build import Outcome

app = typer.Typer(
    help="The leaderboard: a static Space made of submitted results.", no_args_is_help=True, add_completion=False
)


@app.command()
def build(
    submissions: Annotated[Path, typer.Argument(help="Folder of results files and of folders of runs.")],
    out: Annotated[Path, typer.Option("--out", "--output", help="Folder of the Space to write.")] = Path(
        "eyechart_leaderboard"
    ),
    outcome_file: Annotated[
        Path | None,
        typer.Option("--outcome", help="File for what was rejected and replaced (default: <out>_outcome.json)."),
    ] = None,
) -> None:
    """Check submissions and write the folder of the Space; the exit code is 1 if any was rejected."""

    def run() -> "Outcome":
        from eyechart.hub_cards.leaderboard.build import build as build_space

        try:
            return build_space(submissions, out, datetime.datetime.now(datetime.UTC))
        except OSError as error:
            raise UsageError(f"the Space cannot be written to '{out}': {error}") from error

    outcome = checked(run)
    for lost in outcome.rejected:
        where = f"{lost['task']} on {lost['subset']}" if lost["task"] else "all of it"
        print(_plain(f"rejected {lost['file']}, {where}:"))
        for reason in lost["reasons"]:
            print(_plain(f"    {reason}"))
    for former in outcome.replaced:
        print(_plain(f"replaced {former['file']}, {former['board']}, {former['model']}: by {former['by']}"))
    file = outcome_file or out.resolve().with_name(f"{out.resolve().name}_outcome.json")
    checked(lambda: _write_outcome(file, outcome))
    accepted, rejected = len(outcome.accepted), len(outcome.rejected)
    print(f"{accepted} accepted, {len(outcome.replaced)} replaced, {rejected} rejected; reasons are in {file}")
    print(f"The Space is in {out}; see it with `eyechart leaderboard serve {out}`")
    if rejected:
        raise typer.Exit(1)


@app.command()
def serve(
    folder: Annotated[Path, typer.Argument(help="Folder that `build` wrote.")] = Path("eyechart_leaderboard"),
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on this machine; 0 takes any free one.")] = 7860,
) -> None:
    """Show a built leaderboard on this machine until Ctrl-C."""
    from eyechart.hub_cards.leaderboard.build import check_built
    from eyechart.hub_cards.leaderboard.serve import make_server

    checked(lambda: check_built(folder))
    with checked(lambda: make_server(folder, port)) as server:
        host, taken = server.server_address[:2]
        print(f"http://{host!s}:{taken}/ shows {folder}; Ctrl-C ends it", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print("ended")


def _write_outcome(file: Path, outcome: "Outcome") -> None:
    report = {"rejected": outcome.rejected, "replaced": outcome.replaced}
    try:
        file.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"outcome='{file}' cannot be written: {error}; name a file in a folder that exists") from error


def _plain(text: str) -> str:
    """Text without anything that a terminal would obey: submissions were written by others."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
