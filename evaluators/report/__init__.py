"""Reports on finished runs: an HTML page, figures, and tables with the papers' columns.

A report reads only `results.json` and `predictions.parquet`; images come from the data that the settings name, if they
are still there. Scores are not recomputed. Several runs are tested against each other.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.datasets_scripts.common.whole import unwritable
from eyechart.evaluators.report.folder import REPORT_FILE, write_files

SEVERAL_FOLDER = "eyechart_report"
"""Default folder of a report of several runs; a run's own folder has the report of that run."""
SAMPLES = 50
"""Samples shown per task by default."""


def write_report(
    folders: Sequence[str | Path],
    out: str | Path | None = None,
    *,
    samples: int = SAMPLES,
    files: bool = True,
    names: Sequence[str] = (),
) -> Path:
    """Write the report of one run, or of several side by side.

    Args:
        folders: Folders written by `eyechart run --out`.
        out: Folder for `report.html` and `report_files`, created if absent. The default is the run's folder; for
            several runs it is `eyechart_report` in the current folder. An existing report is replaced: its page and
            the files that it wrote to `report_files`, which are listed there.
        samples: Maximum number of samples shown per task, incorrect and unparsed ones first; for several runs,
            those on which they disagree first. Images are left out and long texts cut to keep the page below 5 MB.
        files: Whether to write figures as SVG, PDF and PNG, and tables as CSV, Markdown and LaTeX, into `report_files`.
        names: Names of the runs, in their order; model names if empty.

    Returns:
        The path of the page.

    Raises:
        UsageError: A run is given twice, `samples` is negative, `names` does not fit the runs, or the folder cannot be
            written.
        OutputError: The disk is full.
        MissingFileError: A folder has no results.
        BadResultsError: A file of a run cannot be read.
    """
    from eyechart.evaluators.report.cards import cards
    from eyechart.evaluators.report.differences import compare_runs
    from eyechart.evaluators.report.drawing import draw, inline_svg
    from eyechart.evaluators.report.page import render
    from eyechart.evaluators.report.samples import collect_samples
    from eyechart.evaluators.report.scores import heading
    from eyechart.evaluators.report.sections import Figure, paper_parts
    from eyechart.evaluators.report.summary import summarise
    from eyechart.evaluators.report.table_formats import to_csv, to_latex, to_markdown
    from eyechart.evaluators.report.tables import paper_tables
    from eyechart.evaluators.report.task_charts import charts_of
    from eyechart.evaluators.results.finished_runs import merged_keys, read_runs

    if samples < 0:
        raise UsageError(f"samples is {samples}; it must be 0 or more")
    runs = read_runs(folders)
    if names:
        if len(names) != len(runs) or len(set(names)) < len(names):
            given = ", ".join(map(repr, names))
            raise UsageError(f"names is {given}; give {len(runs)} different names, one per run in order")
        runs = [replace(run, label=name) for run, name in zip(runs, names, strict=True)]
    tables = paper_tables(runs)
    contents: dict[str, bytes] = {}
    figures: list[Figure] = []
    for key in merged_keys(runs):
        for chart in charts_of(key, runs):
            drawing = draw(chart, files=files)
            for ending, content in (("svg", drawing.svg.encode()), ("pdf", drawing.pdf), ("png", drawing.png)):
                contents[f"{chart.key}.{ending}"] = content
            title = f"{heading(key)}: {chart.title}"
            figures.append(
                Figure(key, chart, inline_svg(drawing.svg, f"figure-{len(figures)}", title, chart.description))
            )
    tests = compare_runs(runs) if len(runs) > 1 else None
    for table in tables:
        texts = {"csv": to_csv(table), "md": to_markdown(table), "tex": to_latex(table, tests)}
        contents |= {f"{table.key}.{ending}": text.encode() for ending, text in texts.items()}
    parts = paper_parts(summarise(runs), figures, tables)
    page = render(runs, cards(runs), parts, tests, collect_samples(runs, samples))
    target = Path(out) if out is not None else runs[0].folder if len(runs) == 1 else Path(SEVERAL_FOLDER)
    try:
        write_files(target, page, contents if files else {})
    except OSError as error:
        raise unwritable(f"the report in {target}", error) from error
    return target / REPORT_FILE
