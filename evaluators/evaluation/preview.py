"""What a task looks like before anything is run: its prompt on an example, and how its data are got."""

from typing import Any

from eyechart.datasets_scripts.loading import by_hand
from eyechart.evaluators.protocols.protocol import Protocol
from eyechart.evaluators.requests.types import IMAGE, Prompt
from eyechart.evaluators.tasks.task import Task


class _ExampleRow(dict[str, Any]):
    """A row in which a column that is not there shows its name."""

    def __missing__(self, column: str) -> str:
        return f"<{column}>"

    def __contains__(self, column: object) -> bool:
        return True


def example_prompt(task: Task, prompt: str) -> str:
    """A prompt of a task, filled in with an example: images as "<image>", the prefilled reply behind a mark.

    Args:
        task: The task.
        prompt: Name of one of its prompts.
    """
    text = rendered(task.protocol.prompts[prompt](_example_row(task.protocol)))
    prefill = getattr(task.protocol, "prefill", "")
    return f"{text}\n[reply begins] {prefill}" if prefill else text


def rendered(prompt: Prompt) -> str:
    """A prompt as text.

    Examples:
        >>> rendered(("Which? ", IMAGE))
        'Which? <image>'
    """
    return "".join("<image>" if part is IMAGE else str(part) for part in prompt)


def how_to_get(task: Task, dataset: str) -> str:
    """How the data of a task are got: downloaded on first use, by hand (and from where), or a path of one's own."""
    if task.data.path is not None:
        return task.data.path
    return by_hand(dataset, task.data.config) or "downloaded when it is first used"


def _example_row(protocol: Protocol) -> _ExampleRow:
    count = 2 if protocol.name == "paired_comparison" else 1
    return _ExampleRow(
        id="1",
        question="How is the lighting of this picture?",
        options=["Bright", "Medium", "Dark"],
        images=["image"] * count,
        image="image",
    )
