"""`eyechart compare`: test whether runs differ, and rank them."""

import math
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eyechart.evaluators.commands.command import Command
from eyechart.evaluators.runs.console import cell, checked, console, print_note

if TYPE_CHECKING:
    from rich.table import Table

    from eyechart.evaluators.comparison.compare import Comparison, ManyRuns
    from eyechart.evaluators.comparison.differences import Difference

_FLIPS = "flips: correct only in A / correct only in B"
_COUNTING = ("McNemar, exact", "clustered", "dyadic")
"""Tests of items that are correct or incorrect; only these can flip."""


app = typer.Typer(add_completion=False)


@app.command(cls=Command)
def compare(
    runs: Annotated[
        list[Path], typer.Argument(metavar="A B...", help="Folders of two finished runs, A and B, or of more.")
    ],
    task: Annotated[list[str] | None, typer.Option(help="Compare only this task. Repeatable.")] = None,
    common: Annotated[bool, typer.Option("--common", help="Compare only the items that both runs have.")] = False,
    allow: Annotated[
        list[str] | None, typer.Option(metavar="SETTING", help="Compare even if this setting differs. Repeatable.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed for the bootstrap.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the comparison to a file: .json, or .csv for the items that flipped between two runs.",
        ),
    ] = None,
) -> None:
    """Test whether runs differ, item by item, adjusted for the number of tests.

    A difference is A (the first run) minus B (the second run). Three or more runs are tested in pairs and ranked by
    each task's headline score; runs share a place unless a test finds a difference. The exit code is 1 if a task cannot
    be compared.
    """

    def work() -> "Comparison | ManyRuns":
        from eyechart.evaluators.comparison.compare import write_comparison

        found = compare_folders(runs, task or [], common=common, allowed=allow or [], seed=seed)
        if out is not None:
            write_comparison(found, out)
        return found

    if not show_comparison(checked(work), out):
        raise typer.Exit(1)


def compare_folders(runs: Sequence[Path], tasks: Sequence[str] = (), **given: Any) -> "Comparison | ManyRuns":
    """Compare two finished runs, or more; the arguments are those of `comparison.compare.compare`."""
    from eyechart.evaluators.comparison.compare import compare as compare_two
    from eyechart.evaluators.comparison.compare import compare_many

    return compare_two(runs[0], runs[1], tasks, **given) if len(runs) == 2 else compare_many(runs, tasks, **given)


def show_comparison(found: "Comparison | ManyRuns", out: Path | None = None) -> bool:
    """Print a comparison; returns whether every task could be compared. `out` is the file that has it."""
    from eyechart.evaluators.comparison.compare import ManyRuns

    if isinstance(found, ManyRuns):
        _say_many(found)
        pairs = found.pairs
    else:
        _say_two(found, out)
        pairs = (found,)
    if any(refused.can_be_allowed for pair in pairs for refused in pair.refused):
        _say("To compare despite a different setting, use --allow SETTING; the difference then includes its effect.")
    if out is not None:
        _say(f"Written to {out}")
    return not any(pair.refused for pair in pairs)


def show_outcome(found: "Comparison | ManyRuns", folders: "Sequence[Path]") -> None:
    """Print a comparison in one line a task, as at the end of a run."""
    from eyechart.evaluators.comparison.compare import ManyRuns
    from eyechart.evaluators.comparison.verdicts import verdicts

    if isinstance(found, ManyRuns):
        if found.rankings:
            console().print(_places(found))
            _say("In brackets: place. Models that share one do not differ significantly (p < 0.05, Holm-adjusted).")
        pairs, reasons = found.pairs, [f"{task.title}: {task.reason}" for task in found.unranked]
    else:
        _say(f"A: {found.first}; B: {found.second}")
        for verdict in verdicts(found):
            _say(verdict.text)
        pairs, reasons = (found,), [f"{one.title}: {'; '.join(one.reasons)}" for one in found.refused]
    for reason in reasons:
        _say(f"not compared: {reason}")
    _say_settings(pairs)
    _say(f"All tests: eyechart compare {shlex.join(map(str, folders))}")


def _places(found: "ManyRuns") -> "Table":
    """One row a task, one column a run: the headline score and its place."""
    from rich.table import Table

    names = list(dict.fromkeys(name for pair in found.pairs for name in (pair.first, pair.second)))
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("task", overflow="fold")
    for name in names:
        table.add_column(cell(name), justify="right", overflow="fold")
    for ranking in found.rankings:
        shown = {run.run: f"{_shown(ranking.key, run.score)} ({run.place})" for run in ranking.runs}
        table.add_row(cell(ranking.title), *(shown.get(name, "") for name in names))
    return table


def _say_many(found: "ManyRuns") -> None:
    from rich import box
    from rich.table import Table

    for ranking in found.rankings:
        table = Table(title=cell(ranking.title), title_justify="left", box=box.HORIZONTALS, pad_edge=False)
        table.add_column("place", justify="right", no_wrap=True)
        table.add_column("run", overflow="fold")
        table.add_column(ranking.score, justify="right", no_wrap=True)
        for run in ranking.runs:
            tied = "=" if sum(other.place == run.place for other in ranking.runs) > 1 else ""
            table.add_row(f"{run.place}{tied}", cell(run.run), _shown(ranking.key, run.score))
        console().print(table)
    if found.rankings:
        counts = " or ".join(f"{count:,}" for count in sorted({ranking.tests for ranking in found.rankings}))
        _say(
            "place: runs share it (=) unless a paired test finds a difference (p < 0.05, Holm-adjusted "
            f"over {counts} pairs)"
        )
    for task in found.unranked:
        _say(f"not ranked: {task.title}: {task.reason}")
    for pair in found.pairs:
        if pair.differences:
            console().print(_table(pair, is_adjusted=True))
    _say_settings(found.pairs)
    _say_synthetic(found.pairs)
    _say(f"p (Holm): Holm-adjusted over the {len(found.pairs)} pairs of runs, for each score by itself")
    _say(_FLIPS)
    _say_methods(found.pairs)
    for pair in found.pairs:
        _say_notes(pair.differences)
        for refused in pair.refused:
            reasons = "; ".join(refused.reasons)
            _say(f"not compared: {pair.first} with {pair.second}: {refused.title}: {reasons}")
        if pair.only_in_one:
            _say(f"only in one of {pair.first} and {pair.second}: {', '.join(pair.only_in_one)}")


def _say_two(found: "Comparison", out: Path | None) -> None:
    from eyechart.evaluators.comparison.verdicts import verdicts

    if found.differences:
        console().print(_table(found))
        for verdict in verdicts(found):
            _say(verdict.text)
        _say_settings([found])
        _say_synthetic([found])
        if sum(one.has_test for one in found.differences) > 1:
            _say("p: each score by itself; of 20 equal scores, one has p < 0.05 by chance")
        _say(_FLIPS)
    _say_methods([found])
    _say_notes(found.differences)
    if out is None and any(one.only_first or one.only_second for one in found.differences):
        _say("To list the items that flipped, use --out FILE.csv.")
    if found.only_in_one:
        _say(f"only in one run: {', '.join(found.only_in_one)}")
    for refused in found.refused:
        _say(f"not compared: {refused.title}: {'; '.join(refused.reasons)}")


def _table(found: "Comparison", *, is_adjusted: bool = False) -> "Table":
    from eyechart.evaluators.comparison.differences import shown_p, signed
    from eyechart.evaluators.runs.console import add_heading, add_scores, scores_table
    from eyechart.metrics.scores import spec

    columns = ("A\nB", "difference\n95 % interval", "p\np (Holm)" if is_adjusted else "p", "flips", "n")
    table = scores_table(f"A: {found.first}; B: {found.second}", "score", columns)
    task = ""
    for one in found.differences:
        if one.title != task:
            task = one.title
            add_heading(table, task)
        flips = f"{len(one.only_first):,} / {len(one.only_second):,}" if one.test in _COUNTING else ""
        add_scores(
            table,
            one.score,
            f"{spec(one.key).shown(one.first)}\n{spec(one.key).shown(one.second)}",
            f"{signed(one.key, one.difference)}\n{_interval(one)}",
            f"{shown_p(one.p_value)}\n{shown_p(one.p_holm)}" if is_adjusted else shown_p(one.p_value),
            flips,
            f"{one.n:,}",
        )
    return table


def _say_methods(pairs: "Sequence[Comparison]") -> None:
    from eyechart.evaluators.comparison.verdicts import method_notes

    for note in method_notes([one for pair in pairs for one in pair.differences]):
        _say(note.text)


def _say_notes(differences: "Sequence[Difference]") -> None:
    """Print each note once, with all scores of the task that it applies to."""
    scores: dict[tuple[str, str], list[str]] = {}
    for one in differences:
        if one.note:
            scores.setdefault((one.title, one.note), []).append(one.score)
    for (place, note), names in scores.items():
        _say(f"{place}: {' and '.join(names)}: {note}")


def _say_settings(pairs: "Sequence[Comparison]") -> None:
    """Name what differs between the runs of each pair in addition to the model."""
    for pair in pairs:
        for words in pair.also_differ:
            _say(f"{pair.first} and {pair.second} also differ in {words}, which can change scores.")


def _say_synthetic(pairs: "Sequence[Comparison]") -> None:
    from eyechart.evaluators.comparison.verdicts import synthetic_note

    if note := synthetic_note(pairs):
        _say(note.text)


def _say(text: str) -> None:
    print_note(console(), text)


def _shown(key: str, value: float) -> str:
    from eyechart.metrics.scores import spec

    return spec(key).shown(value)


def _interval(one: "Difference") -> str:
    from eyechart.evaluators.comparison.differences import signed

    if not all(map(math.isfinite, one.difference_ci95)):
        return ""
    return " to ".join(signed(one.key, end).removesuffix(" points") for end in one.difference_ci95)
