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


def example_prompts(task: Task) -> dict[str, str]:
    """All prompts of a task by name, filled in with an example: images as "<image>", the prefilled reply marked."""
    protocol, row = task.protocol, _example_row(task.protocol)
    found = {}
    for name, prompt in protocol.prompts.items():
        prefill = getattr(protocol, "prefill", "")
        found[name] = rendered(prompt(row)) + (f"\n[reply begins] {prefill}" if prefill else "")
    for name in ("blind_prompt", "open_prompt"):
        if (prompt := getattr(protocol, name, None)) is not None:
            found[name.removesuffix("_prompt")] = rendered(prompt(row))
    return found


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
