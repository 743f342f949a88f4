"""Whether the data of a plan can be had, known before anything is downloaded or loaded."""

from collections.abc import Sequence

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.datasets_scripts.loading import by_hand
from eyechart.datasets_scripts.own_data.sources import check_file
from eyechart.evaluators.runs.plan import TaskRun


def check_mini(plan: Sequence[TaskRun]) -> None:
    """Refuse `--mini` where all that is run has a folder or is data of one's own, so that it would have no effect.

    Raises:
        UsageError: Nothing runs on a mini release.
    """
    if plan and not any(planned.is_mini for planned in plan):
        names = ", ".join(dict.fromkeys(planned.dataset for planned in plan))
        if all(planned.task.data.path is not None for planned in plan):
            raise UsageError(f"--mini has no effect, as there are no synthetic data of {names}; leave it out")
        raise UsageError(
            f"--mini has no effect, as --data-dir names a folder of all that is run, {names}; leave out one"
        )


def check_data(plan: Sequence[TaskRun], images: str = "load") -> None:
    """Refuse a plan without its data: those that cannot be downloaded, all of them named at once, and own files.

    Args:
        plan: What to run.
        images: "skip" where annotations alone are needed.

    Raises:
        UsageError: There are such data sets; the message says what to get for each, and how to run without them.
        MissingFileError: A file of one's own is not there.
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
        f"Name their folders: --data-dir {first}=PATH; the task then runs only on data sets whose folder is named."
    )
    missing = {dataset for dataset, _ in to_get}
    if chosen := " ".join(f"--dataset {name}" for name in others if name not in missing):
        error.add_note(f"To run only on the others: {chosen}")
    error.add_note("--mini runs on synthetic data, to try things out.")
    raise error


def _cannot(first: str, more: Sequence[str]) -> str:
    if not more:
        return f"the data set {first} cannot be downloaded, and no folder of it is named:"
    names = ", ".join([first, *more])
    return f"{1 + len(more)} data sets cannot be downloaded, and no folders of them are named: {names}"
