"""Check that a server answered with the requested model, by the names in a result's settings."""

import re
from collections.abc import Mapping
from typing import Any

from eyechart.evaluators.results.notes import Note, note

_DATED = re.compile(r"[-@:](\d{4}-\d{2}-\d{2}|\d{8}|\d{4,6})")
"""Suffix of a dated version: `gpt-4o-2024-11-20`, `gpt-4-0613`, `mistral-large-2411`."""


def is_served_name(asked: str, served: str) -> bool:
    """Whether a server's model name is the requested one, a dated version of it, or its revision.

    Examples:
        >>> is_served_name("gpt-4o", "gpt-4o-2024-11-20"), is_served_name("mistral-large-latest", "mistral-large-2411")
        (True, True)
        >>> is_served_name("gpt-4o", "gpt-4o-mini"), is_served_name("org/model", "model-q4.gguf")
        (False, False)
        >>> is_served_name("org/model", "org/model@main")  # as `transformers serve` writes it
        True
    """
    name, other = asked.casefold(), served.casefold()
    rest = other.removeprefix(name.removesuffix("-latest"))
    return name == other or (rest != other and (rest.startswith("@") or _DATED.fullmatch(rest) is not None))


def unconfirmed_names(settings: Mapping[str, Any]) -> list[str]:
    """The names under which a server answered that were neither requested nor confirmed.

    Args:
        settings: Settings of a result; they are not trusted.
    """
    model = settings.get("model")
    model = model if isinstance(model, Mapping) else {}
    served = model.get("served")
    expected = [name for name in (model.get("name"), model.get("served_name")) if isinstance(name, str)]
    return [
        str(name)
        for name in (served if isinstance(served, list) else [])
        if not any(is_served_name(one, str(name)) for one in expected)
    ]


def served_notes(settings: Mapping[str, Any]) -> list[Note]:
    """Notes about servers, of the model and of the judge, that answered under other names."""
    found = []
    if names := unconfirmed_names(settings):
        found.append(note("served", served=names, model=settings["model"].get("name")))
    judge = settings.get("judge", {})
    if others := [name for name in judge.get("served", ()) if not is_served_name(judge["name"], name)]:
        found.append(note("judge_served", served=others, judge=judge["name"]))
    return found
