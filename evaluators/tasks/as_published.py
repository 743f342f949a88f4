"""Runs with the papers' settings (`Task.published`); the defaults of the tasks are better or cheaper.

The result lists these settings, so that none of them changes a number unnoticed.
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


def with_published_settings(task: Task, protocol: Protocol, given: Mapping[str, Any]) -> Protocol:
    """`protocol` with the paper's settings; raises UsageError for a user's own task, or if one `given` conflicts."""
    if task.data.path is not None:
        raise UsageError(f"as_published is only for tasks from papers; leave it out for your own task {task.name}")
    unused = protocol.unused_settings()
    published = {name: value for name, value in _published(task, of_data=False).items() if name not in unused}
    for name, value in given.items():
        if name in (*_DECIDED, *published) and value != published.get(name, getattr(task.protocol, name)):
            raise UsageError(f"as_published and {name}={value!r} are both given; leave out one of them")
    return replace(protocol, **published)


def published_data_options(task: Task, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The given options of the dataset and the paper's; raises UsageError if they conflict."""
    published = _published(task, of_data=True)
    options = options_in_force(task.data.datasets[0], task.data.config) | published
    for name, value in (given or {}).items():
        # Options that name folders say where the data is, not how it is used.
        if name in options and not name.endswith("_dir") and value != options[name]:
            raise UsageError(f"as_published and the data option {name}={value!r} are both given; leave out one")
    return published | dict(given or {})


def published_settings(
    task: Task, protocol: Protocol, dataset: str, data_options: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """The paper's value, default and source of each setting, for the result of an as-published run.

    `data_options` loaded the data, none for your own; raises UsageError if they are not the paper's.
    """
    for name, value in _published(task, of_data=True).items():
        if data_options.get(name, value) != value:
            raise UsageError(
                f"as_published needs data loaded with {name}={value!r}; found {data_options[name]!r}. Load it with "
                f"options={{{name!r}: {value!r}}}"
            )
    defaults = options_in_force(dataset, task.data.config) if data_options else {}
    defaults |= {name: value for name, value in vars(task.protocol).items() if name not in protocol.unused_settings()}
    return {
        setting.name: {"published": setting.value, "default": defaults[setting.name], "source": setting.source}
        for setting in task.published
        if setting.name in defaults
    }


def _published(task: Task, *, of_data: bool) -> dict[str, Any]:
    return {setting.name: setting.value for setting in task.published if setting.of_data == of_data}


def judge_needed(task: Task) -> UsageError:
    """The error for an as-published run without the judge that it needs."""
    used = f"as_published needs a judge for {task.name}, because its paper ({task.paper}) used one to score replies"
    return UsageError(f"{used}. Give --judge (in Python, judge=), or leave out as_published")
