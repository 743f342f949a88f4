"""The passes of a question under CircularEval: the release's own passes, or one rotation for each option."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from eyechart.datasets_scripts.common.choice.rotations import STRIDE, rotate, rotated_letter

MAIN = "main"
"""The first pass."""
_ROTATION = "rotation:"


@dataclass(frozen=True)
class QuestionPass:
    """A question with its options in the order of one pass."""

    number: int
    """0 for the first pass."""
    question: str
    hint: str
    options: tuple[str, ...]
    answer: str
    """Letter of the correct option, "" if private."""
    index: int
    """Its index in MMBench's files; -1 if the question has none."""

    @property
    def name(self) -> str:
        """Its name in requests and predictions: "main", "rotation:1", ..."""
        return rotation_pass(self.number)


def passes_of(row: Mapping[str, Any]) -> list[QuestionPass]:
    """The passes of a question: the release's own if the row has them, else one rotation for each option.

    Examples:
        >>> row = {"question_id": "7", "question": "Which?", "options": ["red", "green", "blue"], "answer": "A"}
        >>> [(one.name, one.options, one.answer, one.index) for one in passes_of(row)][1:]
        [('rotation:1', ('blue', 'red', 'green'), 'B', 1000007), ('rotation:2', ('green', 'blue', 'red'), 'C', 2000007)]
    """
    if row.get("passes"):
        return [
            QuestionPass(
                number=one["rotation"],
                question=one["question"],
                hint=one["hint"],
                options=tuple(one["options"]),
                answer=one["answer"],
                index=one["index"],
            )
            for one in row["passes"]
        ]
    number, count = str(row.get("question_id", "")), len(row["options"])
    return [
        QuestionPass(
            number=places,
            question=row["question"],
            hint=row.get("hint") or "",
            options=rotate(row["options"], places),
            answer=rotated_letter(row["answer"], places, count),
            index=int(number) + places * STRIDE if number.isdecimal() else -1,
        )
        for places in range(count)
    ]


def rotation_pass(number: int) -> str:
    """The name of a pass.

    Examples:
        >>> rotation_pass(0), rotation_pass(2)
        ('main', 'rotation:2')
    """
    return f"{_ROTATION}{number}" if number else MAIN


def pass_number(name: str) -> int:
    """The number of a pass, by its name; 0 for a pass that is no rotation.

    Examples:
        >>> pass_number("rotation:2"), pass_number("main")
        (2, 0)
    """
    return int(name.removeprefix(_ROTATION)) if name.startswith(_ROTATION) else 0
