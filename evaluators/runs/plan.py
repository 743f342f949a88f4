"""What a run is to do: which tasks, on which data, with which options, every name checked before anything starts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from eyechart.datasets_scripts.catalog import find_dataset
from eyechart.datasets_scripts.common.errors import UsageError, unknown_name
from eyechart.datasets_scripts.loading import options_in_force
from eyechart.evaluators.protocols.choice.closed_set import CLOSED_SET
from eyechart.evaluators.protocols.options import TaskOptions
from eyechart.evaluators.tasks import TASKS, get_task
from eyechart.evaluators.tasks.as_published import judge_needed, lacks_judge, published_data_options
from eyechart.evaluators.tasks.task import Task


@dataclass(frozen=True)
class TaskRun:
    """One task on one data set."""

    task: Task
    subset: str
    split: str
    data_dir: str | None = None
    """Folder of the release; None is the official one, downloaded where that is possible."""
    is_mini: bool = False
    """Whether it runs on the mini release, which holds synthetic items; then there is no folder."""
    data_options: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the data set's own."""
    options: TaskOptions = field(default_factory=TaskOptions)
    limit: int | None = None
    """Use only the first so many items."""


def make_plan(
    names: Sequence[str],
    *,
    among: Sequence[Task] = TASKS,
    subset: str | Sequence[str] | None = None,
    split: str | None = None,
    data_dirs: Sequence[str] = (),
    is_mini: bool = False,
    data_options: Mapping[str, Any] | None = None,
    options: TaskOptions | None = None,
    limit: int | None = None,
) -> list[TaskRun]:
    """Make a plan of what was given on the command line.

    Args:
        names: Tasks; if empty, those of `among` that have one of the subsets, and the split.
        among: Tasks such as those of a suite; all by default.
        subset: Data set to run on, or several; by default those that each task names, or, where folders are given for
            some of these, those alone.
        split: Split to run on; each task's first by default.
        data_dirs: `[SUBSET=]PATH`, folders of releases.
        is_mini: Run on mini releases wherever no folder is given.
        data_options: Settings of the data set's own, where all tasks run on one.
        options: Each goes to the tasks that take it.
        limit: Use only the first so many items.

    Raises:
        UsageError: A name does not exist, a folder does not say what it holds, an option has no effect on any task, or
            the data set has no such setting.
    """
    tasks = [get_task(name) for name in dict.fromkeys(names)]
    wanted = (subset,) if isinstance(subset, str) else tuple(dict.fromkeys(subset or ()))
    if not names:
        tasks = [t for t in among if not wanted or not set(wanted).isdisjoint(t.subsets)]
        tasks = [t for t in tasks if split in (None, *t.splits)] or tasks
    known = tuple(dict.fromkeys(name for task in (tasks or among) for name in task.subsets))
    for one in wanted:
        if one not in known:
            raise unknown_name("subset", one, known)
    folders = parse_data_dirs(data_dirs, known)
    plan = []
    for task in tasks:
        given = tuple(name for name in task.subsets if name in folders)
        own = tuple(name for name in wanted if name in task.subsets) or wanted[:1]
        for chosen in own or given or task.default_subsets:
            planned = plan_task(task, chosen, split, folders.get(chosen, folders.get("")), limit=limit)
            plan.append(replace(planned, is_mini=is_mini and planned.data_dir is None))
    chosen_subsets = {planned.subset for planned in plan}
    if "" in folders and len(chosen_subsets) > 1:
        raise UsageError(
            f"--data-dir {folders['']} does not say which subset it holds, and several are to be run. "
            f"Write --data-dir SUBSET={folders['']}, with SUBSET one of: {', '.join(known)}"
        )
    if data_options and len(chosen_subsets) > 1:
        raise UsageError(
            f"--option is for one data set, and several are to be run: {', '.join(sorted(chosen_subsets))}"
        )
    for planned in plan if data_options else ():
        options_in_force(planned.subset, planned.task.config, data_options)
    plan = [replace(planned, data_options=dict(data_options or {})) for planned in plan]
    return distribute_options(plan, options) if options and options.given() else plan


def plan_task(
    task: Task,
    subset: str | None = None,
    split: str | None = None,
    data_dir: str | None = None,
    *,
    limit: int | None = None,
) -> TaskRun:
    """One task on one data set, the task's first subset and split by default.

    Raises:
        UsageError: The task does not run on that subset or split.
    """
    subset, split = subset or task.default_subsets[0], split or task.splits[0]
    if subset not in task.subsets:
        raise unknown_name(f"subset of {task.name}", subset, task.subsets)
    if split not in task.splits:
        raise unknown_name(f"split of {task.name}", split, task.splits)
    return TaskRun(task, subset, split, data_dir, limit=limit)


def distribute_options(plan: Sequence[TaskRun], options: TaskOptions) -> list[TaskRun]:
    """Give each option to the tasks that take it.

    Raises:
        UsageError: None of them takes an option.
    """
    from eyechart.evaluators import evaluator_class

    takes = {planned.task.name: evaluator_class(planned.task).taken(options) for planned in plan}
    options.check_taken(sorted({name for names in takes.values() for name in names}), ", ".join(takes))
    return [
        replace(
            planned,
            options=options.only(takes[planned.task.name]),
            data_options=published_data_options(planned.task, options, planned.data_options),
        )
        for planned in plan
    ]


def check_judging(plan: Sequence[TaskRun], is_judged: bool) -> None:
    """Refuse a judge whom no task asks, and what is said about one that is not there.

    Args:
        plan: What is to run.
        is_judged: Whether there is a judge.

    Raises:
        UsageError: `--judge` or `rounds` has no effect on any task, or a run as published lacks its judge.
    """
    from eyechart.evaluators import evaluator_class

    asking = [planned for planned in plan if _asks_judge(planned, evaluator_class(planned.task).takes)]
    if is_judged and not asking:
        names = ", ".join(dict.fromkeys(planned.task.name for planned in plan))
        raise UsageError(f"--judge has no effect on what is run, {names}, which puts nothing to a judge; leave it out")
    for planned in () if is_judged else asking:
        # Private answers are scored by nobody here.
        is_private = planned.split in find_dataset(planned.subset).private_splits(planned.task.config or "")
        if lacks_judge(planned.task, planned.options, is_judged) and not is_private:
            raise judge_needed(planned.task)
        if planned.options.rounds is not None:
            raise UsageError(
                f"rounds={planned.options.rounds} has no effect on {planned.task.name} without --judge, the judge's "
                "name on its server"
            )


def _asks_judge(planned: TaskRun, takes: Sequence[str]) -> bool:
    return "rounds" in takes and planned.options.inference != CLOSED_SET


def in_asking_order(plan: Sequence[TaskRun]) -> list[TaskRun]:
    """The same tasks, each after those that its `after` names and otherwise in the order given.

    A task whose question tells what another one asks for, as AesBench's interpretation does of its assessment, is not
    asked before it.
    """
    last = {planned.task.name: place for place, planned in enumerate(plan)}

    def key(numbered: tuple[int, TaskRun]) -> tuple[int, bool]:
        place, planned = numbered
        first_free = max([place, *(last[name] for name in planned.task.after if name in last)])
        return first_free, first_free > place

    return [planned for _, planned in sorted(enumerate(plan), key=key)]


def parse_data_dirs(values: Sequence[str], names: Sequence[str], kind: str = "subset") -> dict[str, str]:
    """Subset or configuration to folder; "" is the key of a folder given without one.

    Raises:
        UsageError: Unknown name, or one given twice.
    """
    folders: dict[str, str] = {}
    for value in values:
        name, equals, path = value.partition("=")
        # A path may itself hold a "=".
        if not equals or Path(value).exists():
            name, path = "", value
        elif name not in names:
            raise unknown_name(f"{kind} in --data-dir", name, names)
        if name in folders:
            raise UsageError(f"--data-dir is given twice for {name or f'all {kind}s'}: {folders[name]} and {path}")
        folders[name] = path
    return folders
