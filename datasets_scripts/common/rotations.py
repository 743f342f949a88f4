"""Rows of a question in several rotations of its options, as MMBench's CircularEval needs them (Sec. 3.1).

Rotation r of question q is the row with index q + r * 1,000,000: the same question with its options r places further,
all in one direction. Loaders yield the unrotated rows, from which every rotation can be made, and check the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_uppercase

STRIDE = 1_000_000
"""Distance between the indices of one rotation and the next."""


@dataclass(frozen=True)
class Pass:
    """A question in one rotation."""

    index: int
    question: str
    hint: str
    options: tuple[str, ...]
    answer: str
    """Letter, or "" if private."""

    @property
    def base(self) -> int:
        """Index of the unrotated row."""
        return self.index % STRIDE

    @property
    def rotation(self) -> int:
        """Number of places, 0 for the unrotated row."""
        return self.index // STRIDE


def rotate(options: Sequence[str], places: int) -> tuple[str, ...]:
    """Return the options with the one at `places` first; negative places turn the other way.

    Examples:
        >>> rotate(["red", "green", "blue"], 1)
        ('green', 'blue', 'red')
        >>> rotate(["red", "green", "blue"], -1)
        ('blue', 'red', 'green')
    """
    start = places % len(options)
    return (*options[start:], *options[:start])


def pass_problems(passes: Sequence[Pass]) -> list[str]:
    """Say for every pass what is wrong with it in view of the others; "" if nothing is.

    The direction that most passes show holds for all; two options turn into the same either way.

    Examples:
        >>> first = Pass(7, "Which?", "", ("red", "blue"), "A")
        >>> pass_problems([first, Pass(1_000_007, "Which?", "", ("blue", "red"), "A")])
        ['', "rotation 1 of question 7 has answer 'A', expected 'B'"]
    """
    unrotated = _unrotated(passes)
    direction = shown_direction(passes) or 1
    seen: set[int] = set()
    problems = []
    for item in passes:
        if item.index in seen:
            problems.append(f"index {item.index} appears more than once")
        elif item.rotation == 0:
            problems.append("")
        elif item.base not in unrotated:
            problems.append(f"rotation {item.rotation} of question {item.base}, which no row holds unrotated")
        else:
            problems.append(_rotation_problem(item, unrotated[item.base], direction))
        seen.add(item.index)
    return problems


def shown_direction(passes: Sequence[Pass]) -> int:
    """Which way most passes turn their options: 1 is the way of `rotate`, -1 the other, 0 where none of them tells.

    Examples:
        >>> first = Pass(7, "Which?", "", ("red", "green", "blue"), "A")
        >>> shown_direction([first, Pass(1_000_007, "Which?", "", ("blue", "red", "green"), "B")])
        -1
    """
    unrotated = _unrotated(passes)
    shown = 0
    for item in passes:
        base = unrotated.get(item.base)
        if base is not None and base.options:
            shown += rotate(base.options, item.rotation) == item.options
            shown -= rotate(base.options, -item.rotation) == item.options
    return (shown > 0) - (shown < 0)


def _unrotated(passes: Sequence[Pass]) -> dict[int, Pass]:
    return {item.index: item for item in reversed(passes) if item.rotation == 0}


def _rotation_problem(item: Pass, base: Pass, direction: int) -> str:
    name = f"rotation {item.rotation} of question {item.base}"
    if item.rotation >= len(base.options):
        return f"{name}, which has {len(base.options)} options"
    for what, found, expected in (
        ("question", item.question, base.question),
        ("hint", item.hint, base.hint),
        ("options", list(item.options), list(rotate(base.options, direction * item.rotation))),
        ("answer", item.answer, _rotated_letter(base, direction * item.rotation)),
    ):
        if found != expected:
            return f"{name} has {what} {found!r}, expected {expected!r}"
    return ""


def _rotated_letter(base: Pass, places: int) -> str:
    letters = list(ascii_uppercase[: len(base.options)])
    # What is no letter of an option is private, or an error of the unrotated row.
    if base.answer not in letters:
        return base.answer
    return letters[(letters.index(base.answer) - places) % len(letters)]
