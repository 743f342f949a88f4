"""The scores of a task that model cards and boards show, headline first."""

from eyechart.evaluators.results.results_file import TaskResult
from eyechart.evaluators.tasks import headline_of, known_task
from eyechart.evaluators.tasks.task import Task
from eyechart.metrics.score_spec import ScoreSpec
from eyechart.metrics.scores import specs_in, specs_of


def table_scores(task: Task) -> list[ScoreSpec]:
    """The scores of the printed table that the task's metric returns, the headline first."""
    first = headline_of(task)
    return [first, *(spec for spec in specs_of(task.metric) if spec.in_table and spec != first)]


def result_scores(result: TaskResult) -> list[ScoreSpec]:
    """The same for a result, whose task may be in a task file that is not at hand; empty if it has no headline."""
    if (task := known_task(result.task)) is not None:
        return table_scores(task)
    first = result.headline_spec()
    specs = specs_in(result.scores or {})
    return [] if first is None else [first, *(spec for spec in specs if spec.in_table and spec != first)]
