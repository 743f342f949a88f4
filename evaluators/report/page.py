"""The page: one self-contained HTML file that needs no network.

Only the table of samples needs JavaScript. Texts of models and datasets are escaped automatically, or are JSON that
the script sets as text. The security policy allows only the page's own script and no external addresses.
"""

import base64
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from eyechart.evaluators.report.cards import against_chance, cards
from eyechart.evaluators.report.charts import Chart
from eyechart.evaluators.report.drawing import Drawing, inline_svg
from eyechart.evaluators.report.samples import STEPS, Samples
from eyechart.evaluators.report.scores import heading, title_of_data
from eyechart.evaluators.report.summary import (
    TaskSummary,
    failures_of,
    left_out_of,
    settings_of,
    summarise,
    versions_of,
)
from eyechart.evaluators.report.tables import INDEX, PaperTable
from eyechart.evaluators.requests.values import printable
from eyechart.evaluators.results.finished_runs import Run, TaskKey
from eyechart.evaluators.results.results_file import AVERAGE
from eyechart.evaluators.tasks import Paper, paper_of, task_title
from eyechart.metrics.scoring.choices.replies import UNREAD

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup

    from eyechart.evaluators.report.differences import RunDifferences

_TEMPLATES = Path(__file__).parent / "templates"
_IN_SCRIPTS = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}


class Figure(NamedTuple):
    """A chart of a task, drawn."""

    task: TaskKey
    chart: Chart
    drawing: Drawing


@dataclass
class _TaskPart:
    """One task on all its datasets."""

    name: str
    title: str
    data: str
    """Dataset and split; "" if there are several."""
    figures: list[Figure]
    more_figures: list[Figure]
    """Figures under "More figures"."""
    main_table: PaperTable | None
    """The table that is open next to the figures: the first one with published numbers, else the first one."""
    more_tables: list[PaperTable]
    summaries: list[TaskSummary]

    def caption_of(self, figure: Figure) -> str:
        """A figure's title, with its dataset if the task has several."""
        title = f"{figure.chart.title[:1].upper()}{figure.chart.title[1:]}"
        is_clear = self.data or figure.task.dataset == AVERAGE
        return title if is_clear else f"{title_of_data(figure.task)}: {figure.chart.title}"

    def title_of(self, table: PaperTable) -> str:
        """A table's title, without what the headings above already say."""
        title = table.title if self.data else table.whole_title
        return title.removeprefix(f"{paper_of(self.name).name}, ")


def render(
    runs: Sequence[Run],
    figures: Sequence[Figure],
    tables: Sequence[PaperTable],
    tests: "RunDifferences | None",
    samples: Samples,
) -> str:
    """Render the page.

    Args:
        runs: The runs.
        figures: The figures of all tasks.
        tables: The tables of all tasks.
        tests: Tests between the runs; None for one run.
        samples: The table of samples.
    """
    from markupsafe import Markup

    script = (_TEMPLATES / "report.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    data = {
        "runs": [run.label for run in runs],
        "tasks": [heading(key) for key in samples.keys],
        "steps": STEPS,
        "unread": UNREAD,
        "images": samples.images,
        "prompts": samples.prompts,
        "samples": samples.rows,
    }
    head, summaries, numbers = cards(runs), summarise(runs), count()
    parts = [_task_part(name, summaries, figures, tables) for name in dict.fromkeys(s.key.task for s in summaries)]
    papers: dict[Paper, list[_TaskPart]] = {}
    for part in parts:
        papers.setdefault(paper_of(part.name), []).append(part)

    def svg_of(figure: Figure) -> Markup:
        title = f"{heading(figure.task)}: {figure.chart.title}"
        # Drawn by matplotlib, which escapes every text.
        return Markup(inline_svg(figure.drawing.svg, f"figure-{next(numbers)}", title, figure.chart.description))

    return _template().render(
        title=" and ".join(run.label for run in runs) if len(runs) < 3 else f"{len(runs)} runs compared",
        runs=[(run.label, _date(str(run.results.environment.get("started", "an unknown time")))) for run in runs],
        several=len(runs) > 1,
        width=2 + len(runs) if len(runs) > 1 else 5,
        synthetic=_synthetic(parts),
        failures=failures_of(runs),
        against_chance=against_chance(head),
        cards=head,
        papers=list(papers.items()),
        tests=tests if tests is not None and tests.verdicts else None,
        head_of=_head,
        svg_of=svg_of,
        sample_notes=samples.notes,
        samples_part=samples.part,
        judged=samples.judged,
        samples=Markup(_as_script(data)),
        versions=versions_of(runs),
        all_settings=settings_of(runs),
        left_out=left_out_of(runs),
        version=metadata.version("eyechart"),
        style=Markup((_TEMPLATES / "report.css").read_text(encoding="utf-8")),
        script=Markup(script),
        script_hash=f"sha256-{digest}",
    )


def _task_part(
    name: str, summaries: Sequence[TaskSummary], figures: Sequence[Figure], tables: Sequence[PaperTable]
) -> _TaskPart:
    own = [summary for summary in summaries if summary.key.task == name]
    drawn = [figure for figure in figures if figure.task.task == name]
    main = [figure for figure in drawn if not figure.chart.is_extra]
    # An average replaces its databases.
    shown = [figure for figure in main if figure.task.dataset == AVERAGE] or main
    filled = [table for table in tables if table.task and table.task.task == name]
    first = next((table for table in filled if table.source), next(iter(filled), None))
    return _TaskPart(
        name,
        task_title(name),
        title_of_data(own[0].key) if len(own) == 1 else "",
        shown,
        [figure for figure in drawn if figure not in shown],
        first,
        [table for table in filled if table is not first],
        own,
    )


def _synthetic(parts: Sequence[_TaskPart]) -> str:
    """The tasks that ran on synthetic demo data: "all", or their titles; "" if none did."""
    mini = [(part.title, summary.is_mini) for part in parts for summary in part.summaries]
    if mini and all(is_mini for _, is_mini in mini):
        return "all"
    return ", ".join(dict.fromkeys(title for title, is_mini in mini if is_mini))


def _head(text: str) -> "Markup":
    """The head of a column, with the unit on its own line and the index of a symbol such as score_cc below the line.

    Examples:
        >>> str(_head("score_cc (%)")), str(_head("my_model"))
        ('score<sub>cc</sub><br>(%)', 'my_model')
    """
    from markupsafe import Markup, escape

    name, unit = (text.removesuffix(" (%)"), Markup("<br>(%)")) if text.endswith(" (%)") else (text, "")
    return Markup(INDEX.sub(r"\1<sub>\2</sub>", str(escape(printable(name))))) + unit


def _date(started: str) -> str:
    """A time in UTC, without seconds.

    Examples:
        >>> _date("2026-11-22T20:06:52+00:00")
        '2026-11-22, 20:06 UTC'
    """
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
