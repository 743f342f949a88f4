"""Where a result's rows and answers came from: synthetic or official data, and the model that answered."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from eyechart.datasets_scripts.official import official_counts
from eyechart.evaluators.results.notes import Note, note
from eyechart.evaluators.results.results_file import AVERAGE, TaskResult
from eyechart.metrics.scores import specs_in

MINI = "synthetic demo data"
"""A value of `data.source`: synthetic demo data, the default without `--model`, or asked for by `--mini`."""
OFFICIAL = "official release"
"""The same for a release that was downloaded from its authors. Any other value is a folder or the id of a dataset."""
GIVEN = "given"
"""The same for a `Dataset` object."""
_DATED = re.compile(r"[-@:](\d{4}-\d{2}-\d{2}|\d{8}|\d{4,6})")
"""Suffix of a dated version: `gpt-4o-2024-11-20`, `gpt-4-0613`, `mistral-large-2411`."""


def is_mini_data(settings: Mapping[str, Any]) -> bool:
    """Whether a result with these settings is on synthetic demo data."""
    data = settings.get("data")
    return isinstance(data, Mapping) and bool(data.get("is_mini") or data.get("source") == MINI)


def official_items(result: TaskResult) -> tuple[int, ...]:
    """Items of the split in each official release, newest first, or of an average's databases; empty if unknown."""
    data = result.settings.get("data")
    if not isinstance(data, Mapping) or data.get("is_mini") is not False:
        return ()
    if result.dataset == AVERAGE:
        names = result.settings.get("databases")
        counts = [official_counts(str(name), None, result.split) for name in names] if isinstance(names, list) else []
        return (sum(count[0] for count in counts),) if counts and all(counts) else ()
    if data.get("source") == GIVEN:
        return ()
    return official_counts(result.dataset, data.get("config"), result.split, data.get("options"))


def scored_items(scores: Mapping[str, Any]) -> int | None:
    """Number of items that the scores cover; None if they do not record it."""
    n = next((spec.n(scores) for spec in specs_in(scores) if spec.headline), None)
    return n if isinstance(n, int) and not isinstance(n, bool) else None


def is_served_name(asked: str, served: str) -> bool:
    """Whether a server's model name is the requested one, a dated version of it, or its revision.

    Examples:
        >>> is_served_name("gpt-4o", "gpt-4o-2024-11-20"), is_served_name("gpt-4o", "gpt-4o-mini")
        (True, False)
    """
    name, other = asked.casefold(), served.casefold()
    rest = other.removeprefix(name.removesuffix("-latest"))
    return name == other or (rest != other and (rest.startswith("@") or _DATED.fullmatch(rest) is not None))


def unconfirmed_names(settings: Mapping[str, Any]) -> list[str]:
    """The names under which a server answered that were neither requested nor confirmed, from untrusted settings."""
    model = settings.get("model")
    model = model if isinstance(model, Mapping) else {}
    served = model.get("served")
    expected = [name for name in (model.get("name"), model.get("served_name")) if isinstance(name, str)]
    return [
        str(name)
        for name in (served if isinstance(served, list) else [])
        if not any(is_served_name(asked, str(name)) for asked in expected)
    ]


def served_notes(settings: Mapping[str, Any]) -> Iterator[Note]:
    """Notes about servers, of the model and of the judge, that answered under other names."""
    if names := unconfirmed_names(settings):
        yield note("served", served=names, model=settings["model"].get("name"))
    judge = settings.get("judge", {})
    if others := [name for name in judge.get("served", ()) if not is_served_name(judge["name"], name)]:
        yield note("judge_served", served=others, judge=judge["name"])
