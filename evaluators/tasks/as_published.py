"""Runs as the papers did them, where the defaults of tasks are better or cheaper than that.

What a paper did otherwise is listed in the task (`Task.published`). A run with `as_published` takes these settings, and
its result lists them, so that none of them changes a number unseen.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.datasets_scripts.loading import options_in_force
from eyechart.evaluators.protocols.protocol import Protocol
from eyechart.evaluators.protocols.settings import with_settings
from eyechart.evaluators.tasks.task import Task

_DECIDED = ("rounds", "shuffle_seed", "temperature", "ties", "aggregator", "fallback", "extraction")
"""Settings that the papers decide: their value is the task's own or one that it lists as published."""


def check_published(task: Task) -> None:
    """Refuse a task that no paper has published.

    Raises:
        UsageError: It is one of a user's own.
    """
    if task.data.path is not None:
        raise UsageError(f"as_published is for the tasks of papers, and {task.name} is your own; leave it out")


def with_published_settings(task: Task, protocol: Protocol, given: Mapping[str, Any]) -> Protocol:
    """A task's protocol with settings given and the paper's in force.

    Args:
        task: The task.
        protocol: Its protocol.
        given: Settings by name.

    Raises:
        UsageError: The task is no paper's, or a setting is given that the paper's settings decide, or that the protocol
            does not have.
    """
    check_published(task)
    protocol = with_settings(protocol, given, task.name)
    unused = protocol.unused_settings()
    own = {one.name: one.value for one in task.published if not one.of_data and one.name not in unused}
    for name, value in given.items():
        if name in (*_DECIDED, *own) and value != own.get(name, getattr(task.protocol, name)):
            raise UsageError(f"as_published and {name}={value!r} are both given; leave out one of them")
    return replace(protocol, **own)


def published_data_options(task: Task, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Settings of the data set: those given and the paper's.

    Raises:
        UsageError: A setting is given that the paper's settings decide.
    """
    given = dict(given or {})
    own = {one.name: one.value for one in task.published if one.of_data}
    defaults = options_in_force(task.data.datasets[0], task.data.config)
    for name, value in given.items():
        # Folders say where data are and nothing of how they are used.
        if name in defaults and not name.endswith("_dir") and value != {**defaults, **own}[name]:
            raise UsageError(f"as_published and the data option {name}={value!r} are both given; leave out one")
    return own | given


def published_settings(
    task: Task, protocol: Protocol, dataset: str, data_options: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """What a result says of a run as published: each setting with the paper's value, the default and where it stands.

    Args:
        task: The task.
        protocol: Its protocol with the paper's settings.
        dataset: Name of the data set.
        data_options: Settings with which it was loaded; empty for data of one's own.

    Raises:
        UsageError: The data were loaded with other settings than the paper's.
    """
    found = {}
    for one in task.published:
        if one.of_data:
            # Data of one's own have no such settings.
            if one.name not in data_options:
                continue
            default = options_in_force(dataset, task.data.config)[one.name]
            if data_options[one.name] != one.value:
                raise UsageError(
                    f"as_published needs data with {one.name}={one.value!r}, and these have "
                    f"{data_options[one.name]!r}; load them with options={{{one.name!r}: {one.value!r}}}"
                )
        elif one.name in protocol.unused_settings():
            continue
        else:
            default = getattr(task.protocol, one.name)
        found[one.name] = {"published": one.value, "default": default, "source": one.source}
    return found


def judge_needed(task: Task) -> UsageError:
    """The error for a run as published that lacks its judge."""
    return UsageError(
        f"as_published needs a judge for {task.name}: its paper ({task.paper}) scored replies by one. Give --judge (in "
        "Python, judge=), or leave out as_published"
    )
