"""The passes of a question under CircularEval (MMBench, Sec. 3.1): the release's own, or rotations if it has none.

Pass r of question q is the release's row with index q + r * 1,000,000. If rows have a `g_index`, it is the question
instead. Most official passes rotate the options by one position to the right from pass to pass. Some do not: 53
questions of MMBench's dev files have three passes of four options, the last of which never moves. So the release's
passes are used unchanged.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase

STRIDE = 1_000_000
"""Distance between the indices of one pass and the next."""


@dataclass(frozen=True)
class Pass:
    """One row of a release: a question with its options in one order."""

    index: int
    question: str
    hint: str
    options: tuple[str, ...]
    answer: str
    """Letter, or "" if private."""
    group: int | None = None
    """The row's `g_index`; None if the release has none."""

    @property
    def question_id(self) -> int:
        """The number that the passes of one question share."""
        return self.index % STRIDE if self.group is None else self.group


def rotate(options: Sequence[str], places: int) -> tuple[str, ...]:
    """Return the options rotated to the right, as in official passes.

    Examples:
        >>> rotate(["red", "green", "blue"], 1)
        ('blue', 'red', 'green')
    """
    start = -places % len(options)
    return (*options[start:], *options[:start])


def rotated_letter(letter: str, places: int, n_options: int) -> str:
    """Return an option's letter after `rotate`; "" stays "" (a private answer).

    Examples:
        >>> rotated_letter("C", 1, n_options=3)
        'A'
    """
    return ascii_uppercase[(ascii_uppercase.index(letter) + places) % n_options] if letter else ""


def numbered_passes(passes: Iterable[Pass]) -> dict[int, dict[int, Pass]]:
    """Group a release's rows by question and number the passes of each.

    Args:
        passes: All rows, with unique indices.

    Returns:
        By question, in order of first appearance, its passes by ascending number. 0 is the first pass. The index of
        pass r is r strides higher; if a question has a `g_index` and its indices do not fit, passes are numbered in
        order.

    Examples:
        >>> rows = [Pass(i, "Which?", "", ("red", "blue"), "A") for i in (7, 2_000_007, 1_000_007)]
        >>> {question: list(passes) for question, passes in numbered_passes(rows).items()}
        {7: [0, 1, 2]}
    """
    found: dict[int, list[Pass]] = {}
    for item in passes:
        found.setdefault(item.question_id, []).append(item)
    return {question: _numbered(question, rows) for question, rows in found.items()}


def _numbered(question: int, passes: Sequence[Pass]) -> dict[int, Pass]:
    ordered = sorted(passes, key=lambda item: item.index)
    distances = [item.index - question for item in ordered]
    if all(distance >= 0 and distance % STRIDE == 0 for distance in distances):
        return {distance // STRIDE: item for distance, item in zip(distances, ordered, strict=True)}
    return dict(enumerate(ordered))


def are_whole(passes: Mapping[int, Pass]) -> bool:
    """Whether a question has all passes from the first on: one per option, or one fewer if the last option is fixed.

    Args:
        passes: By number, as `numbered_passes` returns them.
    """
    shown = [item.options for item in passes.values()]
    count = len(shown[0])
    stays = len(shown) > 1 and len({options[-1:] for options in shown}) == 1 and shown[0].count(shown[0][-1]) == 1
    return list(passes) == list(range(len(passes))) and len(passes) >= count - stays
