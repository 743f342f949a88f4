"""The page: one self-contained HTML file. Its template escapes the texts of runs; its script sets JSON as text."""

import base64
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.comparison.compare import compare_many
from eyechart.evaluators.comparison.differences import p_words, shown_difference
from eyechart.evaluators.published.rendering import UNDEFINED, Table
from eyechart.evaluators.report.cards import cards
from eyechart.evaluators.report.charts import Chart
from eyechart.evaluators.report.drawing import inline_svg
from eyechart.evaluators.report.reported_task import ReportedTask
from eyechart.evaluators.report.samples import Samples
from eyechart.evaluators.requests.values import printable
from eyechart.evaluators.results.finished_runs import Run, all_notes, is_mini_data
from eyechart.evaluators.results.notes import Note, grouped, note
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.evaluators.results.score_rows import interval_notes, repeat_rows, score_rows
from eyechart.evaluators.tasks import Paper, paper_of, task_title
from eyechart.metrics.scoring.choices.replies import UNREAD

if TYPE_CHECKING:
    from jinja2 import Template

_TEMPLATES = Path(__file__).parent / "templates"
_MOST_WARNINGS = 20


class TaskContent(NamedTuple):
    """The figures and tables of a task."""

    task: ReportedTask
    figures: Sequence[tuple[Chart, Mapping[str, bytes]]]
    """Each chart with its files, by suffix."""
    tables: Sequence[Table]


class RunDifferences(NamedTuple):
    """The tests of `eyechart compare`."""

    verdicts: Mapping[str, Sequence[str]]
    """Each result of the tests of headline scores, with the tasks that share it; differences first."""
    rows: Sequence[Sequence[str]]
    """For each test: task, score, runs, both values, the difference, its interval, p, adjusted p, flips and n."""
    pairs: int
    """Number of pairs of runs, over which p-values are Holm-adjusted."""


def render(runs: Sequence[Run], contents: Sequence[TaskContent], samples: Samples) -> str:
    """Render the page."""
    script, script_hash = script_of("report.js")
    tasks, labels, several = [content.task for content in contents], [run.label for run in runs], len(runs) > 1
    papers: dict[Paper, list[dict[str, Any]]] = {}
    for name in dict.fromkeys(task.key.task for task in tasks):
        of_task = [content for content in contents if content.task.key.task == name]
        papers.setdefault(paper_of(name), []).append(_task_part(name, of_task, labels))
    data = {
        "runs": labels,
        "tasks": [task.heading for task in tasks],
        "unparsedSteps": UNREAD,
        "images": samples.images,
        "samples": samples.rows,
    }
    return template("report.html.jinja").render(
        title=f"{len(runs)} runs compared" if len(runs) > 2 else " and ".join(labels),
        runs=[(run.label, str(run.results.environment.get("started", "an unknown time"))) for run in runs],
        several=several,
        width=2 + len(runs) if several else 5,
        synthetic=_synthetic(tasks),
        failures=[
            f"{f'{run.label}: ' if several else ''}{failed.task} on {failed.dataset}: {failed.error}"
            for run in runs
            for failed in run.results.failed
        ],
        cards=cards(tasks),
        note=note,
        papers=list(papers.items()),
        tests=compare_runs(runs, tasks),
        samples=samples,
        samples_data=_shown(data),
        versions=side_by_side([run.results.environment for run in runs]),
        all_settings=[
            (task.heading, side_by_side([r.settings if r else None for r in map(task.results.get, labels)]))
            for task in tasks
            if task.results
        ],
        left_out=[
            (f"{task.heading}, {run}" if several else task.heading, result.left_out)
            for task in tasks
            for run, result in task.results.items()
            if result.left_out
        ],
        version=metadata.version("eyechart"),
        script=script,
        script_hash=script_hash,
    )


def compare_runs(runs: Sequence[Run], tasks: Sequence[ReportedTask]) -> RunDifferences | None:
    """Compare every pair of runs, item by item; None without two runs that have a task in common."""
    try:
        pairs = compare_many(runs).pairs
    except UsageError:
        return None
    tests = [(pair, test) for pair in pairs for test in pair.differences]
    verdicts: list[tuple[Note, str]] = []
    for task in tasks:
        headline = task.headline and task.headline.key
        of_headline = [(pair, test) for pair, test in tests if (test.title, test.key) == (task.key.title, headline)]
        # Runs whose settings differ are not tested against each other.
        refusals = [
            f"{pair.first} (A) and {pair.second} (B): {', '.join(refused.reasons)}"
            for pair in pairs
            for refused in pair.refused
            if refused.title == task.key.title and headline
        ]
        ordered = [
            (names, p_words(test.p_holm))
            for pair, test in of_headline
            if (names := test.ordered(pair.first, pair.second))
        ]
        compared = [f"{pair.first} and {pair.second}" for pair, _ in of_headline]
        if compared or refusals:
            verdict = note("verdict_of_runs", ordered=ordered, compared=compared, refused=refusals)
            verdicts.append((verdict, task.heading))
    verdicts.sort(key=lambda verdict: not verdict[0].values["ordered"])
    headings = {task.key.title: task.heading for task in tasks}
    rows = [
        (headings[test.title], test.score, f"{pair.first} \N{MINUS SIGN} {pair.second}", *shown_difference(test))
        for pair, test in tests
    ]
    return RunDifferences(grouped((verdict.text, heading) for verdict, heading in verdicts), rows, len(pairs))


def _task_part(name: str, contents: Sequence[TaskContent], runs: Sequence[str]) -> dict[str, Any]:
    """What the page shows of a task on all its datasets; each figure and table with its `ReportedTask`."""
    tasks = [content.task for content in contents if content.task.results]
    summaries = [
        {
            "task": task,
            "rows": list(_score_rows([task.results.get(run) for run in runs])),
            "caveats": _lines(_caveats, task.results, len(runs)),
            "notes": _lines(_interval_notes, task.results, len(runs)),
        }
        for task in tasks
    ]
    figures, tables = [], [(task, table) for task, _, of_task in contents for table in of_task]
    for task, drawn, _ in contents:
        for chart, files in drawn:
            title = f"{task.heading}: {chart.title} ({chart.kind}; the values are in a table below)"
            # Drawn by matplotlib, which escapes every text.
            figures.append((task, chart, Markup(inline_svg(files["svg"].decode(), chart.key, title))))
    # The table that is open next to the figures: the first with published numbers, else the first.
    main = next((item for item in tables if item[1].source), next(iter(tables), None))
    return {
        "name": name,
        "title": task_title(name),
        # Dataset and split, if there is only one.
        "data": tasks[0].data if len(tasks) == 1 else "",
        "figures": [figure for figure in figures if not figure[1].is_extra],
        "more_figures": [figure for figure in figures if figure[1].is_extra],
        "main_table": main,
        "more_tables": [item for item in tables if item is not main],
        "summaries": summaries,
    }


def _synthetic(tasks: Sequence[ReportedTask]) -> str:
    """Which tasks ran on synthetic demo data; "" if none did."""
    ran = {task.heading: any(is_mini_data(r.settings) for r in task.results.values()) for task in tasks if task.results}
    names = [heading for heading, is_synthetic in ran.items() if is_synthetic]
    return note("synthetic", tasks=names if len(names) < len(ran) else []).text if names else ""


def script_of(name: str) -> tuple[Markup, str]:
    """A script and its hash, for the policy of the page."""
    script = (_TEMPLATES / name).read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    return Markup(script), f"sha256-{digest}"


@cache
def template(name: str) -> "Template":
    """A template of this folder, which escapes all texts."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "allow_nan": False}
    return environment.get_template(name)


def _shown(value: Any) -> Any:
    """A value as the page shows it: control characters of plain texts are escaped, our own markup is unchanged."""
    if isinstance(value, dict):
        return {key: _shown(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_shown(item) for item in value]
    return printable(value.replace("\r\n", "\n")) if type(value) is str else value


def side_by_side(by_run: Sequence[Mapping[str, Any] | None]) -> list[tuple[str, list[str], bool]]:
    """Settings by name: the value in each run, and whether the values differ.

    "" if a run lacks it; a dash if a run has None in place of settings.
    """
    flat = [None if settings is None else dict(_flat(settings)) for settings in by_run]
    rows = []
    for name in dict.fromkeys(name for settings in flat for name in settings or ()):
        values = [UNDEFINED if settings is None else settings.get(name, "") for settings in flat]
        rows.append((name, values, len({*values} - {UNDEFINED}) > 1))
    return rows


def _flat(settings: Mapping[str, Any], lead: str = "") -> Iterator[tuple[str, str]]:
    """Settings flattened to dotted names with text values."""
    for name, value in settings.items():
        if isinstance(value, dict) and value:
            yield from _flat(value, f"{lead}{name}.")
        else:
            yield f"{lead}{name}", value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _score_rows(results: Sequence[TaskResult | None]) -> Iterator[tuple[str, str, list[tuple[str, str, str]]]]:
    """Of each score: label, chance level, and value, 95 % interval and n of each run; "" where missing."""
    by_run = []
    for result in results:
        scores, repeats = (result.scores or {}, result.diagnostics.get("repeats", {})) if result else ({}, {})
        by_run.append({label: cells for label, *cells in (*score_rows(scores), *repeat_rows(repeats, scores))})
    for label in dict.fromkeys(label for rows in by_run for label in rows):
        cells = [rows.get(label, [""] * 4) for rows in by_run]
        levels = " / ".join(dict.fromkeys(level for _, _, level, _ in cells if level))
        yield label, levels, [(value, between, n) for value, between, _, n in cells]


def _lines(make: Callable[[TaskResult], Iterator[str]], results: Mapping[str, TaskResult], count: int) -> list[str]:
    """Lines about the results, each once; a line that does not hold for all runs begins with its runs."""
    lines = grouped((line, run) for run, result in results.items() for line in make(result))
    return [line if len(runs) == count else f"{', '.join(runs)}: {line}" for line, runs in lines.items()]


def _caveats(result: TaskResult) -> Iterator[str]:
    # Which data are synthetic stands at the top of the page.
    yield from (note.text for note in all_notes(result) if note.code != "synthetic")


def _interval_notes(result: TaskResult) -> Iterator[str]:
    notes = [each for each in interval_notes([("", result.scores or {})]) if each.code != "plain_intervals"]
    if "repeats" in result.diagnostics:
        notes.append(note("interval_of_spread", tasks=[]))
    yield from (note.text for note in notes)
    yield from (f"Warning: {text}" for text in result.warnings[:_MOST_WARNINGS])
    if len(result.warnings) > _MOST_WARNINGS:
        yield f"{len(result.warnings) - _MOST_WARNINGS:,} more warnings are in results.json."
