"""Puts results into a model's card; the rest stays unchanged byte for byte, including line ends."""

from collections.abc import Mapping, Sequence
from typing import Any

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.hub_cards.model_card.entries import is_ours
from eyechart.hub_cards.model_card.front_matter import split_card, with_results

BEGIN = "<!-- eyechart: begin -->"
END = "<!-- eyechart: end -->"
_BYTE_ORDER_MARK = "\ufeff"


def merged_card(card: str, model: str, entries: Sequence[Mapping[str, Any]], section: str) -> str:
    """Put entries and the section into a card; those of an earlier publication are replaced.

    Args:
        card: The text of `README.md`; "" if missing.
        model: The model's name, used for a new `model-index`.
        entries: The entries for the `results` of the `model-index`; without entries, the `model-index` stays unchanged.
        section: Markdown. It replaces the text between the marks; without marks, it is added at the end, with marks.

    Raises:
        DataError: The metadata cannot be read, or a mark is missing or duplicated.
    """
    mark = _BYTE_ORDER_MARK if card.startswith(_BYTE_ORDER_MARK) else ""
    text = card.removeprefix(mark)
    has_pairs = "\r\n" in text and text.count("\r\n") == text.count("\n")
    if has_pairs:
        text = text.replace("\r\n", "\n")
    before, metadata, rest = split_card(text)
    if entries:
        metadata = with_results(metadata, model, entries, is_ours)
    if not before and metadata:
        before, rest = "---\n", f"---\n{rest}"
    text = before + metadata + _with_section(rest, section)
    return mark + (text.replace("\n", "\r\n") if has_pairs else text)


def _with_section(text: str, section: str) -> str:
    marked = f"{BEGIN}\n{section.strip()}\n{END}"
    begins, ends = text.count(BEGIN), text.count(END)
    if not begins and not ends:
        return f"{text.rstrip()}\n\n{marked}\n".lstrip("\n")
    first, last = text.find(BEGIN), text.find(END)
    if begins != 1 or ends != 1 or last < first:
        raise DataError(
            f"the card has {begins} of the mark {BEGIN} and {ends} of {END}; expected one of each, in this order, or "
            "none. Put them around the part to replace, or remove them."
        )
    return text[:first] + marked + text[last + len(END) :]
