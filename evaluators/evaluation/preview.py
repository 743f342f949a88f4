"""A preview of a task: its prompts, filled in with the first row, and how to get its data."""

from eyechart.datasets_scripts.loading import by_hand
from eyechart.evaluators.evaluation.data import DataRequest, load_data, undecoded_rows, without_progress_bars
from eyechart.evaluators.protocols.settings import variants
from eyechart.evaluators.requests.types import Row
from eyechart.evaluators.tasks.task import Task


def example_requests(task: Task) -> dict[str, str]:
    """Every prompt of a task as a model sees it, once, by the setting that selects it."""
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
