"""Reports on finished runs: an HTML page, figures, and tables with the papers' columns; no score is recomputed."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.datasets_scripts.common.files.csv_text import csv_text
from eyechart.datasets_scripts.common.whole import write_whole, writing

if TYPE_CHECKING:
    from eyechart.evaluators.report.charts import Chart

SEVERAL_FOLDER = "eyechart_report"
"""Default folder of a report of several runs; a run's own folder has the report of that run."""
SAMPLES = 50
"""Samples shown per task by default."""
REPORT_FILE = "report.html"
FILES_FOLDER = "report_files"
LIST_FILE = "written_by_eyechart.txt"
"""In `report_files`: the names of the files that the report wrote there, one per line. The next report there removes
these files and no others."""


def write_report(
    folders: Sequence[str | Path],
    out: str | Path | None = None,
    *,
    samples: int = SAMPLES,
    files: bool = True,
    names: Sequence[str] = (),
    drawing: "Callable[[Chart], Mapping[str, bytes]] | None" = None,
) -> Path:
    """Write the report of one run, or of several side by side, and return the path of its page.

    An earlier report in `out` is replaced, with the files that it wrote. `names` replace those of the models, in the
    order of the runs. `drawing` draws a chart, as `draw`. Raises OutputError if the disk is full.
    """
    from eyechart.evaluators.report.charts import charts_of
    from eyechart.evaluators.report.drawing import draw
    from eyechart.evaluators.report.page import TaskContent, render
    from eyechart.evaluators.report.reported_task import reported_tasks
    from eyechart.evaluators.report.samples import collect_samples
    from eyechart.evaluators.report.tables import tables_of, to_latex, to_markdown
    from eyechart.evaluators.results.finished_runs import read_runs

    if samples < 0:
        raise UsageError(f"samples is {samples}; it must be 0 or more")
    runs = read_runs(folders)
    if names:
        if len(names) != len(runs) or len(set(names)) < len(names):
            given = ", ".join(map(repr, names))
            raise UsageError(f"names is {given}; give {len(runs)} different names, one per run in order")
        runs = [replace(run, label=name) for run, name in zip(runs, names, strict=True)]
    tasks = reported_tasks(runs)
    drawing = drawing or partial(draw, files=files)
    shown = collect_samples(runs, tasks, samples)
    contents = [
        TaskContent(task, [(chart, drawing(chart)) for chart in charts_of(task)], tables_of(task)) for task in tasks
    ]
    page = render(runs, contents, shown)
    written: dict[str, str | bytes] = {}
    for content in contents if files else ():
        for chart, drawn in content.figures:
            written |= {f"{chart.key}.{suffix}": drawing for suffix, drawing in drawn.items()}
        for table in content.tables:
            written |= {f"{table.key}.csv": csv_text(table.columns, table.texts), f"{table.key}.md": to_markdown(table)}
            written[f"{table.key}.tex"] = to_latex(table)
    target = Path(out) if out is not None else runs[0].folder if len(runs) == 1 else Path(SEVERAL_FOLDER)
    with writing(f"the report in {target}"):
        target.mkdir(parents=True, exist_ok=True)
        _write_files(target / FILES_FOLDER, written)
        write_whole(target / REPORT_FILE, page)
    return target / REPORT_FILE


def _write_files(folder: Path, contents: Mapping[str, str | bytes]) -> None:
    """Replace the files of the previous report once the new ones are written; without files, there is no folder."""
    listed = folder / LIST_FILE
    lines = listed.read_text(encoding="utf-8", errors="replace").splitlines() if listed.is_file() else []
    # An edited list could name any file.
    previous = [name for name in lines if Path(name).name == name and (folder / name).is_file()]
    if contents:
        folder.mkdir(exist_ok=True)
        # Written first: if this report is interrupted, the next one removes its files.
        _write_list(listed, [*previous, *contents])
        for name, content in contents.items():
            write_whole(folder / name, content)
        _write_list(listed, contents)
    for name in set(previous) - contents.keys():
        (folder / name).unlink()
    if not contents and folder.is_dir():
        listed.unlink(missing_ok=True)
        if not any(folder.iterdir()):
            folder.rmdir()


def _write_list(listed: Path, names: Iterable[str]) -> None:
    write_whole(listed, "".join(f"{name}\n" for name in dict.fromkeys(names)))
