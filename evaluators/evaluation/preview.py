"""What a task looks like before anything is run: its prompts, filled in with a first row, and how its data are got."""

from collections.abc import Iterator, Mapping
from typing import Any

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.datasets_scripts.loading import by_hand
from eyechart.evaluators.evaluation.data import load_data, undecoded_rows, without_progress_bars
from eyechart.evaluators.protocols.protocol import Protocol
from eyechart.evaluators.protocols.settings import with_values
from eyechart.evaluators.requests.types import IMAGE, Request, Row
from eyechart.evaluators.tasks.task import Task


def example_requests(task: Task) -> dict[str, str]:
    """Every prompt of a task as a model sees it, by the setting that chooses it.

    The row is the first of the task's own data, or of the synthetic demo data. Requests with the same prompt, as the
    rotations of CircularEval, are shown once.

    Raises:
        DataError: Data of one's own cannot be read.
    """
    row = first_row(task)
    found: dict[str, str] = {}
    for setting, protocol in _ways_to_ask(task):
        requests = protocol.requests(row)
        # The open question comes after the passes.
        shown = rendered(requests[-1] if setting.startswith("grade_open_answers") else requests[0])
        if shown not in found.values():
            found[f"{setting} ({protocol.full_prompt_id})"] = shown
    return found


def first_row(task: Task) -> Row:
    """The first row of the task's own data; of the synthetic demo data where the task has none."""
    with without_progress_bars():
        loaded = load_data(task, is_mini=task.data.path is None)
    (row,) = undecoded_rows(loaded.dataset, limit=1)
    return row


def rendered(request: Request) -> str:
    r"""A request as text, with a line for each thing that follows its prompt.

    Examples:
        >>> rendered(Request("1", ("Which? ", IMAGE), (None,), prefill="It is", continuations=("A", "B")))
        'Which? <image>\n[reply begins with] It is\n[losses compared of] A | B'
    """
    lines = ["".join("<image>" if part is IMAGE else str(part) for part in request.prompt)]
    if request.prefill:
        lines.append(f"[reply begins with] {request.prefill}")
    if request.words:
        lines.append(f"[logits read of] {' | '.join((*request.words, *request.optional_words))}")
    if request.continuations:
        lines.append(f"[losses compared of] {' | '.join(request.continuations)}")
    return "\n".join(lines)


def how_to_get(task: Task, dataset: str) -> str:
    """How the data of a task are got: downloaded on first use, by hand (and from where), or a path of one's own."""
    if task.data.path is not None:
        return task.data.path
    return by_hand(dataset, task.data.config) or "downloaded when it is first used"


def _ways_to_ask(task: Task) -> Iterator[tuple[str, Protocol]]:
    """The protocol under each setting that changes what is asked, as far as the task has prompts for it."""
    ways: list[Mapping[str, Any]] = [{"prompt": name} for name in task.protocol.prompts]
    for given in (*ways, *task.protocol.other_prompts):
        try:
            protocol = with_values(task.protocol, given, task.name)
        except UsageError:
            continue
        ((name, value),) = given.items()
        yield f"{name}={str(value).lower() if isinstance(value, bool) else value}", protocol
