"""`eyechart compare`: test whether runs differ, and rank them."""

import math
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from eyechart.datasets_scripts.common.errors import DataError, EyechartError
from eyechart.evaluators.evaluation.options import Texts, cli_option
from eyechart.evaluators.runs.console import (
    add_heading,
    add_scores,
    cell,
    console,
    print_line,
    print_notes,
    scores_table,
)
from eyechart.metrics.scores import spec

if TYPE_CHECKING:
    from eyechart.evaluators.comparison.compare import Comparison, ManyRuns

_COUNTING = ("McNemar, exact", "clustered", "dyadic")
"""Tests of items that are correct or incorrect; only these can flip."""


def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="A B...", help="Folders of two or more finished runs.")],
    task: Annotated[Texts, cli_option("Compare only this task. Repeatable.")] = None,
    common: Annotated[bool, cli_option("Compare only the items that both runs have.", "--common")] = False,
    allow: Annotated[Texts, cli_option("Compare even if this setting differs. Repeatable.", metavar="SETTING")] = None,
    seed: Annotated[int, cli_option("Seed for the bootstrap.", min=0)] = 0,
    out: Annotated[Path | None, cli_option("Write .json, or .csv with the flipped items.", metavar="FILE")] = None,
) -> None:
    """Test whether runs differ, item by item, adjusted for the number of tests.

    A difference is A (the first run) minus B (the second run). Three or more runs are tested in pairs and ranked by
    each task's headline score; runs share a place unless a test finds a difference. The exit code is 1 if a task cannot
    be compared.
    """
    from eyechart.evaluators.comparison.compare import compare_many, write_comparison

    comparison = compare_many(runs, task or [], common=common, allowed=allow or [], seed=seed)
    pairs = comparison.pairs
    if out is not None:
        write_comparison(comparison if len(pairs) > 1 else pairs[0], out)
    lines = _print_tables(comparison)
    if out is not None:
        lines.append(f"Written to {out}")
    elif len(pairs) == 1 and any(test.only_first or test.only_second for test in pairs[0].differences):
        lines.append("To list the items that flipped, use --out FILE.csv.")
    print_notes(console(), *lines)
    if any(pair.refused for pair in pairs):
        raise typer.Exit(1)


def _print_tables(comparison: "ManyRuns") -> list[str]:
    """Print the tables of a comparison; returns the lines below them."""
    from eyechart.evaluators.comparison.compare import synthetic_note
    from eyechart.evaluators.comparison.differences import method_notes
    from eyechart.evaluators.results.notes import grouped

    pairs, lines = comparison.pairs, _verdict_lines(comparison)
    if len(pairs) > 1:
        _print_rankings(comparison)
        p_line = f"p (Holm): Holm-adjusted over the {len(pairs)} pairs of runs, for each score by itself"
    else:
        p_line = "p: each score by itself; of 20 equal scores, one has p < 0.05 by chance"
    for pair in pairs:
        if pair.differences:
            console().print(_table(pair, is_adjusted=len(pairs) > 1))
    tests = [test for pair in pairs for test in pair.differences]
    lines += [note.text for note in [synthetic_note(pairs)] if note]
    lines += [p_line] if sum(test.has_test for test in tests) > 1 else []
    lines += ["flips: correct only in A / correct only in B"] if tests else []
    lines += [note.text for note in method_notes(tests)]
    for pair in pairs:
        scores = grouped(((test.title, test.note), test.score) for test in pair.differences)
        lines += [f"{title}: {' and '.join(names)}: {note}" for (title, note), names in scores.items() if note]
        if pair.only_in_one:
            lines.append(f"{pair.first} with {pair.second}: only in one run: {', '.join(pair.only_in_one)}")
    lines += _refusals(pairs)
    if any(refused.can_be_allowed for pair in pairs for refused in pair.refused):
        lines.append("To compare despite a different setting, use --allow SETTING; the difference includes its effect.")
    return lines


def show_outcome(folders: Sequence[Path]) -> None:
    """Compare finished runs and print one line a task, as at the end of a run, or why they cannot be compared."""
    from eyechart.evaluators.comparison.compare import compare_many
    from eyechart.evaluators.results.results_file import read_results

    folders = [folder for folder in folders if read_results(folder).tasks]
    try:
        if len(folders) < 2:
            raise DataError("fewer than two models have results")
        comparison = compare_many(folders)
    except EyechartError as error:
        print_line(console(), f"The models cannot be compared: {error.explain()}")
        return
    pairs, lines = comparison.pairs, _verdict_lines(comparison)
    if len(pairs) == 1:
        lines = [f"A: {pairs[0].first}; B: {pairs[0].second}", *lines, *_refusals(pairs)]
    elif comparison.rankings:
        console().print(_places(comparison))
        about = "In brackets: place. Models that share one do not differ significantly (p < 0.05, Holm-adjusted)."
        lines = [about, *lines]
    print_notes(console(), *lines, f"All tests: eyechart compare {shlex.join(map(str, folders))}")


def _verdict_lines(comparison: "ManyRuns") -> list[str]:
    """The verdicts on two runs, or which tasks of several have no places; and what differs besides the model."""
    from eyechart.evaluators.comparison.compare import verdicts

    if len(comparison.pairs) == 1:
        lines = [verdict.text for verdict in verdicts(comparison.pairs[0])]
    else:
        lines = [f"not ranked: {task.title}: {task.reason}" for task in comparison.unranked]
    return lines + [
        f"{pair.first} and {pair.second} also differ in {words}, which can change scores."
        for pair in comparison.pairs
        for words in pair.also_differ
    ]


def _refusals(pairs: "Sequence[Comparison]") -> list[str]:
    return [
        f"not compared: {pair.first} with {pair.second}: {task.title}: {'; '.join(task.reasons)}"
        for pair in pairs
        for task in pair.refused
    ]


def _places(comparison: "ManyRuns") -> Table:
    """One row a task, one column a run: the headline score and its place."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("task", overflow="fold")
    for name in comparison.runs:
        table.add_column(cell(name), justify="right", overflow="fold")
    for ranking in comparison.rankings:
        shown = {run.run: f"{spec(ranking.key).shown(run.score)} ({run.place})" for run in ranking.runs}
        table.add_row(cell(ranking.title), *(shown.get(name, "") for name in comparison.runs))
    return table


def _print_rankings(comparison: "ManyRuns") -> None:
    for ranking in comparison.rankings:
        table = scores_table(ranking.title, "place, run", (ranking.score,))
        for run in ranking.runs:
            tied = "=" if sum(other.place == run.place for other in ranking.runs) > 1 else ""
            table.add_row(cell(f"{run.place}{tied} {run.run}"), spec(ranking.key).shown(run.score))
        console().print(table)
    if comparison.rankings:
        counts = " or ".join(f"{count:,}" for count in sorted({ranking.tests for ranking in comparison.rankings}))
        line = "place: runs share it (=) unless a paired test finds a difference (p < 0.05, Holm-adjusted "
        print_notes(console(), f"{line}over {counts} pairs)")


def _table(comparison: "Comparison", *, is_adjusted: bool) -> Table:
    from eyechart.evaluators.comparison.differences import shown_p, signed

    columns = ("A\nB", "difference\n95 % interval", "p\np (Holm)" if is_adjusted else "p", "flips", "n")
    table = scores_table(f"A: {comparison.first}; B: {comparison.second}", "score", columns)
    title = ""
    for test in comparison.differences:
        if test.title != title:
            add_heading(table, title := test.title)
        ends = [signed(test.key, end).removesuffix(" points") for end in test.difference_ci95 if math.isfinite(end)]
        shown = spec(test.key).shown
        add_scores(
            table,
            test.score,
            f"{shown(test.first)}\n{shown(test.second)}",
            f"{signed(test.key, test.difference)}\n{' to '.join(ends) if len(ends) > 1 else ''}",
            f"{shown_p(test.p_value)}\n{shown_p(test.p_holm)}" if is_adjusted else shown_p(test.p_value),
            f"{len(test.only_first):,} / {len(test.only_second):,}" if test.test in _COUNTING else "",
            f"{test.n:,}",
        )
    return table
