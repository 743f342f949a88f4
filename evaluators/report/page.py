"""The page: one self-contained HTML file. Its template escapes the texts of runs; its script sets JSON as text."""

import base64
import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from eyechart.evaluators.published.rendering import Table
from eyechart.evaluators.report.cards import against_chance, cards
from eyechart.evaluators.report.charts import Chart
from eyechart.evaluators.report.drawing import inline_svg
from eyechart.evaluators.report.reported_task import ReportedTask
from eyechart.evaluators.report.samples import STEPS, Samples
from eyechart.evaluators.report.summary import TaskSummary, left_out_of, side_by_side, summarise
from eyechart.evaluators.report.table_formats import INDEX
from eyechart.evaluators.requests.values import printable
from eyechart.evaluators.results.finished_runs import Run, is_mini_data
from eyechart.evaluators.tasks import Paper, paper_of, task_title
from eyechart.metrics.scoring.choices.replies import UNREAD

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup

    from eyechart.evaluators.report.differences import RunDifferences

_TEMPLATES = Path(__file__).parent / "templates"
_IN_SCRIPTS = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}


class TaskContent(NamedTuple):
    """The figures and tables of a task."""

    task: ReportedTask
    figures: Sequence[tuple[Chart, Mapping[str, bytes]]]
    """Each chart with its files, by suffix."""
    tables: Sequence[Table]


class _Figure(NamedTuple):
    caption: str
    chart: Chart
    svg: "Markup"


class _TaskPart(NamedTuple):
    """One task on all its datasets."""

    name: str
    title: str
    data: str
    """Dataset and split; "" if there are several."""
    figures: list[_Figure]
    more_figures: list[_Figure]
    """Figures under "More figures"."""
    main_table: tuple[str, Table] | None
    """The table that is open next to the figures, with its title: the first with published numbers, else the first."""
    more_tables: list[tuple[str, Table]]
    summaries: list[TaskSummary]


def render(
    runs: Sequence[Run], contents: Sequence[TaskContent], tests: "RunDifferences | None", samples: Samples
) -> str:
    """Render the page; for one run, there are no tests."""
    from markupsafe import Markup

    script = (_TEMPLATES / "report.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    tasks, labels, several = [content.task for content in contents], [run.label for run in runs], len(runs) > 1
    papers: dict[Paper, list[_TaskPart]] = {}
    numbers = count()
    for name in dict.fromkeys(task.key.task for task in tasks):
        of_task = [content for content in contents if content.task.key.task == name]
        papers.setdefault(paper_of(name), []).append(_task_part(name, of_task, labels, numbers))
    head = cards(tasks)
    data = {
        "runs": labels,
        "tasks": [task.heading for task in tasks],
        "steps": STEPS,
        "unread": UNREAD,
        "images": samples.images,
        "prompts": samples.prompts,
        "samples": samples.rows,
    }
    return _template().render(
        title=f"{len(runs)} runs compared" if len(runs) > 2 else " and ".join(labels),
        runs=[(run.label, _date(str(run.results.environment.get("started", "an unknown time")))) for run in runs],
        several=several,
        width=2 + len(runs) if several else 5,
        synthetic=_synthetic(tasks),
        failures=[
            f"{f'{run.label}: ' if several else ''}{failed.task} on {failed.dataset}: {failed.error}"
            for run in runs
            for failed in run.results.failed
        ],
        against_chance=against_chance(head),
        cards=head,
        papers=list(papers.items()),
        tests=tests if tests is not None and tests.verdicts else None,
        head_of=_head,
        samples=samples,
        samples_data=Markup(_as_script(data)),
        versions=side_by_side([run.results.environment for run in runs]),
        all_settings=[
            (
                task.heading,
                side_by_side([result.settings if result else None for result in map(task.results.get, labels)]),
            )
            for task in tasks
            if task.results
        ],
        left_out=left_out_of(tasks, several=several),
        version=metadata.version("eyechart"),
        style=Markup((_TEMPLATES / "report.css").read_text(encoding="utf-8")),
        script=Markup(script),
        script_hash=f"sha256-{digest}",
    )


def _task_part(name: str, contents: Sequence[TaskContent], runs: Sequence[str], numbers: Iterator[int]) -> _TaskPart:
    from markupsafe import Markup

    summaries = [summarise(content.task, runs) for content in contents if content.task.results]
    data = summaries[0].task.data if len(summaries) == 1 else ""
    # An average replaces its databases.
    has_average = any(task.is_average and not c.is_extra for task, figures, _ in contents for c, _ in figures)
    figures, more_figures, tables = list[_Figure](), list[_Figure](), list[tuple[str, Table]]()
    for task, drawn, filled in contents:
        for chart, files in drawn:
            caption = f"{chart.title[:1].upper()}{chart.title[1:]}"
            caption = caption if data or task.is_average else f"{task.data}: {chart.title}"
            title = f"{task.heading}: {chart.title}"
            svg = inline_svg(files["svg"].decode(), f"figure-{next(numbers)}", title, chart.description)
            is_main = not chart.is_extra and (task.is_average or not has_average)
            # Drawn by matplotlib, which escapes every text.
            (figures if is_main else more_figures).append(_Figure(caption, chart, Markup(svg)))
        for table in filled:
            title = table.title if data else f"{table.title} ({task.data})"
            tables.append((title.removeprefix(f"{paper_of(name).name}, "), table))
    main = next((item for item in tables if item[1].source), next(iter(tables), None))
    more_tables = [item for item in tables if item is not main]
    return _TaskPart(name, task_title(name), data, figures, more_figures, main, more_tables, summaries)


def _synthetic(tasks: Sequence[ReportedTask]) -> str:
    """The tasks that ran on synthetic demo data: "all", or their titles; "" if none did."""
    mini = [
        (task.title, any(is_mini_data(r.settings) for r in task.results.values())) for task in tasks if task.results
    ]
    if mini and all(is_mini for _, is_mini in mini):
        return "all"
    return ", ".join(dict.fromkeys(title for title, is_mini in mini if is_mini))


def _head(text: str) -> "Markup":
    """The head of a column, with the unit on its own line and the index of a symbol such as score_cc below the line."""
    from markupsafe import Markup, escape

    name, unit = (text.removesuffix(" (%)"), Markup("<br>(%)")) if text.endswith(" (%)") else (text, "")
    return Markup(INDEX.sub(r"\1<sub>\2</sub>", str(escape(printable(name))))) + unit


def _date(started: str) -> str:
    """A time in UTC, without seconds."""
    try:
        return f"{datetime.fromisoformat(started).astimezone(UTC):%Y-%m-%d, %H:%M} UTC"
    except ValueError:
        return started


@cache
def _template() -> "Template":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.jinja")


def _shown(value: Any) -> Any:
    """A value as the page shows it: control characters of plain texts are escaped, our own markup is unchanged."""
    return printable(value.replace("\r\n", "\n")) if type(value) is str else value


def _as_script(data: Mapping[str, Any]) -> str:
    """JSON without angle brackets, so that no text in it can end the script element."""
    return json.dumps(_finite(data), ensure_ascii=False, allow_nan=False).translate(_IN_SCRIPTS)


def _finite(value: Any) -> Any:
    """The value without nan and infinities, which JSON lacks, and with texts as the page may show them."""
    if isinstance(value, str):
        return _shown(value)
    if isinstance(value, dict):
        undefined = {key for key, item in value.items() if isinstance(item, float) and not math.isfinite(item)}
        return {key: _finite(item) for key, item in value.items() if key not in undefined}
    return [_finite(item) for item in value] if isinstance(value, list) else value
