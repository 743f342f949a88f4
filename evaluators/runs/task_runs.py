"""Which tasks a run has, on which data, with which settings; all is checked before a model is loaded."""

import os
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from eyechart.datasets_scripts.catalog import find_dataset
from eyechart.datasets_scripts.common.errors import DataError, EyechartError, UsageError, unknown_name
from eyechart.datasets_scripts.common.paths import check_not_empty
from eyechart.datasets_scripts.loading import by_hand, load_builder, options_in_force
from eyechart.datasets_scripts.own_data.sources import check_file, check_image_folder
from eyechart.evaluators.evaluation.data import downloaded, load_data, without_progress_bars
from eyechart.evaluators.evaluation.loop import check_repeats, protocol_for, usable_rows
from eyechart.evaluators.evaluation.options import DataRequest, RunOptions
from eyechart.evaluators.protocols.protocol import setting_fields
from eyechart.evaluators.protocols.settings import with_values
from eyechart.evaluators.results.notes import grouped
from eyechart.evaluators.tasks import find_tasks, split_names
from eyechart.evaluators.tasks.task import Task, judge_needed, published_data_options

_EVERYTHING, _DEFAULTS = DataRequest(), RunOptions()


@dataclass(frozen=True)
class TaskRun:
    """One task on one dataset."""

    task: Task
    data: DataRequest
    """What to run on; its dataset is set. Its split is None for own data whose splits are unknown until opened."""
    options: RunOptions = _DEFAULTS
    """How to run; its settings are those that the task has."""

    @property
    def dataset(self) -> str:
        """Name of the dataset."""
        return str(self.data.dataset)

    @property
    def title(self) -> str:
        """The task and its dataset, for messages."""
        return f"{self.task.name} on {self.dataset}"

    @property
    def is_official(self) -> bool:
        """Whether it runs on the official release, which is downloaded if possible."""
        return self.data.data_dir is None and not self.data.is_mini and self.task.data.path is None


def make_task_runs(
    names: Sequence[str],
    request: DataRequest = _EVERYTHING,
    options: RunOptions = _DEFAULTS,
    *,
    datasets: Sequence[str] = (),
    data_dirs: Sequence[str] = (),
) -> list[TaskRun]:
    """What to run, in this order, from the options of the command line; without names, all tasks.

    Of several tasks that one name means, those run that have one of the datasets, and the split. Without `datasets`, a
    task runs on those with a folder in `data_dirs` (`[DATASET=]PATH`), or else on its own default.
    """
    tasks: list[Task] = []
    for name in split_names(names) or ["all"]:
        matching = find_tasks(name)
        if len(matching) > 1:
            matching = [t for t in matching if not datasets or {*datasets} & {*t.data.datasets}] or matching
            matching = [t for t in matching if request.split in (None, *t.data.splits)] or matching
        tasks += [task for task in matching if task not in tasks]
    known = tuple(dict.fromkeys(name for task in tasks for name in task.data.datasets))
    for name in datasets:
        if name not in known:
            raise unknown_name("dataset", name, known)
    folders, settings = parse_data_dirs(data_dirs, known), _settings_by_task(tasks, options.settings)
    task_runs: list[TaskRun] = []
    for task in tasks:
        with_folder = [name for name in task.data.datasets if name in folders]
        wanted = [name for name in dict.fromkeys(datasets) if name in task.data.datasets] or datasets[:1]
        for name in wanted or with_folder or task.data.default_datasets:
            folder = folders.get(name, folders.get(""))
            dataset, split = task.choose_data(name, request.split, in_folder=folder is not None)
            is_mini = request.is_mini and folder is None and task.data.path is None
            data = replace(request, dataset=dataset, split=split, data_dir=folder, is_mini=is_mini)
            task_runs.append(TaskRun(task, data, replace(options, settings=settings[task.name])))
    chosen = sorted({task_run.dataset for task_run in task_runs})
    if "" in folders and len(chosen) > 1:
        missing = "" if Path(folders[""]).exists() else "does not exist, and "
        raise UsageError(
            f"--data-dir {folders['']} {missing}does not say which dataset it is, and the run has several. "
            f"Write --data-dir DATASET=PATH, with DATASET one of: {', '.join(known)}"
        )
    if request.options and len(chosen) > 1:
        raise UsageError(f"--data-arg is for one dataset, but the run has several: {', '.join(chosen)}")
    for title, count in Counter(task_run.title for task_run in task_runs).items():
        if count > 1:
            raise UsageError(f"{title} is listed several times; a run can contain it only once")
    checked = list(map(_checked, task_runs))
    # Tasks that precede one in their `after`, whose answers they give away, run last.
    names = [task_run.task.name for task_run in task_runs]
    late = [task_run for index, task_run in enumerate(checked) if {*task_run.task.after} & {*names[index:]}]
    return [*(task_run for task_run in checked if task_run not in late), *late]


def _checked(task_run: TaskRun) -> TaskRun:
    """Check one task's options, and add the paper's options of its data for a run as published."""
    task, options = task_run.task, task_run.data.options
    if task.data.path is None:
        options_in_force(task_run.dataset, task.data.config, options)
    elif options:
        raise UsageError(f"{task.name} runs on your own data, which have no settings; leave out data options")
    check_repeats(task_run.options.repeats, task.name, task_run.options.protocol(task).output_type)
    if task_run.options.as_published:
        options = published_data_options(task, options)
    return replace(task_run, data=replace(task_run.data, options=options))


def parse_data_dirs(values: Sequence[str], names: Sequence[str], kind: str = "dataset") -> dict[str, str]:
    """Dataset or configuration to folder, from `[NAME=]PATH`; the key is "" for a folder without a name."""
    folders: dict[str, str] = {}
    for value in values:
        name, equals, path = value.partition("=")
        # A path may contain "=".
        if not equals or Path(value).exists():
            name, path = "", value
        elif name not in names:
            raise unknown_name(kind, name, names, "in --data-dir")
        check_not_empty(f"--data-dir {name}".rstrip(), path)
        if name in folders:
            raise UsageError(
                f"--data-dir {folders[name]} and --data-dir {path} are two folders of one {kind}; write "
                f"--data-dir {kind.upper()}=PATH once for each {kind}, with {kind.upper()} one of: {', '.join(names)}"
            )
        folders[name] = path
    return folders


def _settings_by_task(tasks: Sequence[Task], settings: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The settings that have an effect on each task; one without any effect goes to all, which refuse it."""
    fields = {task.name: setting_fields(type(task.protocol)) for task in tasks}
    known = sorted({name for names in fields.values() for name in names})
    if settings.get("blind") and (others := [name for name in fields if "blind" not in fields[name]]):
        raise UsageError(f"blind is only for multiple choice; leave out {', '.join(others)}")
    for name in settings:
        if name not in known:
            raise unknown_name("setting", name, known, f"of {', '.join(fields)}")
    accepted, unused = {}, {}
    for task in tasks:
        accepted[task.name] = {name: value for name, value in settings.items() if name in fields[task.name]}
        unused[task.name] = with_values(task.protocol, accepted[task.name], task.name).unused_settings()
    useful = {name for task, given in accepted.items() for name in given if name not in unused[task]}
    return {
        task: {name: value for name, value in given.items() if name not in unused[task] or name not in useful}
        for task, given in accepted.items()
    }


def check_judging(task_runs: Sequence[TaskRun], is_judged: bool) -> None:
    """Refuse a judge or `rounds` without effect, and a run as published without the judge that it needs."""
    judged = [task_run for task_run in task_runs if task_run.options.protocol(task_run.task).is_judged]
    if is_judged and not judged:
        names = ", ".join(dict.fromkeys(task_run.task.name for task_run in task_runs))
        raise UsageError(f"--judge has no effect on tasks that use no judge: {names}; leave it out")
    for task_run in () if is_judged else judged:
        task = task_run.task
        private = find_dataset(task_run.dataset).private_splits(task.data.config or "") if task.published_judge else ()
        # Private answers are not scored here.
        if task_run.options.as_published and task.published_judge and task_run.data.split not in private:
            raise judge_needed(task)
        if "rounds" in task_run.options.settings:
            raise UsageError(
                f"rounds={task_run.options.settings['rounds']} has no effect on {task.name} without --judge, "
                "the name of the judge model on its server"
            )


def check_inputs(task_runs: Sequence[TaskRun]) -> None:
    """Refuse data that cannot be used; one error lists all problems.

    Raises UsageError if all are wrong names or settings, otherwise DataError. What this prepares is cached for the run.
    No image is decoded; of a release that is not downloaded yet, only the disk space is checked.
    """
    problems: list[tuple[EyechartError, str]] = []
    to_download: dict[str, float] = {}
    with without_progress_bars():
        for task_run in task_runs:
            try:
                if task_run.is_official:
                    if size := download_gb(task_run):
                        to_download[task_run.dataset] = size
                elif not task_run.data.is_mini:
                    task, loaded = task_run.task, load_data(task_run.task, task_run.data)
                    protocol = protocol_for(task, task_run.options, loaded)
                    usable_rows(task, protocol, loaded.dataset, 1, needs_images=task_run.data.images == "load")
            except EyechartError as error:
                problems.append((error, task_run.title))
    tasks = grouped((error.explain(), name) for error, name in problems)
    lines = [f"{', '.join(names)}: {text}" for text, names in tasks.items()]
    if full := _why_no_room(to_download):
        lines.append(full)
    if len(lines) > 1:
        lines = [f"{len(lines)} problems with the data; nothing was run:", *(f"- {line}" for line in lines)]
    if lines:
        is_usage = not full and all(isinstance(error, UsageError) for error, _ in problems)
        raise (UsageError if is_usage else DataError)("\n".join(lines))


def download_gb(task_run: TaskRun) -> float:
    """Gigabytes to download; 0 if the data were downloaded before, need no download, or their size is unknown."""
    request = task_run.data
    size = find_dataset(task_run.dataset).download_gb if task_run.is_official and request.images == "load" else 0
    if not size:
        return 0
    builder = load_builder(
        task_run.dataset,
        task_run.task.data.config,
        options=request.options,
        only_splits=[request.split] if request.split else [],
        skip_missing=request.skip_missing,
        skip_bad=request.skip_bad,
    )
    return 0 if os.path.isdir(builder.cache_dir) else size


def _why_no_room(to_download: dict[str, float]) -> str:
    """Why the downloads do not fit on the disk; "" if they do."""
    from datasets import config

    folder = os.path.expanduser(config.HF_DATASETS_CACHE)
    # A download and what is unpacked from it need about twice the space of the download.
    needed = 2 * sum(to_download.values())
    if needed and needed > (free := shutil.disk_usage(folder).free / 1e9):
        return (
            f"the download of {', '.join(to_download)} needs about {needed:.1f} GB of disk space with the unpacked "
            f"images, but {folder} has {free:.1f} GB; free disk space, or set HF_HOME to a folder on a larger disk"
        )
    return ""


def check_data(task_runs: Sequence[TaskRun]) -> None:
    """Refuse missing data: own files, or datasets that cannot be downloaded, all listed at once."""
    missing: dict[tuple[str, str], str] = {}
    for task_run in task_runs:
        task, request = task_run.task, task_run.data
        if task.data.path is not None:
            check_file(downloaded(str(request.data_dir or task.data.path)))
            check_image_folder(task.data.images if request.images == "load" else None)
        elif task_run.is_official:
            how = by_hand(task_run.dataset, task.data.config, options=request.options, images=request.images)
            if how:
                missing.setdefault((task_run.dataset, how), task.name)
    if not missing:
        return
    names = list(dict.fromkeys(dataset for dataset, _ in missing))
    counted = f"{len(names)} dataset{'s' if len(names) > 1 else ''}"
    lines = [
        f"{counted} cannot be downloaded, and --data-dir does not name the folder: {', '.join(names)}",
        *(f"- {dataset} (for {task_name}): {how}" for (dataset, how), task_name in missing.items()),
        f"Name their folders with --data-dir {names[0]}=PATH. The task then runs only on datasets with a named folder.",
    ]
    if others := dict.fromkeys(task_run.dataset for task_run in task_runs if task_run.dataset not in names):
        lines.append(f"To run only on the other datasets: {' '.join(f'--dataset {name}' for name in others)}")
    lines.append("To try things out, use --mini: it runs on synthetic demo data.")
    raise UsageError("\n".join(lines))
