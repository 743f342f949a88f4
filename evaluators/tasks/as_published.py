"""Runs with the papers' settings; the defaults of the tasks are better or cheaper.

`Task.published` lists the settings in which the paper differs from the task's defaults. A run with `as_published` uses
these settings, and its result lists them, so that none of them changes a number unnoticed.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.datasets_scripts.loading import options_in_force
from eyechart.evaluators.protocols.protocol import Protocol
from eyechart.evaluators.tasks.task import Task

_DECIDED = ("rounds", "shuffle_seed", "temperature", "ties", "aggregator", "fallback", "extraction")
"""Settings that the papers fix: to the task's default, or to the value in `Task.published`."""


def check_published(task: Task) -> None:
    """Refuse a user's own task, which no paper has published.

    Raises:
        UsageError: The task is a user's own.
    """
    if task.data.path is not None:
        raise UsageError(f"as_published is only for tasks from papers; leave it out for your own task {task.name}")


def with_published_settings(task: Task, protocol: Protocol, given: Mapping[str, Any]) -> Protocol:
    """A task's protocol, which has the given settings, with the paper's settings.

    Raises:
        UsageError: The task is a user's own, or a given setting conflicts with the paper's settings.
    """
    check_published(task)
    unused = protocol.unused_settings()
    own = {one.name: one.value for one in task.published if not one.of_data and one.name not in unused}
    for name, value in given.items():
        if name in (*_DECIDED, *own) and value != own.get(name, getattr(task.protocol, name)):
            raise UsageError(f"as_published and {name}={value!r} are both given; leave out one of them")
    return replace(protocol, **own)


def published_data_options(task: Task, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Options of the dataset: the given ones and the paper's.

    Raises:
        UsageError: A given option conflicts with the paper's.
    """
    given = dict(given or {})
    own = {one.name: one.value for one in task.published if one.of_data}
    defaults = options_in_force(task.data.datasets[0], task.data.config)
    for name, value in given.items():
        # Options that name folders say where the data is, not how it is used.
        if name in defaults and not name.endswith("_dir") and value != {**defaults, **own}[name]:
            raise UsageError(f"as_published and the data option {name}={value!r} are both given; leave out one")
    return own | given


def published_settings(
    task: Task, protocol: Protocol, dataset: str, data_options: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """What the result of an as-published run records: the paper's value, default and source of each setting.

    Args:
        task: The task.
        protocol: Its protocol with the paper's settings.
        dataset: Name of the dataset.
        data_options: Options with which it was loaded; empty for your own data.

    Raises:
        UsageError: The data was loaded with options other than the paper's.
    """
    found = {}
    for one in task.published:
        if one.of_data:
            # Your own data has no dataset options.
            if one.name not in data_options:
                continue
            default = options_in_force(dataset, task.data.config)[one.name]
            if data_options[one.name] != one.value:
                raise UsageError(
                    f"as_published needs data loaded with {one.name}={one.value!r}; found "
                    f"{data_options[one.name]!r}. Load it with options={{{one.name!r}: {one.value!r}}}"
                )
        elif one.name in protocol.unused_settings():
            continue
        else:
            default = getattr(task.protocol, one.name)
        found[one.name] = {"published": one.value, "default": default, "source": one.source}
    return found


def judge_needed(task: Task) -> UsageError:
    """The error for an as-published run without the judge that it needs."""
    return UsageError(
        f"as_published needs a judge for {task.name}, because its paper ({task.paper}) used one to score replies. Give "
        "--judge (in Python, judge=), or leave out as_published"
    )
