"""The passes of a question under CircularEval (MMBench, Sec. 3.1): the release's own, or one rotation for each option.

Pass r of question q is the release's row with index q + r * 1,000,000. Most official passes rotate the options by one
position to the right from pass to pass. Some do not: 53 questions of MMBench's dev files have three passes of four
options, the last of which never moves. So the release's passes are used unchanged.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

STRIDE = 1_000_000
"""Distance between the indices of one pass and the next."""
_ROTATION = "rotation:"


@dataclass(frozen=True)
class QuestionPass:
    """A question with its options in the order of one pass."""

    index: int
    """Its index in MMBench's files; -1 if the question has none."""
    rotation: int
    """The number of the pass, 0 for the first one."""
    question: str
    hint: str
    options: tuple[str, ...]
    answer: str
    """Letter of the correct option, "" if private."""

    @property
    def name(self) -> str:
        """Its name in requests and predictions: "main", "rotation:1", ..."""
        return f"{_ROTATION}{self.rotation}" if self.rotation else "main"


def passes_of(row: Mapping[str, Any]) -> list[QuestionPass]:
    """The passes of a question: the release's own if the row has them, else one rotation for each option.

    Examples:
        >>> row = {"question_id": "7", "question": "Which?", "options": ["red", "green", "blue"], "answer": "A"}
        >>> [(one.name, one.options, one.answer, one.index) for one in passes_of(row)][1:]
        [('rotation:1', ('blue', 'red', 'green'), 'B', 1000007), ('rotation:2', ('green', 'blue', 'red'), 'C', 2000007)]
    """
    if row.get("passes"):
        return [QuestionPass(**{**one, "options": tuple(one["options"])}) for one in row["passes"]]
    number, count = str(row.get("question_id", "")), len(row["options"])
    return [
        QuestionPass(
            index=int(number) + places * STRIDE if number.isdecimal() else -1,
            rotation=places,
            question=row["question"],
            hint=row.get("hint") or "",
            options=rotate(row["options"], places),
            answer=rotated_letter(row["answer"], places, count),
        )
        for places in range(count)
    ]


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


def pass_number(name: str) -> int:
    """The number of a pass, by its name; 0 for a pass that is no rotation.

    Examples:
        >>> pass_number("rotation:2"), pass_number("main")
        (2, 0)
    """
    return int(name.removeprefix(_ROTATION)) if name.startswith(_ROTATION) else 0
