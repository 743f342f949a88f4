"""The plan of a run: tasks, data and settings. All names are checked before anything starts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from eyechart.datasets_scripts.catalog import find_dataset
from eyechart.datasets_scripts.common.errors import UsageError, unknown_name
from eyechart.datasets_scripts.loading import options_in_force
from eyechart.evaluators.protocols.protocol import Protocol, setting_fields
from eyechart.evaluators.protocols.settings import with_settings, with_values
from eyechart.evaluators.published.names import split_names
from eyechart.evaluators.runs.data_dirs import parse_data_dirs
from eyechart.evaluators.tasks import find_tasks
from eyechart.evaluators.tasks.as_published import (
    check_published,
    judge_needed,
    published_data_options,
    with_published_settings,
)
from eyechart.evaluators.tasks.task import Task


@dataclass(frozen=True)
class TaskRun:
    """One task on one dataset."""

    task: Task
    dataset: str
    split: str | None
    """None for own data whose splits are unknown until they are opened."""
    data_dir: str | None = None
    """Folder of the release; None for the official release, which is downloaded if possible."""
    is_mini: bool = False
    """Whether it runs on synthetic demo data; then there is no folder."""
    data_options: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the dataset."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the task's protocol that differ from the task's own."""
    as_published: bool = False
    """Whether the paper's settings are used."""
    limit: int | None = None
    """Evaluate only the first N items."""
    sample: int | None = None
    """Evaluate a random sample of N items."""

    @property
    def is_official(self) -> bool:
        """Whether it runs on the official release, which is downloaded if possible."""
        return self.data_dir is None and not self.is_mini and self.task.data.path is None

    def protocol(self) -> Protocol:
        """The task's protocol with these settings.

        Raises:
            UsageError: The protocol does not have a setting, or the paper fixes it.
        """
        if self.as_published:
            return with_published_settings(self.task, self.task.protocol, self.settings)
        return with_settings(self.task.protocol, self.settings, self.task.name)


def make_plan(
    names: Sequence[str],
    *,
    dataset: str | Sequence[str] | None = None,
    split: str | None = None,
    data_dirs: Sequence[str] = (),
    is_mini: bool = False,
    data_options: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    as_published: bool = False,
    limit: int | None = None,
    sample: int | None = None,
) -> list[TaskRun]:
    """Make a plan from the options of the command line.

    Args:
        names: Tasks, papers, wildcards or task files; all tasks if empty. Of several tasks that one name means, those
            run that have one of the datasets, and the split.
        dataset: Dataset to run on, or several. Default: each task's own; if folders are given for some of these, only
            those.
        split: Split to run on; each task's first by default.
        data_dirs: `[DATASET=]PATH`, folders of releases.
        is_mini: Run on synthetic demo data if no folder is given.
        data_options: Settings of the dataset; only if all tasks run on the same one.
        settings: Each is passed to the tasks whose protocol has it.
        as_published: Use the papers' settings.
        limit: Evaluate only the first N items.
        sample: Evaluate a random sample of N items.

    Raises:
        UsageError: A limit and a sample are both given, a name does not exist, a folder could be of several datasets,
            no task has a setting, or the dataset does not have an option.
    """
    if limit is not None and sample is not None:
        raise UsageError(f"--limit {limit} and --sample {sample} are both given; leave out one")
    wanted = (dataset,) if isinstance(dataset, str) else tuple(dict.fromkeys(dataset or ()))
    tasks: list[Task] = []
    for name in split_names(names) or ["all"]:
        found = find_tasks(name)
        if len(found) > 1:
            found = [t for t in found if not wanted or not set(wanted).isdisjoint(t.data.datasets)] or found
            found = [t for t in found if split in (None, *t.data.splits)] or found
        tasks += [task for task in found if not any(task is other for other in tasks)]
    known = tuple(dict.fromkeys(name for task in tasks for name in task.data.datasets))
    for one in wanted:
        if one not in known:
            raise unknown_name("dataset", one, known)
    folders = parse_data_dirs(data_dirs, known)
    plan = []
    for task in tasks:
        given = tuple(name for name in task.data.datasets if name in folders)
        own = tuple(name for name in wanted if name in task.data.datasets) or wanted[:1]
        for chosen in own or given or task.data.default_datasets:
            planned = plan_task(task, chosen, split, folders.get(chosen, folders.get("")), limit=limit)
            is_synthetic = is_mini and planned.data_dir is None and task.data.path is None
            plan.append(replace(planned, is_mini=is_synthetic, as_published=as_published, sample=sample))
    check_distinct(plan)
    chosen_names = {planned.dataset for planned in plan}
    if "" in folders and len(chosen_names) > 1:
        missing = "" if Path(folders[""]).exists() else "does not exist, and "
        raise UsageError(
            f"--data-dir {folders['']} {missing}does not say which dataset it is, and the run has several. "
            f"Write --data-dir DATASET=PATH, with DATASET one of: {', '.join(known)}"
        )
    if data_options and len(chosen_names) > 1:
        raise UsageError(
            f"--data-option is for one dataset, but the run has several: {', '.join(sorted(chosen_names))}"
        )
    for planned in plan:
        check_own_data(planned, data_options or {})
    for planned in plan if data_options else ():
        options_in_force(planned.dataset, planned.task.data.config, data_options)
    plan = [replace(planned, data_options=dict(data_options or {})) for planned in plan]
    return [with_published_data(planned) for planned in distribute_settings(plan, settings or {})]


def plan_task(
    task: Task,
    dataset: str | None = None,
    split: str | None = None,
    data_dir: str | None = None,
    *,
    limit: int | None = None,
) -> TaskRun:
    """One task on one dataset, the task's first dataset and split by default.

    Raises:
        UsageError: The task does not run on that dataset or split.
    """
    dataset, split = task.choose_data(dataset, split, in_folder=data_dir is not None)
    return TaskRun(task, dataset, split, data_dir, limit=limit)


def distribute_settings(plan: Sequence[TaskRun], settings: Mapping[str, Any]) -> list[TaskRun]:
    """Pass each setting to the tasks on which it has an effect, and check the values.

    Raises:
        UsageError: No task has a setting, or a value is not allowed.
    """
    fields = {planned.task.name: setting_fields(type(planned.task.protocol)) for planned in plan}
    known = sorted({name for names in fields.values() for name in names})
    for name in settings:
        if name not in known:
            raise unknown_name("setting", name, known, f"of {', '.join(fields)}")
    found, unused = [], []
    for planned in plan:
        own = {name: value for name, value in settings.items() if name in fields[planned.task.name]}
        found.append(replace(planned, settings=own))
        unused.append(with_values(planned.task.protocol, own, planned.task.name).unused_settings())
    # A setting that has no effect on any task is an error.
    used = {name for planned, idle in zip(found, unused, strict=True) for name in planned.settings if name not in idle}
    for place, (planned, idle) in enumerate(zip(found, unused, strict=True)):
        kept = {name: value for name, value in planned.settings.items() if name not in used or name not in idle}
        found[place] = replace(planned, settings=kept)
        found[place].protocol()
    return found


def check_blind(plan: Sequence[TaskRun]) -> None:
    """Refuse to run tasks without images if they need them.

    Raises:
        UsageError: The plan has such tasks; the message names them.
    """
    names = [planned.task.name for planned in plan if "blind" not in setting_fields(type(planned.task.protocol))]
    if names:
        raise UsageError(f"--blind is only for multiple choice; leave out {', '.join(dict.fromkeys(names))}")


def check_distinct(plan: Sequence[TaskRun]) -> None:
    """Refuse a plan in which a task runs on the same data twice.

    Raises:
        UsageError: A task does.
    """
    names = [(planned.task.name, planned.dataset) for planned in plan]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(
                f"{name[0]} on {name[1]} is listed {names.count(name)} times; a run can contain it only once"
            )


def check_own_data(planned: TaskRun, data_options: Mapping[str, Any]) -> None:
    """Refuse options that only eyechart's own datasets and tasks have, if a task runs on the user's own data.

    Raises:
        UsageError: Settings of a dataset are given, or the paper's settings are requested.
    """
    if planned.task.data.path is None:
        return
    if data_options:
        raise UsageError(f"{planned.task.name} runs on your own data, which have no settings; leave out data options")
    if planned.as_published:
        check_published(planned.task)


def with_published_data(planned: TaskRun) -> TaskRun:
    """Add the paper's settings of the dataset, if the task runs as published.

    Raises:
        UsageError: A setting is given that the paper fixes.
    """
    if not planned.as_published:
        return planned
    return replace(planned, data_options=published_data_options(planned.task, planned.data_options))


def check_judging(plan: Sequence[TaskRun], is_judged: bool) -> None:
    """Refuse a judge that no task uses, and judge settings without a judge.

    Args:
        plan: What to run.
        is_judged: Whether there is a judge.

    Raises:
        UsageError: `--judge` or `rounds` has no effect, or a run as published needs a judge.
    """
    judged = [planned for planned in plan if planned.protocol().is_judged]
    if is_judged and not judged:
        names = ", ".join(dict.fromkeys(planned.task.name for planned in plan))
        raise UsageError(f"--judge has no effect on tasks that use no judge: {names}; leave it out")
    for planned in () if is_judged else judged:
        if planned.as_published and planned.task.published_judge and not _is_private(planned):
            raise judge_needed(planned.task)
        if "rounds" in planned.settings:
            raise UsageError(
                f"rounds={planned.settings['rounds']} has no effect on {planned.task.name} without --judge, the name "
                "of the judge model on its server"
            )


def _is_private(planned: TaskRun) -> bool:
    """Whether the answers of the split are private, so that they cannot be scored here."""
    data = planned.task.data
    return data.path is None and planned.split in find_dataset(planned.dataset).private_splits(data.config or "")


def in_asking_order(plan: Sequence[TaskRun]) -> list[TaskRun]:
    """Sort the tasks so that each comes after those that its `after` names; otherwise keep their order.

    AesBench's interpretation, for example, gives away the answer to its assessment, so it must be asked after it.
    """
    last = {planned.task.name: place for place, planned in enumerate(plan)}

    def key(numbered: tuple[int, TaskRun]) -> tuple[int, bool]:
        place, planned = numbered
        first_free = max([place, *(last[name] for name in planned.task.after if name in last)])
        return first_free, first_free > place

    return [planned for _, planned in sorted(enumerate(plan), key=key)]
