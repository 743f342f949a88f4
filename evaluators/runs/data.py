"""Check that the data of a plan are available, before anything is downloaded or loaded."""

from collections.abc import Sequence

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.datasets_scripts.loading import by_hand
from eyechart.datasets_scripts.own_data.sources import check_file
from eyechart.evaluators.runs.plan import TaskRun


def check_mini(plan: Sequence[TaskRun]) -> None:
    """Refuse `--mini` if it has no effect, because all data have a folder or are the user's own.

    Raises:
        UsageError: No task runs on synthetic demo data.
    """
    if plan and not any(planned.is_mini for planned in plan):
        names = ", ".join(dict.fromkeys(planned.dataset for planned in plan))
        if all(planned.task.data.path is not None for planned in plan):
            raise UsageError(f"--mini has no effect, as {names} has no synthetic demo data; leave it out")
        raise UsageError(f"--mini has no effect, as --data-dir names a folder for {names}; leave out one")


def check_data(plan: Sequence[TaskRun], images: str = "load") -> None:
    """Refuse a plan whose data are missing: datasets that cannot be downloaded, all listed at once, and own files.

    Args:
        plan: What to run.
        images: "skip" if only annotations are needed.

    Raises:
        UsageError: Datasets are missing; the message says how to get each, and how to run without them.
        MissingFileError: A file of the user's own data is missing.
    """
    for planned in plan:
        if planned.task.data.path is not None:
            check_file(str(planned.data_dir or planned.task.data.path))
    to_get: dict[tuple[str, str], str] = {}
    others: dict[str, None] = {}
    for planned in plan:
        if planned.is_mini or planned.data_dir is not None or planned.task.data.path is not None:
            others[planned.dataset] = None
            continue
        how = by_hand(planned.dataset, planned.task.data.config, options=planned.data_options, images=images)
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
