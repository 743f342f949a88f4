"""`eyechart tasks`: list all tasks, or describe one."""

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from eyechart.evaluators.commands.arguments import complete_task
from eyechart.evaluators.runs.console import cell, console, print_line, print_table
from eyechart.metrics.score_spec import Unit
from eyechart.metrics.scores import DIMENSIONS, OWN_RANGE, specs_of

if TYPE_CHECKING:
    from eyechart.evaluators.requests.types import Row
    from eyechart.evaluators.tasks.task import Task


_NAME_HELP = "Task or task file to describe in full; or several to list, such as q_bench (default: all tasks)."


def tasks(
    name: Annotated[
        str | None, typer.Argument(metavar="TASK|FILE", autocompletion=complete_task, help=_NAME_HELP)
    ] = None,
) -> None:
    """List all tasks, or describe one: its prompts, data, settings and scores."""
    from eyechart.evaluators.tasks import MORE, find_tasks

    listed = find_tasks(name or "all")
    if len(listed) == 1:
        _print_task(listed[0])
        return
    _print_table("task", listed)
    if name is None:
        console().print()
        _print_table("task, only run by name", find_tasks(MORE))


def _print_table(head: str, listed: "Sequence[Task]") -> None:
    rows = []
    for task in listed:
        data, splits = task.data, task.data.splits or filter(None, [task.data.split])
        about = f"{data.path or ', '.join(data.datasets)} ({', '.join(splits)}); {task.metric}"
        rows.append((task.name, f"{task.description}\n{about}"))
    # All but the name is in one column, which can be folded to any width.
    print_table((head, "description; datasets (splits); metric"), rows)


def _print_task(task: "Task") -> None:
    from eyechart.datasets_scripts.catalog import DATASETS
    from eyechart.datasets_scripts.common.errors import DataError
    from eyechart.datasets_scripts.loading import load_builder
    from eyechart.evaluators.protocols.settings import list_settings

    output, data = console(), task.data
    output.print(f"[bold]{cell(task.name)}[/bold]  {cell(task.description)}")
    for line in filter(None, (task.paper, task.note)):
        print_line(output, line)
    try:
        requests = example_requests(task)
    except DataError as error:
        requests = {"unknown until the data are available": str(error)}
    for setting, text in requests.items():
        output.print(f"\n[bold]what the model sees[/bold], {cell(setting)}", highlight=False)
        print_line(output, text)
    output.print("\n[bold]data[/bold]")
    for dataset in data.default_datasets:
        source = data.path
        if source is None:
            builder, size = load_builder(dataset, data.config), DATASETS[dataset].download_gb
            terms = f"{f'{size:g} GB; ' if size else ''}licence: {builder.info.license}"
            source = builder.by_hand() or f"downloaded on first use ({terms})"
        print_line(output, f"{dataset}: {source}")
    if others := [name for name in data.datasets if name not in data.default_datasets]:
        print_line(output, f"also runs on: {', '.join(others)}")
    config = f"configuration: {data.config}; " if data.config else ""
    print_line(output, f"{config}splits: {', '.join(data.splits) or data.split or 'the only split, or else test'}")
    output.print("\n[bold]settings[/bold], to change with --set NAME=VALUE")
    settings = [
        (setting.name, setting.type, "" if setting.default is None else str(setting.default), setting.meaning)
        for setting in list_settings(task.bound())
    ]
    print_table(("setting", "values", "default", "meaning"), settings)
    output.print(f"\n[bold]scores[/bold] of {task.metric} (* headline score)")
    print_table(("score", "label", "unit", "range", "best"), _scores(task))
    output.print("\n[bold]code[/bold]")
    prompt, protocol = task.protocol.prompts[task.protocol.prompt], type(task.protocol)
    # A prompt from a template has no code.
    if "<locals>" not in prompt.__qualname__:
        print_line(output, f"prompt: {prompt.__module__}.{prompt.__qualname__}")
    print_line(output, f"protocol: {protocol.__module__}.{protocol.__name__}")
    metric = f"metric: eyechart.metrics.{task.metric}" if task.score is None else f"score: {task.score.__qualname__}"
    print_line(output, metric)


def example_requests(task: "Task") -> dict[str, str]:
    """Every prompt of a task as a model sees it, once, by the setting that selects it."""
    from eyechart.evaluators.protocols.settings import variants

    row, protocol = first_row(task), task.protocol
    shown: dict[str, str] = {}
    known: set[str] = set()
    for (name, value), variant in ({("prompt", protocol.prompt): protocol} | variants(protocol)).items():
        prompts = [request.rendered() for request in variant.requests(row)]
        new = [prompt for prompt in prompts if prompt not in known]
        if new:
            setting = f"{name}={str(value).lower() if isinstance(value, bool) else value}"
            shown[f"{setting} ({variant.full_prompt_id})"] = new[0]
            known.update(prompts)
    return shown


def first_row(task: "Task") -> "Row":
    """The first row of your own data for your own task, otherwise of the synthetic demo data."""
    from eyechart.evaluators.evaluation.data import DataRequest, load_data, undecoded_rows, without_progress_bars

    with without_progress_bars():
        loaded = load_data(task, DataRequest(is_mini=task.data.path is None))
    (row,) = undecoded_rows(loaded.dataset, limit=1)
    return row


def _scores(task: "Task") -> Iterator[tuple[str, ...]]:
    """Key, label, unit, range and best end of each score."""
    from eyechart.evaluators.tasks import headline_of
    from eyechart.metrics.scoring.judging.descriptions import DIMENSIONS as DIMENSIONS_OF

    template = getattr(task.protocol, "template", None)
    others = set(DIMENSIONS).difference(DIMENSIONS_OF[template]) if template else set()
    for spec in specs_of(task.metric):
        if spec.unit is Unit.COUNT or spec.key.partition(".")[0] in others:
            continue
        low, high = spec.limits({OWN_RANGE: task.score_range})
        values = f"{low:g} or more" if math.isinf(high) else f"{low:g} to {high:g}"
        best = {True: "high", False: "low", None: ""}[spec.higher_is_better]
        mark = " *" if spec.key == headline_of(task).key else ""
        yield f"{spec.key}{mark}", spec.label, spec.unit.value, values, best
