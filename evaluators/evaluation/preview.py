"""A preview of a task: its prompts, filled in with the first row, and how to get its data."""

from collections.abc import Iterator, Mapping
from typing import Any

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.datasets_scripts.loading import by_hand
from eyechart.evaluators.evaluation.data import DataRequest, load_data, undecoded_rows, without_progress_bars
from eyechart.evaluators.protocols.protocol import Protocol
from eyechart.evaluators.protocols.settings import with_values
from eyechart.evaluators.requests.types import Row
from eyechart.evaluators.tasks.task import Task


def example_requests(task: Task) -> dict[str, str]:
    """Every prompt of a task as a model sees it, once, by the setting that selects it."""
    row = first_row(task)
    shown: dict[str, str] = {}
    for setting, protocol in _ways_to_ask(task):
        requests = protocol.requests(row)
        # The open question comes after the passes.
        prompt = (requests[-1] if setting.startswith("grade_open_answers") else requests[0]).rendered()
        if prompt not in shown.values():
            shown[f"{setting} ({protocol.full_prompt_id})"] = prompt
    return shown


def first_row(task: Task) -> Row:
    """The first row of your own data for your own task, otherwise of the synthetic demo data."""
    with without_progress_bars():
        loaded = load_data(task, DataRequest(is_mini=task.data.path is None))
    (row,) = undecoded_rows(loaded.dataset, limit=1)
    return row


def how_to_get(task: Task, dataset: str) -> str:
    """How to get the data of a task: downloaded on first use, by hand (and from where), or the path of your own."""
    if task.data.path is not None:
        return task.data.path
    return by_hand(dataset, task.data.config) or "downloaded on first use"


def _ways_to_ask(task: Task) -> Iterator[tuple[str, Protocol]]:
    """The protocol under each setting that changes the prompt, if the task has a prompt for it."""
    ways: list[Mapping[str, Any]] = [{"prompt": name} for name in task.protocol.prompts]
    for given in (*ways, *task.protocol.other_prompts):
        try:
            protocol = with_values(task.protocol, given, task.name)
        except UsageError:
            continue
        ((name, value),) = given.items()
        yield f"{name}={str(value).lower() if isinstance(value, bool) else value}", protocol
