r"""Answer containers: `\boxed{B}`, `<answer>B</answer>`, {"answer": "B"}, 【答案】B."""

import re

from eyechart.metrics.scoring.choices.lexicon import CONTAINERS

CONTAINER_MARK = "\ue000"
"""Stands in a text where an answer container was."""

_FIELDS = "|".join(CONTAINERS)
# A container begins at one of these; its content is the group of its kind.
_BEGIN = re.compile(r"boxed\s{0,8}\{|[<\[【\"']")
# A text without these has none.
_SIGNS = ("boxed", "<", "[", "【", '":', "':", '" :', "' :")
_CONTAINER = re.compile(
    r"boxed\s{0,8}\{(?P<box>(?:[^{}]|\{(?:[^{}]|\{[^{}]{0,99}\}){0,99}\}){1,300})\}"
    rf"|<(?:{_FIELDS})>(?P<tag>(?s:.){{1,300}}?)(?:</|<\|end|\Z)|<\|begin_of_box\|>(?P<glm>(?s:.){{1,300}}?)<\|end"
    rf"|[\"'](?:{_FIELDS})[\"']\s{{0,4}}:\s{{0,4}}(?:\[(?P<list>[^\]]{{1,300}})|\"(?P<double>[^\"\n]{{1,300}})"
    rf"|'(?P<single>[^'\n]{{1,300}})|(?P<bare>[^\"'\n,}}\]]{{1,300}}))"
    rf"|[\[【](?:{_FIELDS})[\]】](?P<field>[^\n<【]{{1,300}})",
    re.IGNORECASE,
)


def take_containers(text: str) -> tuple[str, list[str]]:
    r"""A text with a mark in place of each answer container, and their contents.

    Examples:
        >>> take_containers("So \\boxed{C}")[1], take_containers('{"answer": "B"}')[1]
        (['C'], ['B'])
    """
    pieces, contents, position = [], [], 0
    for begin in _BEGIN.finditer(text) if any(sign in text for sign in _SIGNS) else ():
        found = _CONTAINER.match(text, begin.start()) if begin.start() >= position else None
        content = found[str(found.lastgroup)] if found else ""
        if found and content.strip(" \n*"):
            pieces.append(text[position : found.start()])
            contents.append(content)
            position = found.end(str(found.lastgroup))
    return f" {CONTAINER_MARK} ".join([*pieces, text[position:]]), contents
