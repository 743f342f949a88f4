"""When a run makes a submission: on a benchmark's own data, if all of its answers are private."""

from collections.abc import Sequence

from eyechart.evaluators.requests.types import Row
from eyechart.evaluators.tasks.task import Task


def private_submission(task: Task, subset: str, rows: Sequence[Row], replies: Sequence[str]) -> dict[str, bytes]:
    """The benchmark's own files of answers.

    Args:
        task: The task that was run.
        subset: What it was run on.
        rows: The rows that were answered, none of them with a public answer.
        replies: The reply to each; letters stand for the rows' order of options.

    Returns:
        Name to contents; empty for own data, and where the benchmark takes no answers.
    """
    if task.submission is None or subset not in task.subsets:
        return {}
    return dict(task.submission(rows, replies))
