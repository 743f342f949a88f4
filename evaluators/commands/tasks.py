"""`eyechart tasks`: what there is to run."""

from eyechart.evaluators.tasks import TASKS


def list_tasks() -> None:
    """List the tasks with their data sets and metrics."""
    from rich.table import Table

    from eyechart.evaluators.runs.console import console

    table = Table()
    for column in ("task", "what it measures", "subsets", "splits", "metric"):
        table.add_column(column, no_wrap=column == "task")
    for task in TASKS:
        table.add_row(task.name, task.description, ", ".join(task.subsets), ", ".join(task.splits), task.metric)
    console().print(table)
