"""The passes of a question under CircularEval (MMBench, Sec. 3.1): the release's own, or rotations where it has none.

Pass r of question q is the release's row with index q + r * 1,000,000. Where rows have a `g_index`, that names the
question instead. Most official passes turn the options one place to the right from pass to pass. Some do not: 53
questions of MMBench's dev files have three passes of four options, the last of which never moves. So passes are taken
as the release has them.
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
    """The row's `g_index`; None where the release has none."""

    @property
    def question_id(self) -> int:
        """What the passes of one question share."""
        return self.index % STRIDE if self.group is None else self.group


def rotate(options: Sequence[str], places: int) -> tuple[str, ...]:
    """Return the options turned to the right, as official passes turn them.

    Examples:
        >>> rotate(["red", "green", "blue"], 1)
        ('blue', 'red', 'green')
    """
    start = -places % len(options)
    return (*options[start:], *options[:start])


def rotated_letter(letter: str, places: int, n_options: int) -> str:
    """Return the letter that an option has after `rotate`; "" for "", a private answer.

    Examples:
        >>> rotated_letter("C", 1, n_options=3)
        'A'
    """
    return ascii_uppercase[(ascii_uppercase.index(letter) + places) % n_options] if letter else ""


def numbered_passes(passes: Iterable[Pass]) -> dict[int, dict[int, Pass]]:
    """Group a release's rows by question and number the passes of each.

    Args:
        passes: All rows, of different indices.

    Returns:
        By question, in order of first appearance, its passes by number, ascending. 0 is the first pass. Pass r is r
        strides behind it; where `g_index` names a question and a stride does not fit, passes count by their order.

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
    """Whether a question's passes are there from the first on: one for each option, but for a last one that stays.

    Args:
        passes: By number, as `numbered_passes` gives them.
    """
    shown = [item.options for item in passes.values()]
    count = len(shown[0])
    stays = len(shown) > 1 and len({options[-1:] for options in shown}) == 1 and shown[0].count(shown[0][-1]) == 1
    return list(passes) == list(range(len(passes))) and len(passes) >= count - stays
