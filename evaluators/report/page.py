"""The page: one self-contained HTML file that needs no network.

Only the table of samples needs JavaScript. Texts of models and datasets are escaped automatically, or are JSON that
the script sets as text. The security policy allows only the page's own script and no external addresses.
"""

import base64
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyechart.evaluators.report.cards import Card, against_chance
from eyechart.evaluators.report.samples import STEPS, Samples
from eyechart.evaluators.report.scores import heading
from eyechart.evaluators.report.sections import PaperPart, caption_of, title_of
from eyechart.evaluators.report.summary import failures_of, left_out_of, settings_of, versions_of
from eyechart.evaluators.report.tables import INDEX
from eyechart.evaluators.requests.values import printable
from eyechart.evaluators.results.finished_runs import Run
from eyechart.metrics.scoring.choices.replies import UNREAD

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup

    from eyechart.evaluators.report.differences import RunDifferences

_TEMPLATES = Path(__file__).parent / "templates"
_IN_SCRIPTS = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}


def render(
    runs: Sequence[Run],
    head: Sequence[Card],
    parts: Sequence[PaperPart],
    tests: "RunDifferences | None",
    samples: Samples,
) -> str:
    """Render the page.

    Args:
        runs: The runs.
        head: One card per paper.
        parts: Figures, tables and scores of each task, by paper.
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
        "unmatched": UNREAD,
        "images": samples.images,
        "prompts": samples.prompts,
        "samples": samples.rows,
    }
    return _template().render(
        title=" and ".join(run.label for run in runs) if len(runs) < 3 else f"{len(runs)} runs compared",
        runs=[
            {"label": run.label, "started": _date(str(run.results.environment.get("started", "an unknown time")))}
            for run in runs
        ],
        several=len(runs) > 1,
        width=2 + len(runs) if len(runs) > 1 else 5,
        synthetic=_synthetic(parts),
        failures=failures_of(runs),
        against_chance=against_chance(head),
        cards=head,
        parts=parts,
        tests=tests if tests is not None and tests.verdicts else None,
        caption_of=caption_of,
        title_of=title_of,
        head_of=_head,
        # Drawn by matplotlib, which escapes every text.
        markup=Markup,
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


def _synthetic(parts: Sequence[PaperPart]) -> str:
    """The tasks that ran on synthetic demo data: "all", or their titles; "" if none did."""
    found = [(task, summary.is_mini) for part in parts for task in part.tasks for summary in task.summaries]
    if found and all(is_mini for _, is_mini in found):
        return "all"
    return ", ".join(dict.fromkeys(task.title for task, is_mini in found if is_mini))


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
        return {key: _finite(item) for key, item in value.items() if not _is_undefined(item)}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return value


def _is_undefined(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)
