"""Building blocks of the tables of all papers."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from eyechart.evaluators.published.names import OWN, paper_of, task_title
from eyechart.evaluators.report.names import data_title
from eyechart.evaluators.report.paper_tables.published import are_comparable, published_rows, published_table, source_of
from eyechart.evaluators.report.scores import number
from eyechart.evaluators.results.finished_runs import TaskKey
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.metrics.scores import SCORES

UNDEFINED = "\N{EN DASH}"
"""Shown if there is no score."""
DELTA = "\N{GREEK CAPITAL LETTER DELTA}"
"""The row of differences."""


@dataclass(frozen=True)
class PaperTable:
    """One table."""

    key: str
    """File name without extension."""
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    labels: int = 1
    """Number of leading columns that contain text."""
    published: tuple[tuple[str, ...], ...] = ()
    """The paper's rows, in the same columns."""
    published_columns: int = 0
    """Number of trailing columns that are the paper's models, in a table with one model per column group."""
    across: int = 0
    """Number of columns per model, in a table with one model per column group; 0 if each model is a row."""
    source: str = ""
    """Source of the paper's rows or columns; "" if missing."""
    is_comparable: bool = False
    """Whether the paper's scores may be ranked with the runs'."""
    unranked: tuple[int, ...] = ()
    """Columns that are not ranked, because neither higher nor lower is better."""
    key_of_task: TaskKey | None = None
    """The task; for tables over several databases, the key of their average."""

    @property
    def whole_title(self) -> str:
        """The title with dataset and split."""
        return f"{self.title} ({data_title(self.key_of_task)})" if self.key_of_task else self.title

    @property
    def caption(self) -> str:
        """The title with paper, task and dataset, for a table outside the page."""
        key = self.key_of_task
        paper = paper_of(key.task) if key else OWN
        if key is None or paper == OWN:
            return self.whole_title
        title = self.title if self.title.startswith(paper.name) else f"{paper.name}: {self.title}"
        return f"{title} ({task_title(key.task)}; {data_title(key)})"

    @property
    def all_rows(self) -> tuple[tuple[str, ...], ...]:
        """The runs' rows, then the paper's."""
        return (*self.rows, *self.published)


Results = list[tuple[str, TaskResult]]
"""The scored results of one task, each with the label of its run."""
ResultsByKey = list[tuple[str, Mapping[TaskKey, TaskResult]]]
"""All scored results of a task, grouped by run, each with the label of its run."""
QUESTION_TYPES = {"yes-or-no": "Yes-or-No", "what": "What", "how": "How"}


@dataclass(frozen=True)
class Column:
    """A column of scores."""

    head: str
    path: tuple[str, ...]
    """Nested keys of the score."""
    digits: int
    is_percent: bool = False
    """Whether the score is a fraction, shown in percent."""

    @property
    def is_ranked(self) -> bool:
        """Whether a higher score is better."""
        return any(one.key.split(".")[-1] == self.path[-1] and one.higher_is_better for one in SCORES)

    def cell(self, scores: Mapping[str, Any] | None) -> str:
        """The score as text."""
        value = number(scores, *self.path)
        return formatted(100 * value, self.digits, " %") if self.is_percent else formatted(value, self.digits)


def group_columns(
    groups: Mapping[str, Mapping[str, str]], score: str, digits: int = 2, overall: int = -1
) -> list[Column]:
    """Columns of a fraction by group value, in percent, and of all items.

    Args:
        groups: Column heads by group and value.
        score: Key of the fraction.
        digits: Decimals.
        overall: Position of the column of all items: 0 or -1.
    """
    found = [
        Column(head, (f"by_{group}", value, score), digits, True)
        for group, names in groups.items()
        for value, head in names.items()
    ]
    whole = Column("Overall", (score,), digits, True)
    return [whole, *found] if overall == 0 else [*found, whole]


def score_table(
    key: TaskKey,
    number_of: str,
    title: str,
    corner: str,
    columns: Sequence[Column],
    results: Results,
    note: str = "",
) -> PaperTable:
    """One row per model, one column per score."""
    rows = [(label, *(column.cell(result.scores) for column in columns)) for label, result in results]
    found = table(key, number_of, title, (corner, *(column.head for column in columns)), rows, note)
    unranked = tuple(place for place, column in enumerate(columns, start=1) if not column.is_ranked)
    digits = [(column.digits, column.is_percent) for column in columns]
    return with_published(replace(found, unranked=unranked), key, number_of, results, digits)


def with_published(
    found: PaperTable, key: TaskKey, number_of: str, results: Results, columns: Sequence[tuple[int, bool]]
) -> PaperTable:
    """A table with the paper's rows added, if the paper's table has the same columns.

    Args:
        found: The runs' rows.
        key: The task.
        number_of: Such as "table_2".
        results: The runs' results.
        columns: Decimals of each score column, and whether it is in percent.
    """
    printed = published_table(key, number_of)
    rows = () if printed is None else published_rows(printed, columns, found.labels)
    if printed is None or not rows:
        return found
    return replace(
        found, published=rows, source=source_of(printed, key), is_comparable=are_comparable(key, printed, results)
    )


def choice_table(
    key: TaskKey, number_of: str, title: str, corner: str, groups: Mapping[str, Mapping[str, str]], results: Results
) -> PaperTable:
    """Accuracy by groups and overall, the chance level first."""
    found = score_table(key, number_of, title, corner, group_columns(groups, "accuracy"), results)
    chance = {
        tuple(column.cell(result.scores) for column in group_columns(groups, "random_guess")) for _, result in results
    }
    first = [("chance level", *cells) for cells in chance] if len(chance) == 1 else []
    return replace(found, rows=(*first, *found.rows))


def table(
    key: TaskKey,
    number_of: str,
    title: str,
    columns: Sequence[str],
    rows: Sequence[tuple[str, ...]],
    note: str = "",
    labels: int = 1,
) -> PaperTable:
    """A table of one task; `number_of` makes its file name unique within the task."""
    return PaperTable(key.file_name(number_of), title, tuple(columns), tuple(rows), note, labels, key_of_task=key)


def parts(scores: Mapping[str, Any] | None, name: str) -> Mapping[str, Any]:
    """A mapping among some scores; empty if missing."""
    found = (scores or {}).get(name)
    return found if isinstance(found, Mapping) else {}


def percent(scores: Mapping[str, Any] | None, *path: str, digits: int = 2) -> str:
    """A fraction among some scores as a percentage."""
    return formatted(100 * number(scores, *path), digits, " %")


def decimal(digits: int, scores: Mapping[str, Any] | None, *path: str) -> str:
    """A number among some scores."""
    return formatted(number(scores, *path), digits)


def formatted(value: float, digits: int, unit: str = "") -> str:
    """A number as text, a dash if undefined."""
    return f"{value:.{digits}f}{unit}" if math.isfinite(value) else UNDEFINED
