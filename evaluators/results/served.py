"""Check that a server answered with the requested model, by the names in a result's settings."""

import re
from collections.abc import Mapping
from typing import Any

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


def served_caveat(settings: Mapping[str, Any]) -> str:
    """Caveat about a server that answered under another name; "" if none did.

    Args:
        settings: Settings of a result.
    """
    names = unconfirmed_names(settings)
    if not names:
        return ""
    found = ", ".join(map(repr, names))
    return (
        f"The server answered as {found}, but {settings['model'].get('name')!r} was requested. If they are the same "
        "model, run again with --served-name NAME (stored answers are reused); until then the result cannot be "
        "published."
    )


def judge_served_caveat(judge: Mapping[str, Any]) -> str:
    """Caveat that a model other than the judge may have judged, by the server's names; "" if missing.

    Args:
        judge: The judge's settings.
    """
    names = [name for name in judge.get("served", ()) if not is_served_name(judge["name"], name)]
    if not names:
        return ""
    return f"The judge's server answered as {', '.join(map(repr, names))}, but {judge['name']!r} was requested."
