"""`eyechart tasks`: list all tasks, or describe one."""

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eyechart.evaluators.commands.arguments import complete_task
from eyechart.evaluators.commands.command import Command
from eyechart.evaluators.runs.console import cell, checked, console, print_line
from eyechart.metrics.scores import OWN_RANGE

if TYPE_CHECKING:
    from rich.console import Console

    from eyechart.evaluators.tasks.task import Task


app = typer.Typer(add_completion=False)


@app.command(cls=Command)
def list_tasks(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="TASK|FILE",
            autocompletion=complete_task,
            help="Task or task file to describe in full; or several to list, such as q_bench (default: all tasks).",
        ),
    ] = None,
) -> None:
    """List all tasks, or describe one: its prompts, data, settings and scores."""
    from eyechart.evaluators.tasks import find_tasks

    output = console()

    def print_tasks() -> None:
        found = find_tasks(name or "all")
        if len(found) > 1:
            output.print(_table(("task", "description; datasets (splits); metric"), [_row(task) for task in found]))
        else:
            _print_task(found[0], output)

    checked(print_tasks)


def _row(task: "Task") -> tuple[str, ...]:
    """The name, and all else in one column, which can be folded to any width."""
    data = f"{', '.join(task.data.datasets)} ({', '.join(task.data.splits)}); {task.metric}"
    return task.name, f"{task.description}\n{data}"


def _print_task(task: "Task", output: "Console") -> None:

    from eyechart.datasets_scripts.common.errors import DataError
    from eyechart.evaluators.evaluation.preview import example_requests, how_to_get
    from eyechart.evaluators.protocols.settings import list_settings
    from eyechart.evaluators.tasks import headline_of
    from eyechart.metrics.score_spec import Unit
    from eyechart.metrics.scores import DIMENSIONS as ALL_DIMENSIONS
    from eyechart.metrics.scores import specs_of
    from eyechart.metrics.scoring.judging.descriptions import DIMENSIONS

    lines = [f"[bold]{cell(task.name)}[/bold]  {cell(task.description)}"]
    lines += [cell(line) for line in (task.paper, task.note) if line]
    output.print("\n".join(lines))
    try:
        requests = example_requests(task)
    except DataError as error:
        requests = {"unknown until the data are available": str(error)}
    for setting, text in requests.items():
        output.print(f"\n[bold]what the model sees[/bold], {cell(setting)}", highlight=False)
        print_line(output, text)
    output.print("\n[bold]data[/bold]")
    for dataset in task.data.default_datasets:
        print_line(output, f"{dataset}: {how_to_get(task, dataset)}")
    others = [name for name in task.data.datasets if name not in task.data.default_datasets]
    if others:
        print_line(output, f"also runs on: {', '.join(others)}")
    config = f"configuration: {task.data.config}; " if task.data.config else ""
    splits = ", ".join(task.data.splits) or task.data.split or "the only split, or else test"
    print_line(output, f"{config}splits: {splits}")
    rows: list[tuple[str, ...]] = [
        (one.name, one.type, _shown(one.default), one.meaning) for one in list_settings(task.bound())
    ]
    output.print("\n[bold]settings[/bold], to change with --set NAME=VALUE")
    output.print(_table(("setting", "values", "default", "meaning"), rows))
    output.print(f"\n[bold]scores[/bold] of {task.metric} (* headline score)")
    specs = [one for one in specs_of(task.metric) if one.unit is not Unit.COUNT]
    template = getattr(task.protocol, "template", None)
    other_dimensions = set(ALL_DIMENSIONS).difference(DIMENSIONS[template]) if template else set()
    specs = [one for one in specs if one.key.partition(".")[0] not in other_dimensions]
    chosen = headline_of(task)
    scores: list[tuple[str, ...]] = [
        (f"{one.key} *" if one.key == chosen.key else one.key, one.label, one.unit.value, _range(one, task), _best(one))
        for one in specs
    ]
    output.print(_table(("score", "label", "unit", "range", "best"), scores))
    output.print("\n[bold]code[/bold]")
    for line in _places(task):
        print_line(output, line)


def _places(task: "Task") -> list[str]:
    """Where the code of prompt, protocol and metric is; a prompt from a template has none."""
    prompt = task.protocol.prompts[task.protocol.prompt]
    named = f"{prompt.__module__}.{prompt.__qualname__}"
    protocol = type(task.protocol)
    return [
        *([] if "<locals>" in named else [f"prompt: {named}"]),
        f"protocol: {protocol.__module__}.{protocol.__name__}",
        f"metric: eyechart.metrics.{task.metric}" if task.score is None else f"score: {task.score.__qualname__}",
    ]


def _shown(value: Any) -> str:
    return "" if value is None else str(value)


def _range(spec: Any, task: "Task") -> str:
    low, high = spec.limits({OWN_RANGE: task.score_range})
    return f"{low:g} or more" if math.isinf(high) else f"{low:g} to {high:g}"


def _best(spec: Any) -> str:
    return {True: "high", False: "low", None: ""}[spec.higher_is_better]


def _table(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> Any:
    from rich.table import Table

    table = Table()
    for place, column in enumerate(columns):
        table.add_column(column, no_wrap=place == 0)
    for row in rows:
        table.add_row(*map(cell, row))
    return table
