"""The section of a model's card, at most 15 lines. Texts of runs are escaped, and paths are cut to their last part."""

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath
from typing import Any

from eyechart.evaluators.requests.types import FROM_FILE
from eyechart.evaluators.results.notes import Note, grouped, note
from eyechart.evaluators.results.results_file import AVERAGE
from eyechart.evaluators.results.score_rows import COLUMNS, headline_intervals, headline_row, headlines
from eyechart.evaluators.tasks import known_task, paper_of, task_title
from eyechart.hub_cards.model_card.entries import setting_words
from eyechart.hub_cards.model_card.selection import Published
from eyechart.metrics.score_spec import value_at

_ROWS = 6
"""Results in a table with one row each; more results have one row for each benchmark."""
_MODEL = ("backend", "architecture", "revision", "dtype", "quantization", "decoding", "dropped_parameters")
_PACKAGES = ("eyechart", "torch", "transformers")
_MARKUP = re.compile(r"([\\`*_\[\]|~#])")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_PATH = re.compile(r"(?:/|~|\.\.?/|[A-Za-z]:[\\/])[^ ]*")


def card_section(published: Sequence[Published]) -> str:
    """The section as Markdown."""
    if len(published) <= _ROWS:
        columns: Sequence[str] = ("task", "data", *COLUMNS)
        rows: Sequence[tuple[str, ...]] = [
            (_code(entry.result.task), _data(entry), *map(markdown, headline_row(entry.result) or ()))
            for entry in published
        ]
    else:
        columns, rows = ("benchmark", "headline scores with 95 % intervals"), _benchmark_rows(published)
    cells = [columns, ["---"] * len(columns), *rows]
    table = "\n".join(f"| {' | '.join(row)} |" for row in cells)
    lines = "\n".join(f"- {line}" for line in (_intervals(published), _settings(published), _run(published)))
    return f"## Evaluation with eyechart\n\n{table}\n\n{lines}"


def markdown(value: Any) -> str:
    r"""Escape a text so that Markdown shows it literally, in a cell or a line.

    Examples:
        >>> markdown("a|b <script> *c*\nd")
        'a\\|b &lt;script&gt; \\*c\\* d'
    """
    return _MARKUP.sub(r"\\\1", html.escape(_CONTROL.sub(" ", str(value)), quote=False))


def _code(task: str) -> str:
    return f"`{_CONTROL.sub(' ', task).replace('`', '').replace('|', '')}`"


def _data(entry: Published) -> str:
    config, split = entry.result.settings["data"].get("config"), entry.result.split
    name = "average over databases" if entry.result.dataset == AVERAGE else entry.data_name
    if name == entry.result.task:
        return markdown(split)
    return markdown(f"{name}{f', {config}' if config else ''} ({split})")


def _benchmark_rows(published: Sequence[Published]) -> Sequence[tuple[str, ...]]:
    """One row for each benchmark with its headline scores."""
    texts = []
    for result in headlines([entry.result for entry in published]):
        label, value, interval, *_ = headline_row(result) or ("", "", "")
        words = (task_title(result.task), f"({result.split})", label, value, interval and f"({interval})")
        texts.append((paper_of(result.task).name, " ".join(filter(None, words))))
    rows = [(markdown(name), markdown("; ".join(scores))) for name, scores in grouped(texts).items()]
    if len(rows) > _ROWS:
        rows[_ROWS - 1 :] = [(f"{len(rows) - _ROWS + 1} more", "in this card's metadata")]
    return rows


def _intervals(published: Sequence[Published]) -> str:
    """What the intervals cover, and how they were computed if items are not independent."""
    # Reasons for having no interval are in the report.
    shown = [entry.result for entry in published if (headline_row(entry.result) or ("",) * 3)[2]]
    kinds = [markdown(each.text) for each in headline_intervals((result.task, result) for result in shown)]
    first = "Intervals show how much a score would vary with other items of the same kind, not with other settings."
    return " ".join((first, *kinds))


def _settings(published: Sequence[Published]) -> str:
    """Settings and caveats, each once with the tasks that it belongs to."""
    texts = [(text, entry) for entry in published for text in setting_words(entry)]
    texts += [(each.text.rstrip("."), entry) for entry in published for each in _caveats(entry)]
    tasks = grouped((_without_folders(text), _code(entry.result.task)) for text, entry in texts)
    parts = [f"{', '.join(names)}: {markdown(text)}" for text, names in tasks.items()]
    return f"Settings and caveats: {'; '.join(parts)}."


def _caveats(entry: Published) -> Iterator[Note]:
    result = entry.result
    if known_task(result.task) is None:
        yield note("task_file")
    elif entry.own_data:
        yield note("own_data")
    if value_at(result.settings, "model.backend") == FROM_FILE:
        yield note("precomputed")
    yield from result.notes
    if result.warnings:
        yield note("warnings", n=len(result.warnings), first=result.warnings[0])


def _run(published: Sequence[Published]) -> str:
    """The model, the packages that ran it, and the time; if results differ, all values."""
    parts = [_joined("", (_without_folders(entry.result.model) for entry in published))]
    parts += [_joined("", (value_at(entry.result.settings, f"model.{name}") for entry in published)) for name in _MODEL]
    for words, key in (*((f"{name} ", f"packages.{name}") for name in _PACKAGES), ("evaluated ", "started")):
        parts.append(_joined(words, (value_at(entry.environment, key) for entry in published)))
    source = published[0].consent.source
    return f"Run: {', '.join(filter(None, parts))}.{f' [Report or logs]({source}).' if source else ''}"


def _joined(words: str, values: Iterable[Any]) -> str:
    texts = dict.fromkeys(markdown(value) for value in values if value is not None)
    return f"{words}{' and '.join(texts)}" if texts else ""


def _without_folders(text: str) -> str:
    """A text with each absolute or relative path cut to its last part."""
    names = [PurePath(word.replace("\\", "/")).name if _PATH.fullmatch(word) else word for word in text.split(" ")]
    return " ".join(names)
