"""Whether a server answered with the model that was asked for, by the names in a result's settings."""

import re
from collections.abc import Mapping
from typing import Any

_DATED = re.compile(r"[-@:](\d{4}-\d{2}-\d{2}|\d{8}|\d{4,6})")
"""What stands behind a name for the version of one day: `gpt-4o-2024-11-20`, `gpt-4-0613`, `mistral-large-2411`."""


def is_served_name(asked: str, served: str) -> bool:
    """Whether a server's name for its model is the one asked for, a dated version of it, or its revision.

    Examples:
        >>> is_served_name("gpt-4o", "gpt-4o-2024-11-20"), is_served_name("mistral-large-latest", "mistral-large-2411")
        (True, True)
        >>> is_served_name("gpt-4o", "gpt-4o-mini"), is_served_name("org/model", "model-q4.gguf")
        (False, False)
        >>> is_served_name("org/model", "org/model@main")  # as `transformers serve` has it
        True
    """
    name, other = asked.casefold(), served.casefold()
    rest = other.removeprefix(name.removesuffix("-latest"))
    return name == other or (rest != other and (rest.startswith("@") or _DATED.fullmatch(rest) is not None))


def unconfirmed_names(settings: Mapping[str, Any]) -> list[str]:
    """The names under which a server answered that nobody asked for or confirmed.

    Args:
        settings: Those of a result, which may be of anybody's making.
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
    """What a reader has to know of a server that answered under another name; "" where there is nothing.

    Args:
        settings: Those of a result.
    """
    names = unconfirmed_names(settings)
    if not names:
        return ""
    found = ", ".join(map(repr, names))
    return (
        f"The server answered as {found}, and {settings['model'].get('name')!r} was asked for. If that is the same "
        "model, run again with --served-name NAME, which asks nothing anew; until then the result is not published."
    )


def judge_served_caveat(judge: Mapping[str, Any]) -> str:
    """That another model than the judge may have judged, by the names that its server gave; "" where there is nothing.

    Args:
        judge: The judge's settings.
    """
    names = [name for name in judge.get("served", ()) if not is_served_name(judge["name"], name)]
    if not names:
        return ""
    return f"The judge's server answered as {', '.join(map(repr, names))}, and {judge['name']!r} was asked for."
