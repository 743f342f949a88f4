"""One prediction of a file, whatever tool wrote it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from eyechart.datasets_scripts.common.choice.rotations import STRIDE

MAIN = "main"


@dataclass(frozen=True)
class Prediction:
    """One row of a predictions file."""

    names: tuple[str, ...]
    """Possible names of the item in the data; first the tool's own id, which all passes over an item share."""
    row: int = 0
    """Number of the row or line in the file."""
    pass_name: str = MAIN
    """Name of the pass over the item: "main", "rotation:1", "forced", "reversed"."""
    text: str | None = None
    """The reply; "" if it is empty. None if the file has logits or scores."""
    logits: Mapping[str, float] | None = None
    """Next-token logit of each word."""
    score: float | None = None
    """A quality score, unchanged from the file."""
    options: tuple[str, ...] | None = None
    """The options as they were shown, "" for an option that is empty in the file. None if the file has no options; they
    are then in the release's order."""
    question: str = ""
    """The question, if the file has it."""
    place: int | None = None
    """The tool's number of the item, in the order of the tool's data; None if the tool has no numbers."""
    reasoning: str | None = None
    """The model's reasoning, if the file has it in a separate column."""
    finish_reason: str | None = None
    """How the reply ended, if the file has it."""
    problem: str = ""
    """Why the reply cannot be used; "" if it can."""
    failure: str = ""
    """The tool's note that it got no reply; "" if it got one."""


def base_and_pass(index: int, round_number: int = 0, group: int | None = None) -> tuple[int, str]:
    """The number of the question and the name of the pass.

    Args:
        index: Index of a row; it increases by one million for each pass (see `common.rotations`).
        round_number: Number of the pass, if the tool gives it in addition to the index.
        group: The row's `g_index`, if any: the number of the question.

    Raises:
        ValueError: Both `index` and `round_number` give a pass, or `index` does not differ from `g_index` by a multiple
            of one million.

    Examples:
        >>> base_and_pass(2_000_241), base_and_pass(1_000_241, group=241)
        ((241, 'rotation:2'), (241, 'rotation:1'))
    """
    rotation, rest = divmod(index if group is None else index - group, STRIDE)
    if group is not None and (rest or rotation < 0):
        raise ValueError(f"index {index} is not a pass of the question with g_index {group}")
    if rotation and round_number:
        raise ValueError(f"index {index} means pass {rotation}, but the row also has round_id {round_number}")
    rotation = rotation or round_number
    return rest if group is None else group, f"rotation:{rotation}" if rotation else MAIN


def without_padding(options: Sequence[str], padding: Collection[str]) -> tuple[str, ...] | None:
    """The options without padding at the end; None if there are no options.

    Args:
        options: Texts.
        padding: Texts that mean that there is no option.

    Examples:
        >>> without_padding(["Red", "", "Blue", "nan"], ["", "nan"])
        ('Red', '', 'Blue')
    """
    kept = [option.strip() for option in options]
    while kept and kept[-1] in padding:
        kept.pop()
    return tuple(kept) or None
