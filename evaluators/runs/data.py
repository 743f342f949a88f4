"""Load the data of a plan, and check the data of all its tasks before a model is loaded."""

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
    """Refuse a plan if the data of a task cannot be used; all problems are raised as one error.

    What this prepares is cached, so the run does not repeat the work; no image is decoded. Of a release that is not
    downloaded yet, only the disk space is checked. Synthetic demo data are not checked.

    Raises:
        UsageError: All problems are wrong names or settings.
        DataError: There are other problems: a missing folder or file, a missing column, a malformed row, a full disk.
    """
    found: dict[str, list[str]] = {}
    kinds: set[type[EyechartError]] = set()
    to_download: dict[str, float] = {}
    with without_progress_bars():
        for planned in plan:
            try:
                if planned.is_official:
                    size = download_gb(planned)
                    to_download |= {planned.dataset: size} if size else {}
                elif not planned.data.is_mini:
                    loaded = load_data(planned.task, planned.data)
                    protocol = replace(planned.protocol(), skip_bad=planned.options.skip_bad)
                    check_first_row(planned.task, protocol, loaded, needs_images=planned.data.images == "load")
            except EyechartError as error:
                kinds.add(UsageError if isinstance(error, UsageError) else DataError)
                found.setdefault(error.explain(), []).append(f"{planned.task.name} on {planned.dataset}")
    lines = [f"{', '.join(tasks)}: {text}" for text, tasks in found.items()]
    if full := _why_no_room(to_download):
        kinds.add(DataError)
        lines.append(full)
    if len(lines) > 1:
        lines = [f"{len(lines)} problems with the data; nothing was run:", *(f"- {line}" for line in lines)]
    if lines:
        raise (DataError if DataError in kinds else UsageError)("\n".join(lines))


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
    """Why the downloads do not fit on the disk; "" if they do, or if nothing is to be downloaded."""
    from datasets import config

    if not to_download:
        return ""
    folder = os.path.expanduser(config.HF_DATASETS_CACHE)
    free, needed = shutil.disk_usage(folder).free / 1e9, _UNPACKED * sum(to_download.values())
    if needed <= free:
        return ""
    return (
        f"the download of {', '.join(to_download)} needs about {needed:.1f} GB of disk space with the unpacked images, "
        f"but {folder} has {free:.1f} GB; free disk space, or set HF_HOME to a folder on a larger disk"
    )


def check_mini(plan: Sequence[TaskRun]) -> None:
    """Refuse `--mini` if it has no effect, because all data have a folder or are the user's own.

    Raises:
        UsageError: No task runs on synthetic demo data.
    """
    if plan and not any(planned.data.is_mini for planned in plan):
        names = ", ".join(dict.fromkeys(planned.dataset for planned in plan))
        if all(planned.task.data.path is not None for planned in plan):
            raise UsageError(f"--mini has no effect, as {names} has no synthetic demo data; leave it out")
        raise UsageError(f"--mini has no effect, as --data-dir names a folder for {names}; leave out one")


def check_data(plan: Sequence[TaskRun]) -> None:
    """Refuse a plan whose data are missing: datasets that cannot be downloaded, all listed at once, and own files.

    Raises:
        UsageError: Datasets are missing; the message says how to get each, and how to run without them.
        MissingFileError: A file of the user's own data, or the folder of their images, is missing.
    """
    for planned in plan:
        if planned.task.data.path is not None:
            check_file(str(planned.data.data_dir or planned.task.data.path))
            check_image_folder(planned.task.data.images if planned.data.images == "load" else None)
    to_get: dict[tuple[str, str], str] = {}
    others: dict[str, None] = {}
    for planned in plan:
        if not planned.is_official:
            others[planned.dataset] = None
            continue
        request = planned.data
        how = by_hand(planned.dataset, planned.task.data.config, options=request.options, images=request.images)
        if how:
            to_get.setdefault((planned.dataset, how), planned.task.name)
        else:
            others[planned.dataset] = None
    if not to_get:
        return
    first, *more = dict.fromkeys(dataset for dataset, _ in to_get)
    lines = [f"- {dataset} (for {task}): {how}" for (dataset, how), task in to_get.items()]
    error = UsageError("\n".join([_cannot(first, more), *lines]))
    error.add_note(
        f"Name their folders with --data-dir {first}=PATH. The task then runs only on datasets with a named folder."
    )
    missing = {dataset for dataset, _ in to_get}
    if chosen := " ".join(f"--dataset {name}" for name in others if name not in missing):
        error.add_note(f"To run only on the other datasets: {chosen}")
    error.add_note("To try things out, use --mini: it runs on synthetic demo data.")
    raise error


def _cannot(first: str, more: Sequence[str]) -> str:
    if not more:
        return f"the dataset {first} cannot be downloaded, and --data-dir does not name its folder:"
    names = ", ".join([first, *more])
    return f"{1 + len(more)} datasets cannot be downloaded, and --data-dir does not name their folders: {names}"
