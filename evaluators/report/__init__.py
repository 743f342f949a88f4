"""Reports on finished runs: a page, figures, and tables in the papers' columns.

A report starts from `results.json` and `predictions.parquet` alone; images come from the data that the settings name,
where these are still there. No score is computed anew.
"""

from collections.abc import Sequence
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
) -> Path:
    """Write the report of one run, or of several side by side.

    Args:
        folders: What `eyechart run --out` wrote.
        out: Folder for `report.html` and `report_files`, created if absent; by default that of the run, and for
            several runs `eyechart_report` in the current folder. A report that is there is replaced: its page, and
            those files in `report_files` that it wrote itself, which a list among them names.
        samples: The most that are shown of each task of each run, wrong and unmatched ones first.
        files: Whether to write figures as SVG and PNG, and tables as CSV, Markdown and LaTeX, into `report_files`.

    Returns:
        The path of the page.

    Raises:
        UsageError: A run is given twice, `samples` is negative, or the folder cannot be written.
        OutputError: The disk is full.
        MissingFileError: A folder has no results.
        BadResultsError: A file of a run cannot be read.
    """
    from eyechart.evaluators.report.drawing import draw
    from eyechart.evaluators.report.page import Figure, render
    from eyechart.evaluators.report.paper_tables import paper_tables
    from eyechart.evaluators.report.samples import collect_samples
    from eyechart.evaluators.report.svg import inline_svg
    from eyechart.evaluators.report.table_formats import WRITERS
    from eyechart.evaluators.report.task_charts import task_charts
    from eyechart.evaluators.results.finished_runs import read_runs

    if samples < 0:
        raise UsageError(f"samples is {samples}; it must be 0 or more")
    runs = read_runs(folders)
    tables = paper_tables(runs)
    contents: dict[str, bytes] = {}
    figures = []
    for number, chart in enumerate(task_charts(runs)):
        drawing = draw(chart, png=files)
        contents[f"{chart.key}.svg"], contents[f"{chart.key}.png"] = drawing.svg.encode(), drawing.png
        figures.append(Figure(chart, inline_svg(drawing.svg, f"figure-{number}", chart.title, chart.description)))
    for table in tables:
        contents |= {f"{table.key}.{ending}": write(table).encode() for ending, write in WRITERS.items()}
    page = render(runs, figures, tables, collect_samples(runs, samples))
    target = Path(out) if out is not None else runs[0].folder if len(runs) == 1 else Path(SEVERAL_FOLDER)
    try:
        write_files(target, page, contents if files else {})
    except OSError as error:
        raise unwritable(f"the report in {target}", error) from error
    return target / REPORT_FILE
