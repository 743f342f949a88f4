"""Runs as the papers did them, where the defaults of tasks are better or cheaper than that.

What a paper did otherwise is listed in the task (`Task.published`). A run with the option `as_published` takes these
settings, and its result lists them, so that none of them changes a number without a word.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.datasets_scripts.loading import options_in_force
from eyechart.evaluators.protocols.options import TaskOptions, option_names
from eyechart.evaluators.tasks.task import Task

if TYPE_CHECKING:
    # It imports datasets, which commands load when they run.
    from eyechart.evaluators.evaluation.data import LoadedData


_DECIDED = ("rounds", "shuffle_seed", "temperature", "ties", "aggregator", "fallback")
"""Options that the papers decide: their value is the task's own or one that it lists as published."""


def published_task(task: Task, options: TaskOptions, taken: Collection[str]) -> tuple[Task, TaskOptions]:
    """A task and its options with the paper's settings in force.

    Args:
        task: The task.
        options: What is given, `as_published` among it; it may hold the paper's settings already.
        taken: Options that have an effect beside the others; settings of the paper that have none are left out.

    Raises:
        UsageError: An option is given that the paper's settings decide.
    """
    idle = {name for name in option_names() if name not in taken}
    published = tuple(one for one in task.published if one.of_data or one.name not in idle)
    own = {one.name: one.value for one in published if not one.of_data}
    for name, expected in {**dict.fromkeys(_DECIDED), **own}.items():
        if (value := getattr(options, name, None)) not in (None, expected):
            raise UsageError(f"as_published and {name}={value!r} are both given; leave out one of them")
    in_options = {name: value for name, value in own.items() if name in option_names()}
    arguments = {name: value for name, value in own.items() if name not in in_options}
    task = replace(task, published=published, metric_arguments={**task.metric_arguments, **arguments})
    return task, replace(options, **in_options)


def published_data_options(task: Task, options: TaskOptions, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Settings of the data set: those given, and with `as_published` those of the paper.

    Raises:
        UsageError: A setting is given that the paper's settings decide.
    """
    given = dict(given or {})
    own = {one.name: one.value for one in task.published if one.of_data} if options.as_published else {}
    defaults = options_in_force(task.subsets[0], task.config) if options.as_published else {}
    for name, value in given.items():
        # Folders say where data are and nothing of how they are used.
        if name in defaults and not name.endswith("_dir") and value != {**defaults, **own}[name]:
            raise UsageError(f"as_published and the data option {name}={value!r} are both given; leave out one")
    return own | given


def published_settings(task: Task, loaded: "LoadedData") -> dict[str, dict[str, Any]]:
    """What a result says of a run as published: each setting with the paper's value, the default and where it stands.

    Raises:
        UsageError: The data were loaded with other settings than the paper's.
    """
    found = {}
    for one in task.published:
        default = one.default
        if one.of_data:
            # Data of one's own have no such settings.
            if one.name not in loaded.options:
                continue
            default = options_in_force(loaded.subset, task.config)[one.name]
            if loaded.options[one.name] != one.value:
                raise UsageError(
                    f"as_published needs data with {one.name}={one.value!r}, and these have "
                    f"{loaded.options[one.name]!r}; load them with options={{{one.name!r}: {one.value!r}}}"
                )
        found[one.name] = {"published": one.value, "default": default, "source": one.source}
    return found


def lacks_judge(task: Task, options: TaskOptions, is_judged: bool) -> bool:
    """Whether a run as published is to be refused: its paper used a judge, and no judge is given."""
    return bool(options.as_published) and task.published_judge and not is_judged


def judge_needed(task: Task) -> UsageError:
    """The error for a run that lacks its judge."""
    return UsageError(
        f"as_published needs a judge for {task.name}: its paper ({task.paper}) scored replies by one. Give --judge (in "
        "Python, judge=), or leave out as_published"
    )
