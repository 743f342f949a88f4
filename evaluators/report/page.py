"""The page: one HTML file that holds everything, and works without a network and from a disk.

JavaScript is needed for the table of samples alone. Texts of models and data sets reach it by automatic escaping, or as
JSON that scripts set as text. Its security policy allows no script but its own, and no address outside the page.
"""

import base64
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyechart.evaluators.report.charts import Chart, Scatter
from eyechart.evaluators.report.paper_tables import PaperTable
from eyechart.evaluators.report.samples import STEPS, Samples
from eyechart.evaluators.report.summary import failures_of, left_out_of, settings_of, summarise, versions_of
from eyechart.evaluators.requests.values import printable
from eyechart.evaluators.results.finished_runs import Run
from eyechart.metrics.scoring.choices.replies import UNREAD

if TYPE_CHECKING:
    from jinja2 import Template

_TEMPLATES = Path(__file__).parent / "templates"
_IN_SCRIPTS = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}


@dataclass(frozen=True)
class Figure:
    """A chart and its drawing."""

    chart: Chart | Scatter
    svg: str
    """Markup from `inline_svg`."""


def render(runs: Sequence[Run], figures: Sequence[Figure], tables: Sequence[PaperTable], samples: Samples) -> str:
    """Make the page.

    Args:
        runs: What it is about.
        figures: Drawn charts.
        tables: The papers' tables.
        samples: Single answers.
    """
    from markupsafe import Markup

    script = (_TEMPLATES / "report.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    summary = summarise(runs)
    mini = {task.title for task in summary if task.is_mini}
    several = len(runs) > 1
    data = {
        "runs": [run.label for run in runs],
        "tasks": [key.title for key in samples.keys],
        "steps": STEPS,
        "unmatched": UNREAD,
        "images": samples.images,
        "samples": samples.rows,
    }
    return _template().render(
        title=f"eyechart: {' and '.join(run.label for run in runs)}",
        runs=[
            {
                "label": run.label,
                "started": run.results.environment.get("started", "at an unknown time"),
                "is_mini": any(key.title in mini for key in run.tasks),
            }
            for run in runs
        ],
        several=several,
        width=2 + len(runs) if several else 5,
        any_mini=bool(mini),
        failures=failures_of(runs),
        summary=summary,
        # Drawn by matplotlib, which escapes every text.
        figures=[{"chart": figure.chart, "svg": Markup(figure.svg)} for figure in figures],
        tables=tables,
        sample_notes=samples.notes,
        samples=Markup(_as_script(data)),
        versions=versions_of(runs),
        all_settings=settings_of(runs),
        left_out=left_out_of(runs),
        version=metadata.version("eyechart"),
        style=Markup((_TEMPLATES / "report.css").read_text(encoding="utf-8")),
        script=Markup(script),
        script_hash=f"sha256-{digest}",
    )


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
    """What stands in the page for a value: texts of unknown origin turn no line around; our own markup is as it is."""
    return printable(value.replace("\r\n", "\n")) if type(value) is str else value


def _as_script(data: Mapping[str, Any]) -> str:
    """JSON that nothing in it can end: no bracket of a tag is left."""
    return json.dumps(_finite(data), ensure_ascii=False, allow_nan=False).translate(_IN_SCRIPTS)


def _finite(value: Any) -> Any:
    """The same without numbers that JSON does not have, and with texts as a page may show them."""
    if isinstance(value, str):
        return _shown(value)
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items() if not _is_undefined(item)}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return value


def _is_undefined(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)
