"""One answer of a predictions file, whatever tool wrote it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from eyechart.datasets_scripts.common.choice.rotations import STRIDE

MAIN = "main"


@dataclass(frozen=True)
class Prediction:
    """One row of a predictions file."""

    names: tuple[str, ...]
    """What the item may be called in the data, the tool's own id first: all passes over an item have the same one."""
    row: int = 0
    """Where it stands in the file: the number of its line or row."""
    pass_name: str = MAIN
    """Which pass over the item: "main", "rotation:1", "forced", "reversed"."""
    text: str | None = None
    """The answer; "" where the model gave none. None where the file holds something else."""
    logits: Mapping[str, float] | None = None
    """Next-token logit of each word."""
    score: float | None = None
    """A quality score, as the file has it."""
    options: tuple[str, ...] | None = None
    """The options as they were shown, "" for one that the file lacks; None where it has none, which means the
    release's order."""
    question: str = ""
    """The question, where the file has it."""
    place: int | None = None
    """The tool's number of the item, which grows as the tool's data do; None where it has none."""
    reasoning: str | None = None
    """The model's reasoning, where the file has it in a column of its own."""
    finish_reason: str | None = None
    """How the text ended, where the file says so."""
    problem: str = ""
    """Why the answer cannot be used; "" if it can."""
    failure: str = ""
    """What the tool noted where it had no answer at all; "" if it had one."""


def base_and_pass(index: int, round_number: int = 0, group: int | None = None) -> tuple[int, str]:
    """The question's number and the name of the pass over it.

    Args:
        index: Index of a row, which counts a million more for each pass (see `common.rotations`).
        round_number: Number of the pass, where the tool gives it in addition to the index.
        group: The row's `g_index`, which then names the question.

    Raises:
        ValueError: Both give a pass, or the index is not whole millions behind `g_index`.

    Examples:
        >>> base_and_pass(2_000_241), base_and_pass(1_000_241, group=241)
        ((241, 'rotation:2'), (241, 'rotation:1'))
    """
    rotation, rest = divmod(index if group is None else index - group, STRIDE)
    if group is not None and (rest or rotation < 0):
        raise ValueError(f"index {index} is no pass of the question of g_index {group}")
    if rotation and round_number:
        raise ValueError(f"index {index} is that of a rotation and there is another one in it, number {round_number}")
    rotation = rotation or round_number
    return rest if group is None else group, f"rotation:{rotation}" if rotation else MAIN


def without_padding(options: Sequence[str], padding: Collection[str]) -> tuple[str, ...] | None:
    """The options up to the last that is there; None where none is.

    Args:
        options: Texts.
        padding: Texts that stand for no option.

    Examples:
        >>> without_padding(["Red", "", "Blue", "nan"], ["", "nan"])
        ('Red', '', 'Blue')
    """
    kept = [option.strip() for option in options]
    while kept and kept[-1] in padding:
        kept.pop()
    return tuple(kept) or None
