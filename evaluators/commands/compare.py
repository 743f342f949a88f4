"""`eyechart compare`: test whether runs differ, and rank them."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from eyechart.datasets_scripts.common.errors import DataError, EyechartError, UsageError
from eyechart.datasets_scripts.common.whole import write_whole, writing
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


HISTORY_FOLDER = "eyechart_history"
_HISTORY_HELP = """Show the scores of the runs below DIR over the steps of their models, with a figure for each task. A
step is read from the model's name or the run's folder, such as checkpoint-500, if --model-arg step did not give it."""
_OUT_HELP = f"Write .json, or .csv with the flipped items; with --history, figures (default: {HISTORY_FOLDER})."


def compare(
    runs: Annotated[
        list[Path] | None, typer.Argument(metavar="A B...", help="Folders of two or more finished runs.")
    ] = None,
    task: Annotated[Texts, cli_option("Compare only this task. Repeatable.")] = None,
    common: Annotated[bool, cli_option("Compare only the items that both runs have.", "--common")] = False,
    allow: Annotated[Texts, cli_option("Compare even if this setting differs. Repeatable.", metavar="SETTING")] = None,
    seed: Annotated[int, cli_option("Seed for the bootstrap.", min=0)] = 0,
    history: Annotated[Path | None, cli_option(_HISTORY_HELP, metavar="DIR")] = None,
    out: Annotated[Path | None, cli_option(_OUT_HELP, metavar="FILE|DIR")] = None,
) -> None:
    """Test whether runs differ, item by item, adjusted for the number of tests.

    A difference is A (the first run) minus B (the second run). Three or more runs are tested in pairs and ranked by
    each task's headline score; runs share a place unless a test finds a difference. The exit code is 1 if a task cannot
    be compared.
    """
    from eyechart.evaluators.comparison.compare import compare_many, write_comparison
    from eyechart.evaluators.comparison.notes import table_notes
    from eyechart.evaluators.results.finished_runs import read_runs

    if history is not None:
        if runs or common:
            raise UsageError(f"--history {history} takes the runs below it; leave out other runs and --common")
        return _show_history(history, task or [], allow or [], out or Path(HISTORY_FOLDER))
    comparison = compare_many(read_runs(runs or []), task or [], common=common, allowed=allow or [], seed=seed)
    pairs = comparison.pairs
    if out is not None:
        write_comparison(comparison if len(pairs) > 1 else pairs[0], out)
    if len(pairs) > 1 and comparison.rankings:
        console().print(_rankings(comparison))
    for pair in pairs:
        if pair.differences:
            console().print(_table(pair, is_adjusted=len(pairs) > 1))
    lines = [note.text for note in table_notes(comparison)]
    if out is not None:
        lines.append(f"Written to {out}")
    elif len(pairs) == 1 and any(test.only_first or test.only_second for test in pairs[0].differences):
        lines.append("To list the items that flipped, use --out FILE.csv.")
    print_notes(console(), *lines)
    if any(pair.refused for pair in pairs):
        raise typer.Exit(1)


def _show_history(folder: Path, tasks: Sequence[str], allowed: Sequence[str], out: Path) -> None:
    """Print a table by task and step, and write a figure of each task."""
    from eyechart.evaluators.comparison.history import read_history
    from eyechart.evaluators.report.charts import history_chart
    from eyechart.evaluators.report.drawing import draw
    from eyechart.evaluators.results.notes import note
    from eyechart.evaluators.results.score_rows import headline_row

    if out.suffix in (".svg", ".png", ".pdf", ".json", ".csv", ".html") or out.is_file():
        raise UsageError(f"--out {out} is not allowed with --history; expected a folder, for several figures")
    histories = read_history(folder, tasks, allowed)
    table = scores_table(f"{folder}: {len(histories.runs)} runs", "step", ("score", "95 % interval", "n"))
    with writing(f"the figures in {out}"):
        for history in histories.tasks:
            add_heading(table, f"{history.key.title}: {history.score.label}")
            for step, result in history.results.items():
                _, value, interval, _, n = headline_row(result) or ("",) * 5
                add_scores(table, str(step), value, interval, n)
            chart = history_chart(history)
            out.mkdir(parents=True, exist_ok=True)
            for suffix, content in draw(chart, files=True).items():
                write_whole(out / f"{chart.key}.{suffix}", content)
    if histories.tasks:
        console().print(table)
    notes = [note("also_differ", first=a, second=b, settings=settings) for a, b, settings in histories.also_differ]
    for task in histories.refused:
        notes.append(note("passed_over", what="shown", title=task.title, reason="; ".join(task.reasons)))
    if any(task.can_be_allowed for task in histories.refused):
        notes.append(note("allow"))
    lines = [each.text for each in notes]
    lines += [f"only in one run: {', '.join(histories.only_in_one)}"] if histories.only_in_one else []
    lines += [f"Figures: {out}"] if histories.tasks else []
    print_notes(console(), *lines)
    if histories.refused:
        raise typer.Exit(1)


def show_outcome(folders: Sequence[Path]) -> None:
    """Compare finished runs and print one line a task, as at the end of a run, or why they cannot be compared."""
    from eyechart.evaluators.comparison.compare import compare_many
    from eyechart.evaluators.comparison.notes import outcome_notes
    from eyechart.evaluators.results.finished_runs import read_runs

    try:
        runs = [run for run in read_runs(folders) if run.tasks]
        if len(runs) < 2:
            raise DataError("fewer than two models have results")
        comparison = compare_many(runs)
    except EyechartError as error:
        print_line(console(), f"The models cannot be compared: {error.explain()}")
        return
    if len(comparison.pairs) == 1:
        print_notes(console(), f"A: {comparison.runs[0]}; B: {comparison.runs[1]}")
    elif comparison.rankings:
        console().print(_places(comparison))
    all_tests = f"All tests: eyechart compare {shlex.join(str(run.folder) for run in runs)}"
    print_notes(console(), *(note.text for note in outcome_notes(comparison)), all_tests)


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


def _rankings(comparison: "ManyRuns") -> Table:
    """A heading for each task, and below it the runs, best first; `=` marks those that share a place."""
    table = scores_table("", "place, run", ("score",))
    for ranking in comparison.rankings:
        add_heading(table, f"{ranking.title}: {ranking.score}")
        for run in ranking.runs:
            is_shared = sum(other.place == run.place for other in ranking.runs) > 1
            add_scores(table, f"{run.place}{'=' * is_shared} {run.run}", spec(ranking.key).shown(run.score))
    return table


def _table(comparison: "Comparison", *, is_adjusted: bool) -> Table:
    from eyechart.evaluators.comparison.differences import shown_difference

    columns = ("A\nB", "difference\n95 % interval", "p\np (Holm)" if is_adjusted else "p", "flips", "n")
    table = scores_table(f"A: {comparison.first}; B: {comparison.second}", "score", columns)
    title = ""
    for test in comparison.differences:
        if test.title != title:
            add_heading(table, title := test.title)
        first, second, difference, interval, p, p_holm, flips, n = shown_difference(test)
        p_values = f"{p}\n{p_holm}" if is_adjusted else p
        add_scores(table, test.score, f"{first}\n{second}", f"{difference}\n{interval}", p_values, flips, n)
    return table
