"""`eyechart compare`: whether two runs differ."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eyechart.evaluators.runs.console import cell, checked, console, print_line

if TYPE_CHECKING:
    from rich.table import Table

    from eyechart.evaluators.comparison.compare import Comparison
    from eyechart.evaluators.comparison.differences import Difference

_SHOWN = 5
"""Ids shown of items that flipped."""
_COUNTING = ("McNemar, exact", "clustered", "dyadic")
"""Tests of items that are right or wrong, and so can flip."""


def compare(
    first: Annotated[Path, typer.Argument(help="Folder of a finished run, A.")],
    second: Annotated[Path, typer.Argument(help="Folder of another run, B.")],
    task: Annotated[list[str] | None, typer.Option(help="Compare only this task. Repeatable.")] = None,
    common: Annotated[bool, typer.Option("--common", help="Compare only the items that both runs have.")] = False,
    allow: Annotated[
        list[str] | None, typer.Option(metavar="SETTING", help="Compare although this setting differs. Repeatable.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the comparison: .json, or .csv with the items that flipped."),
    ] = None,
) -> None:
    """Test item by item whether two runs differ, adjusted for the number of tests.

    Differences are A (the first run) less B (the second). The exit code is 1 if a task cannot be compared.
    """

    def work() -> "Comparison":
        from eyechart.evaluators.comparison.compare import compare as compare_runs
        from eyechart.evaluators.comparison.files import write_comparison

        found = compare_runs(first, second, task or [], common=common, allowed=allow or [], seed=seed)
        if out is not None:
            write_comparison(found, out)
        return found

    from eyechart.evaluators.comparison.causes import describe_causes

    found = checked(work)
    if found.differences:
        console().print(_table(found))
        tests = sum(not math.isnan(one.p_value) for one in found.differences)
        adjusted = f"Holm-adjusted ({tests} test{'' if tests == 1 else 's'})"
        _say(f"p (Holm): {adjusted}; flips: correct only in A / correct only in B")
    _say_notes(found.differences)
    for one in found.differences:
        _say_flips(one)
    for title, causes in found.causes.items():
        _say(f"{title}: {describe_causes(causes)}")
    if found.only_in_one:
        _say(f"only in one run: {', '.join(found.only_in_one)}")
    for refused in found.refused:
        _say(f"not compared: {refused.title}: {'; '.join(refused.reasons)}")
    if any(refused.can_be_allowed for refused in found.refused):
        _say("--allow SETTING compares although a setting differs; the difference then includes its effect.")
    if out is not None:
        _say(f"Written to {out}")
    if found.refused:
        raise typer.Exit(1)


def _table(found: "Comparison") -> "Table":
    from rich.table import Table

    from eyechart.metrics.scores import spec

    title = cell(f"A: {found.first}; B: {found.second}")
    table = Table(title=title, title_justify="left")
    for name in ("task", "data", "score"):
        table.add_column(name, no_wrap=name == "task")
    for name in ("A", "B", "difference", "95 % interval", "p", "p (Holm)", "flips", "n"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in found.differences:
        flips = f"{len(one.only_first):,} / {len(one.only_second):,}" if one.test in _COUNTING else ""
        table.add_row(
            cell(one.task),
            cell(f"{one.dataset} ({one.split})"),
            cell(one.score),
            spec(one.key).shown(one.first),
            spec(one.key).shown(one.second),
            _signed(one, one.difference),
            _interval(one),
            _p_value(one.p_value),
            _p_value(one.p_holm),
            flips,
            f"{one.n:,}",
        )
    return table


def _say_notes(differences: "Sequence[Difference]") -> None:
    """Each note once for all scores of a task that have it."""
    scores: dict[tuple[str, str], list[str]] = {}
    for one in differences:
        if one.note:
            scores.setdefault((f"{one.task} on {one.dataset} ({one.split})", one.note), []).append(one.score)
    for (place, note), names in scores.items():
        _say(f"{place}: {' and '.join(names)}: {note}")


def _say_flips(one: "Difference") -> None:
    for side, items in (("A", one.only_first), ("B", one.only_second)):
        if items:
            more = f" and {len(items) - _SHOWN} more" if len(items) > _SHOWN else ""
            place = f"{one.task} on {one.dataset} ({one.split}): {one.score}"
            _say(f"{place}: correct only in {side}: {', '.join(items[:_SHOWN])}{more}")


def _say(text: str) -> None:
    print_line(console(), text)


def _interval(one: "Difference") -> str:
    if not all(map(math.isfinite, one.interval)):
        return ""
    return " to ".join(_signed(one, end) for end in one.interval).replace(" %", "")


def _signed(one: "Difference", value: float) -> str:
    from eyechart.metrics.scores import spec

    return f"{'+' if value >= 0 else ''}{spec(one.key).shown(value)}"


def _p_value(value: float) -> str:
    return "" if math.isnan(value) else "< 0.0001" if value < 0.0001 else f"{value:.4f}"
