"""Reports on finished runs: a page, figures, and tables in the papers' columns.

A report starts from `results.json` and `predictions.parquet` alone; images come from the data that the settings name,
where these are still there. No score is computed anew; several runs are tested against each other.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.datasets_scripts.common.whole import unwritable
from eyechart.evaluators.report.folder import REPORT_FILE, write_files

SEVERAL_FOLDER = "eyechart_report"
"""Where a report of several runs goes by default: the folder of the first one has that run's own report."""
SAMPLES = 50
"""Samples of each task that are shown by default."""


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
        folders: What `eyechart run --out` wrote.
        out: Folder for `report.html` and `report_files`, created if absent; by default that of the run, and for
            several runs `eyechart_report` in the current folder. A report that is there is replaced: its page, and
            those files in `report_files` that it wrote itself, which a list among them names.
        samples: The most that are shown of each task, wrong and unparsed ones first; of several runs, those on which
            they disagree. Images and long texts are left out where the page would grow beyond 5 MB.
        files: Whether to write figures as SVG, PDF and PNG, and tables as CSV, Markdown and LaTeX, into `report_files`.
        names: What to call each run, in their order; their models' names if empty.

    Returns:
        The path of the page.

    Raises:
        UsageError: A run is given twice, `samples` is negative, `names` does not fit, or the folder cannot be written.
        OutputError: The disk is full.
        MissingFileError: A folder has no results.
        BadResultsError: A file of a run cannot be read.
    """
    from eyechart.evaluators.report.cards import cards
    from eyechart.evaluators.report.drawing import draw
    from eyechart.evaluators.report.names import heading
    from eyechart.evaluators.report.page import render
    from eyechart.evaluators.report.paper_tables import paper_tables
    from eyechart.evaluators.report.samples import collect_samples
    from eyechart.evaluators.report.sections import Figure, paper_parts
    from eyechart.evaluators.report.summary import summarise
    from eyechart.evaluators.report.svg import inline_svg
    from eyechart.evaluators.report.table_formats import WRITERS
    from eyechart.evaluators.report.task_charts import charts_of
    from eyechart.evaluators.results.finished_runs import merged_keys, read_runs

    if samples < 0:
        raise UsageError(f"samples is {samples}; it must be 0 or more")
    runs = read_runs(folders)
    if names:
        if len(names) != len(runs) or len(set(names)) < len(names):
            given = ", ".join(map(repr, names))
            raise UsageError(f"the names are {given}; give {len(runs)} different ones, one for each run in their order")
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
    for table in tables:
        contents |= {f"{table.key}.{ending}": write(table).encode() for ending, write in WRITERS.items()}
    parts = paper_parts(summarise(runs), figures, tables)
    tests = None
    if len(runs) > 1:
        from eyechart.evaluators.report.differences import compare_runs

        tests = compare_runs(runs)
    page = render(runs, cards(runs), parts, tests, collect_samples(runs, samples))
    target = Path(out) if out is not None else runs[0].folder if len(runs) == 1 else Path(SEVERAL_FOLDER)
    try:
        write_files(target, page, contents if files else {})
    except OSError as error:
        raise unwritable(f"the report in {target}", error) from error
    return target / REPORT_FILE
