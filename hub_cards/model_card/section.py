"""The section of a model's card: at most 15 lines of scores, settings and caveats, from `section.md`.

All text from a run is escaped. Paths on the machine of the run are private and are cut to their last part.
"""

import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import PurePath
from typing import Any

from eyechart.evaluators.backends.predictions import FROM_FILE
from eyechart.evaluators.evaluation.averages import AVERAGE
from eyechart.evaluators.published.names import paper_of, task_title
from eyechart.evaluators.results.results_file import TaskResult, with_nan
from eyechart.evaluators.results.score_rows import COLUMNS, interval_notes, score_rows
from eyechart.evaluators.tasks import known_task
from eyechart.hub_cards.headline import result_scores
from eyechart.hub_cards.model_card.entries import setting_words
from eyechart.hub_cards.model_card.selection import Published
from eyechart.metrics.scores import INTERVALS

_TEMPLATE = "model_card/section.md"
_ROWS = 6
"""Results in a table with one row each; more results have one row for each benchmark."""
_MODEL = ("backend", "architecture", "revision", "dtype", "quantization", "decoding", "dropped_parameters")
_PACKAGES = ("eyechart", "torch", "transformers")
_MARKUP = re.compile(r"([\\`*_\[\]|~#])")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def card_section(published: Sequence[Published], source: str | None = None) -> str:
    """The section as Markdown.

    Args:
        published: The results.
        source: Address of the run's report or logs.
    """
    import jinja2

    # The template is Markdown; its values are escaped for Markdown and HTML.
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=False)
    template = environment.from_string((files("eyechart.hub_cards") / _TEMPLATE).read_text(encoding="utf-8"))
    columns: Sequence[str] = ("task", "data", *COLUMNS)
    rows: list[Sequence[str]] = [_row(one) for one in published]
    if len(rows) > _ROWS:
        columns, rows = ("benchmark", "headline scores with 95 % intervals"), _benchmark_rows(published)
    return template.render(
        columns=columns,
        rows=rows,
        lines=list(filter(None, (_intervals(published), _grouped(published), _made_with(published, source)))),
    )


def markdown(value: Any) -> str:
    r"""Escape a text so that Markdown shows it literally, in a cell or a line.

    Examples:
        >>> markdown("a|b <script> *c*\nd")
        'a\\|b &lt;script&gt; \\*c\\* d'
    """
    return _MARKUP.sub(r"\\\1", html.escape(_CONTROL.sub(" ", str(value)), quote=False))


def _code(value: Any) -> str:
    """A trusted text, formatted as code."""
    return f"`{_CONTROL.sub(' ', str(value)).replace('`', '').replace('|', '')}`"


def _data(one: Published) -> str:
    config = one.result.settings["data"].get("config")
    name = "average over databases" if one.is_average else one.data_name
    if name == one.result.task:
        return markdown(one.result.split)
    return markdown(f"{name}{f', {config}' if config else ''} ({one.result.split})")


def _row(one: Published) -> tuple[str, ...]:
    return (_code(one.result.task), _data(one), *map(markdown, _headline(one.result)))


def _headline(result: TaskResult) -> tuple[str, ...]:
    """The headline score as texts for `COLUMNS`."""
    label = result_scores(result)[0].label
    return next(cells for cells in score_rows(with_nan(result.scores)) if cells[0].strip() == label)


def _benchmark_rows(published: Sequence[Published]) -> list[Sequence[str]]:
    """One row for each benchmark with its headline scores; an average replaces its databases."""
    averaged = {one.result.task for one in published if one.is_average}
    found: dict[str, list[str]] = {}
    for one in published:
        result = one.result
        if result.task in averaged and result.dataset != AVERAGE:
            continue
        label, value, between, *_ = _headline(result)
        title = " ".join(filter(None, (task_title(result.task), f"({result.split})", label, value)))
        found.setdefault(paper_of(result.task).name, []).append(f"{title}{between and f' ({between})'}")
    rows: list[Sequence[str]] = [(markdown(name), markdown("; ".join(scores))) for name, scores in found.items()]
    more = len(rows) - _ROWS
    if more > 0:
        rows[_ROWS - 1 :] = [(f"{more + 1} more", "in this card's metadata")]
    return rows


def _intervals(published: Sequence[Published]) -> str:
    """What the intervals cover, and how they were computed if items are not independent."""
    shown = []
    for one in published:
        scores, key = with_nan(one.result.scores or {}), result_scores(one.result)[0].key
        about = {name: found for name, found in scores.get(INTERVALS, {}).items() if name == key}
        shown.append((one.result.task, {**scores, INTERVALS: about}))
    # Reasons for having no interval are in the report.
    kinds = [note for note in interval_notes(shown) if not note.startswith("No interval")]
    first = "Intervals show how much a score would vary with other items of the same kind, not with other settings."
    return " ".join((first, *map(markdown, kinds)))


def _grouped(published: Sequence[Published]) -> str:
    """Settings and caveats, each once with the tasks that it belongs to."""
    found: dict[str, list[str]] = {}
    for one in published:
        for text in (*setting_words(one), *_caveats(one)):
            found.setdefault(_without_folders(text), []).append(_code(one.result.task))
    parts = [f"{', '.join(dict.fromkeys(tasks))}: {markdown(text)}" for text, tasks in found.items()]
    return f"Settings and caveats: {'; '.join(parts)}."


def _caveats(one: Published) -> Iterator[str]:
    result = one.result
    model = result.settings.get("model")
    if known_task(result.task) is None:
        yield "defined by a task file of the publisher"
    elif one.own_data:
        yield "the publisher's own data, not a benchmark's"
    if isinstance(model, Mapping) and model.get("backend") == FROM_FILE:
        yield "precomputed predictions; eyechart did not run the model and cannot verify the prompt"
    yield from (caveat.rstrip(".") for caveat in result.caveats)
    if result.warnings:
        yield f"warnings during scoring: {len(result.warnings)}; first: {result.warnings[0]}"


def _made_with(published: Sequence[Published], source: str | None) -> str:
    """The model, the packages that ran it, and the time; if results differ, all values."""
    settings = [model for one in published if isinstance(model := one.result.settings.get("model"), Mapping)]
    model = [_joined(found.get(name) for found in settings) for name in _MODEL]
    packages = [one.environment.get("packages") or {} for one in published]
    versions = [(name, _joined(of_one.get(name) for of_one in packages)) for name in _PACKAGES]
    started = _joined(one.environment.get("started") for one in published)
    parts = [
        _joined(_without_folders(one.result.model) for one in published),
        *model,
        *(f"{name} {version}" for name, version in versions if version),
        f"evaluated {started}" if started else "",
    ]
    end = f" [Report or logs]({source})." if source else ""
    return f"Run: {', '.join(filter(None, parts))}.{end}"


def _joined(values: Iterable[Any]) -> str:
    return " and ".join(dict.fromkeys(markdown(value) for value in values if value is not None))


def _without_folders(text: str) -> str:
    """A text with each absolute or relative path cut to its last part."""
    return " ".join(_without_folder(word) for word in text.split(" "))


def _without_folder(text: str) -> str:
    is_path = text.startswith(("/", "~", "./", "../")) or re.match(r"[A-Za-z]:[\\/]", text)
    return PurePath(text.replace("\\", "/")).name if is_path else text
