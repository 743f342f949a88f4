"""The scores of a task that model cards and boards show, headline first."""

from eyechart.evaluators.tasks import headline_of
from eyechart.evaluators.tasks.task import Task
from eyechart.metrics.score_spec import ScoreSpec
from eyechart.metrics.scores import specs_of


def table_scores(task: Task) -> list[ScoreSpec]:
    """The scores of the printed table that the task's metric returns, the headline first."""
    first = headline_of(task)
    return [first, *(one for one in specs_of(task.metric) if one.in_table and one != first)]
