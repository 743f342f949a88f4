"""The section of a model's card: scores, protocol, versions and caveats, from `hub_cards/model_card/section.md`.

All text from a run is escaped. Paths on the machine of the run are private and are cut to their last part.
"""

import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import PurePath
from typing import Any

from eyechart.evaluators.backends.predictions import FROM_FILE
from eyechart.evaluators.results.results_file import with_nan
from eyechart.evaluators.results.score_rows import interval_notes, score_rows
from eyechart.evaluators.tasks import get_task
from eyechart.hub_cards.model_card.selection import Published, left_out_public
from eyechart.hub_cards.recomputing import judge_of

_TEMPLATE = "model_card/section.md"
_ELSEWHERE = ("data", "model", "limit", "sample")
"""Settings shown elsewhere in the section, or equal in every published result."""
_MODEL = (
    *("backend", "architecture", "revision", "parameters", "dtype", "quantization", "attention", "decoding"),
    *("sampling", "image_processor", "image_sizes", "served", "downscaled_share"),
)
_MARKUP = re.compile(r"([\\`*_\[\]|~#])")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def card_section(published: Sequence[Published]) -> str:
    """The section as Markdown."""
    import jinja2

    # The template is Markdown; its values are escaped for Markdown and HTML.
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=False)
    template = environment.from_string((files("eyechart.hub_cards") / _TEMPLATE).read_text(encoding="utf-8"))
    return template.render(
        rows=[row for one in published for row in _score_rows(one)],
        protocol=[(_code(one.result.task), _data(one), _settings(one.result.settings)) for one in published],
        versions=list(_versions(published)),
        caveats=list(_caveats(published)),
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
    return markdown(f"{name}{f', {config}' if config else ''} ({one.result.split})")


def _score_rows(one: Published) -> Iterator[tuple[str, ...]]:
    task, data = _code(one.result.task), _data(one)
    for cells in score_rows(with_nan(one.result.scores)):
        yield (task, data, *map(markdown, cells))
        task = data = ""


def _settings(settings: Mapping[str, Any]) -> str:
    shown = {name: value for name, value in settings.items() if name not in _ELSEWHERE and value not in (None, "")}
    options = settings["data"].get("options")
    return "; ".join(f"{markdown(name)}: {_value(value)}" for name, value in {**shown, **(options or {})}.items())


def _value(value: Any) -> str:
    """A setting as text: strings literally, paths cut to their last part, other values as JSON."""
    if isinstance(value, str):
        return markdown(_without_folder(value))
    return markdown(json.dumps(_without_folders(value), ensure_ascii=False))


def _without_folders(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _without_folders(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_without_folders(item) for item in value]
    return _without_folder(value) if isinstance(value, str) else value


def _without_folder(text: str) -> str:
    is_path = text.startswith(("/", "~", "./", "../")) or re.match(r"[A-Za-z]:[\\/]", text)
    return PurePath(text.replace("\\", "/")).name if is_path else text


def _versions(published: Sequence[Published]) -> Iterator[tuple[str, str]]:
    """Settings of the model and versions of packages; if results differ, all values."""
    models = [one.result.settings.get("model") for one in published]
    settings = [model for model in models if isinstance(model, Mapping)]
    yield "model", ", ".join(dict.fromkeys(_value(one.result.model) for one in published))
    for name in _MODEL:
        values = dict.fromkeys(_value(model[name]) for model in settings if model.get(name) is not None)
        if values:
            yield markdown(name), ", ".join(values)
    yield "evaluated", ", ".join(dict.fromkeys(markdown(one.environment.get("started")) for one in published))
    packages = [one.environment.get("packages") or {} for one in published]
    for name in dict.fromkeys(name for of_one in packages for name in of_one):
        values = dict.fromkeys(markdown(of_one[name]) for of_one in packages if of_one.get(name) is not None)
        if values:
            yield markdown(name), ", ".join(values)


def _caveats(published: Sequence[Published]) -> Iterator[str]:
    yield "Compare only with scores that used the same data, split, prompt and settings as listed above."
    for one in published:
        task = f"{_code(one.result.task)} on {_data(one)}"
        if one.own_data:
            yield f"{task}: the publisher's own data, not a benchmark's."
        count = len(left_out_public(one.result))
        if count:
            yield f"{task}: {count} row{'s' if count > 1 else ''} left out: unreadable, or without an image."
        model = one.result.settings.get("model")
        if isinstance(model, Mapping) and model.get("backend") == FROM_FILE:
            yield f"{task}: precomputed predictions; eyechart did not run the model and cannot verify the prompt."
        judge = judge_of(one.result)
        if judge:
            yield f"{task}: judged by {_value(judge)}; scores depend on the judge."
        yield from (f"{task}: {markdown(note)}" for note in interval_notes([("", with_nan(one.result.scores or {}))]))
        yield from (f"{task}: {markdown(caveat)}" for caveat in one.result.caveats)
        warned = one.result.warnings
        if warned:
            yield f"{task}: warnings during scoring: {len(warned)}; first: {markdown(warned[0])}"
    papers = {get_task(one.result.task).paper for one in published}
    yield f"Protocols: {'; '.join(map(markdown, sorted(papers)))}."
