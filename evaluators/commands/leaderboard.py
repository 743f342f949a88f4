"""Build the leaderboard, a static Space, from finished runs."""

import datetime
import json
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from eyechart.datasets_scripts.common.whole import write_whole, writing
from eyechart.evaluators.evaluation.options import Texts, cli_option
from eyechart.evaluators.runs.console import say

_DATA_HELP = """Folder of a release, to check predictions against (default: releases downloaded before).
Repeatable."""
_OUT = Path("eyechart_leaderboard")


def build(
    entries: Annotated[Path, typer.Argument(help="Folder with the folders of finished runs, one for each entry.")],
    out: Annotated[Path, cli_option("Folder to write the Space to.", "--out", "--output")] = _OUT,
    data_dir: Annotated[Texts, cli_option(_DATA_HELP, metavar="[DATASET=]PATH")] = None,
    tasks: Annotated[list[Path] | None, cli_option("Task file with own boards. Repeatable.", metavar="FILE")] = None,
    outcome_file: Annotated[Path | None, cli_option("Outcome file (default: <out>_outcome.json).", "--outcome")] = None,
) -> None:
    """Recompute the scores of all entries and write the Space. The exit code is 1 if an entry was rejected."""
    from eyechart.evaluators.evaluation.data import without_progress_bars
    from eyechart.evaluators.runs.task_runs import parse_data_dirs
    from eyechart.hub_cards.leaderboard.boards import BOARDS, own_boards
    from eyechart.hub_cards.leaderboard.build import build as build_space

    with without_progress_bars():
        boards = own_boards(tasks or [])
        folders = parse_data_dirs(data_dir or [], list(dict.fromkeys(board.dataset for board in (*BOARDS, *boards))))
        with writing(f"the Space in '{out}'"):
            outcome = build_space(entries, out, datetime.datetime.now(datetime.UTC), folders, boards)
    report: dict[str, Any] = {
        "rejected": list(map(asdict, outcome.rejected)),
        "replaced": list(map(asdict, outcome.replaced)),
        "stated": [
            {"entry": row.entry.source, "board": row.board.name, "reason": row.stated}
            for row in outcome.accepted
            if row.stated
        ],
    }
    _print(report)
    file = outcome_file or out.resolve().with_name(f"{out.resolve().name}_outcome.json")
    with writing(f"outcome='{file}'"):
        write_whole(file, json.dumps(report, indent=2) + "\n")
    accepted, rejected = len(outcome.accepted), len(outcome.rejected)
    if not (accepted or rejected):
        say(f"no entries in {entries} yet: the boards show the papers' published results and how to submit")
    say(f"{accepted} accepted, {len(outcome.replaced)} replaced, {rejected} rejected; reasons: {file}")
    say(f"The leaderboard is in {out}/; to view it: `eyechart view {shlex.quote(str(out))}`")
    if rejected:
        raise typer.Exit(1)


COMMANDS = (build,)


def _print(report: dict[str, Any]) -> None:
    for lost in report["rejected"]:
        where = f"{lost['task']} on {lost['dataset']}" if lost["task"] != lost["dataset"] else lost["task"]
        say(f"rejected {lost['entry']}, {where or 'entire entry'}:")
        for reason in lost["reasons"]:
            say(f"    {reason}")
    for entry in report["replaced"]:
        say(f"replaced {entry['entry']}, {entry['board']}, {entry['model']}: by {entry['by']}")
    for row in report["stated"]:
        say(f"stated, not checked {row['entry']}, {row['board']}: {row['reason']}")
