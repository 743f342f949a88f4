"""The result of `Evaluator.compute` and its progress bar."""

import contextlib
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from datasets.utils import tqdm

from eyechart.evaluators.evaluation.waves import Progress
from eyechart.evaluators.results.score_rows import COLUMNS, score_rows

_DELAY = 2
"""Seconds before a bar is shown."""


class ComputedScores(dict[str, Any]):
    """A metric's scores and what `compute` adds to them: a dict whose repr is a small table.

    Args:
        scores: The contents of the dict.
        title: Task and dataset, for the first line of the table.

    Examples:
        >>> ComputedScores({"accuracy": 0.5, "accuracy_ci95": [0.25, 0.75], "n": 8}, "own (test)")
        own (test)
        score       value   95 % interval  chance level  n
        accuracy  50.00 %  25.00 to 75.00                8
    """

    def __init__(self, scores: Mapping[str, Any], title: str) -> None:
        """Keep the scores."""
        super().__init__(scores)
        self.title = title

    def __repr__(self) -> str:
        """The scores with their intervals, as `eyechart run` prints them."""
        rows = [COLUMNS, *score_rows(self)]
        if len(rows) == 1:
            return super().__repr__()
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        first, *others = widths
        lines = [
            "  ".join([row[0].ljust(first), *map(str.rjust, row[1:], others)]).rstrip()  # names left, numbers right
            for row in rows
        ]
        return "\n".join([self.title, *lines])


@contextlib.contextmanager
def progress_bar(title: str) -> Iterator[Progress]:
    """A progress bar in a terminal or a notebook, shown after two seconds."""
    is_watched = sys.stderr.isatty() or "ipykernel" in sys.modules
    with tqdm(desc=title, unit="answer", delay=_DELAY, disable=not is_watched) as bar:

        def show(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield show
