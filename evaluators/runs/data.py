"""Checks of the data of all tasks before a model is loaded."""

import os
import shutil
from collections.abc import Sequence
from dataclasses import replace

from eyechart.datasets_scripts.catalog import find_dataset
from eyechart.datasets_scripts.common.errors import DataError, EyechartError, UsageError
from eyechart.datasets_scripts.loading import by_hand, load_builder
from eyechart.datasets_scripts.own_data.sources import check_file, check_image_folder
from eyechart.evaluators.evaluation.data import load_data, without_progress_bars
from eyechart.evaluators.evaluation.loop import check_first_row
from eyechart.evaluators.runs.plan import TaskRun

_UNPACKED = 2
"""A download and what is unpacked from it need about this many times the space of the download."""


def check_inputs(plan: Sequence[TaskRun]) -> None:
    """Refuse a plan whose data cannot be used; one error lists all problems.

    Raises UsageError if all are wrong names or settings, otherwise DataError. What this prepares is cached for the run.
    No image is decoded; of a release that is not downloaded yet, only the disk space is checked.
    """
    tasks: dict[str, list[str]] = {}
    is_usage = True
    to_download: dict[str, float] = {}
    with without_progress_bars():
        for planned in plan:
            try:
                if planned.is_official:
                    if size := download_gb(planned):
                        to_download[planned.dataset] = size
                elif not planned.data.is_mini:
                    loaded = load_data(planned.task, planned.data)
                    protocol = replace(planned.options.protocol(planned.task), skip_bad=planned.options.skip_bad)
                    check_first_row(planned.task, protocol, loaded, needs_images=planned.data.images == "load")
            except EyechartError as error:
                is_usage &= isinstance(error, UsageError)
                tasks.setdefault(error.explain(), []).append(f"{planned.task.name} on {planned.dataset}")
    lines = [f"{', '.join(names)}: {text}" for text, names in tasks.items()]
    if full := _why_no_room(to_download):
        is_usage = False
        lines.append(full)
    if len(lines) > 1:
        lines = [f"{len(lines)} problems with the data; nothing was run:", *(f"- {line}" for line in lines)]
    if lines:
        raise (UsageError if is_usage else DataError)("\n".join(lines))


def download_gb(planned: TaskRun) -> float:
    """Gigabytes to download; 0 if the data were downloaded before, need no download, or their size is unknown."""
    request = planned.data
    size = find_dataset(planned.dataset).download_gb if planned.is_official and request.images == "load" else 0
    if not size:
        return 0
    builder = load_builder(
        planned.dataset,
        planned.task.data.config,
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
    needed = _UNPACKED * sum(to_download.values())
    if needed and needed > (free := shutil.disk_usage(folder).free / 1e9):
        return (
            f"the download of {', '.join(to_download)} needs about {needed:.1f} GB of disk space with the unpacked "
            f"images, but {folder} has {free:.1f} GB; free disk space, or set HF_HOME to a folder on a larger disk"
        )
    return ""


def check_mini(plan: Sequence[TaskRun]) -> None:
    """Refuse `--mini` if it has no effect, because all data have a folder or are the user's own."""
    if not any(planned.data.is_mini for planned in plan):
        names = ", ".join(dict.fromkeys(planned.dataset for planned in plan))
        raise UsageError(f"--mini has no effect on {names}: --data-dir names a folder, or the data are your own")


def check_data(plan: Sequence[TaskRun]) -> None:
    """Refuse a plan whose data are missing: own files, or datasets that cannot be downloaded, all listed at once."""
    missing: dict[tuple[str, str], str] = {}
    for planned in plan:
        task, request = planned.task, planned.data
        if task.data.path is not None:
            check_file(str(request.data_dir or task.data.path))
            check_image_folder(task.data.images if request.images == "load" else None)
        elif planned.is_official:
            how = by_hand(planned.dataset, task.data.config, options=request.options, images=request.images)
            if how:
                missing.setdefault((planned.dataset, how), task.name)
    if not missing:
        return
    names = list(dict.fromkeys(dataset for dataset, _ in missing))
    counted = f"{len(names)} dataset{'s' if len(names) > 1 else ''}"
    lines = [
        f"{counted} cannot be downloaded, and --data-dir does not name the folder: {', '.join(names)}",
        *(f"- {dataset} (for {task_name}): {how}" for (dataset, how), task_name in missing.items()),
        f"Name their folders with --data-dir {names[0]}=PATH. The task then runs only on datasets with a named folder.",
    ]
    if others := dict.fromkeys(planned.dataset for planned in plan if planned.dataset not in names):
        lines.append(f"To run only on the other datasets: {' '.join(f'--dataset {name}' for name in others)}")
    lines.append("To try things out, use --mini: it runs on synthetic demo data.")
    raise UsageError("\n".join(lines))
