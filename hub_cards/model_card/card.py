"""Puts results into a model's card; the rest stays unchanged byte for byte, including comments and line ends.

`huggingface_hub.ModelCard` would lose comments, empty values, and all models of a `model-index` but one.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.hub_cards.model_card.entries import is_ours

BEGIN = "<!-- eyechart: begin -->"
END = "<!-- eyechart: end -->"
_BYTE_ORDER_MARK = "\ufeff"
_KEY = "model-index"
_INDEX = re.compile(r"^([\"']?)model-index\1[ \t]*:.*\n(?:(?:[ \t-].*)?\n)*", re.MULTILINE)
"""The lines of the `model-index`: its key, then lines that are indented, list items or empty."""


def merged_card(card: str, model: str, entries: Sequence[Mapping[str, Any]], section: str) -> str:
    """Put entries and the section into a card ("" if missing), in place of those of an earlier publication.

    If no model in the `model-index` is `model`, the first one gets the entries; without entries, it stays unchanged.
    """
    from huggingface_hub.repocard import REGEX_YAML_BLOCK

    mark = _BYTE_ORDER_MARK if card.startswith(_BYTE_ORDER_MARK) else ""
    line_end = "\r\n" if "\n" in card and card.count("\r\n") == card.count("\n") else "\n"
    text = card.removeprefix(mark).replace(line_end, "\n")
    block = REGEX_YAML_BLOCK.match(text)
    before, metadata, rest = (text[: block.end(1)], block[2], text[block.end(2) :]) if block else ("", "", text)
    if entries:
        metadata = _with_results(metadata, model, entries)
        before, rest = before or "---\n", rest if block else f"\n---\n{rest}"
    return mark + (before + metadata + _with_section(rest, section)).replace("\n", line_end)


def _with_results(metadata: str, model: str, entries: Sequence[Mapping[str, Any]]) -> str:
    """Replace the lines of the `model-index`; metadata in a style without such lines are rewritten, with all values."""
    import yaml

    try:
        data = yaml.safe_load(metadata) or {}
        if not isinstance(data, dict):
            raise DataError(f"the card's metadata are {data!r:.60}; expected `key: value` lines")
        wanted = {**data, _KEY: _merged_index(data.get(_KEY), model, entries)}
        index = yaml.safe_dump({_KEY: wanted[_KEY]}, sort_keys=False, allow_unicode=True, width=float("inf"))
        lines = f"{metadata}\n" if metadata else ""
        edited = _INDEX.sub(lambda _: index, lines, count=1) if _KEY in data else lines + index
        with suppress(yaml.YAMLError):
            if yaml.safe_load(edited) == wanted:
                return edited.removesuffix("\n")
        # Unusual line ends survive only as escapes.
        return yaml.safe_dump(wanted, sort_keys=False, width=float("inf")).removesuffix("\n")
    # PyYAML raises other errors for impossible dates, huge numbers and endless nesting.
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        raise DataError(f"the card's metadata are not valid YAML: {error}") from error


def _merged_index(index: Any, model: str, entries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The `model-index` with the entries in place of ours of earlier."""
    if not index:
        return [{"name": model, "results": [*entries]}]
    is_list = isinstance(index, list) and all(isinstance(item, dict) for item in index)
    if not is_list or not all(isinstance(item.get("results") or [], list) for item in index):
        raise DataError(f"the card's {_KEY} is {index!r:.80}; expected a list of models, each with a list of `results`")
    names = [item.get("name") for item in index]
    target = names.index(model) if model in names else 0
    others = [entry for entry in index[target].get("results") or [] if not is_ours(entry)]
    return [*index[:target], {**index[target], "results": [*others, *entries]}, *index[target + 1 :]]


def _with_section(text: str, section: str) -> str:
    marked = f"{BEGIN}\n{section.strip()}\n{END}"
    if BEGIN not in text and END not in text:
        return f"{text.rstrip()}\n\n{marked}\n" if text.strip() else f"{marked}\n"
    before, _, inside = text.partition(BEGIN)
    _, _, after = inside.partition(END)
    if (text.count(BEGIN), text.count(END)) != (1, 1) or END in before:
        raise DataError(f"the card's marks {BEGIN} and {END} are not one pair in this order; correct or remove them")
    return before + marked + after
