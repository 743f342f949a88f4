"""Building blocks of the tables of all papers."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, NamedTuple

from eyechart.evaluators.published.names import paper_of, task_title
from eyechart.evaluators.report.names import data_title
from eyechart.evaluators.report.paper_tables.published import are_comparable, published_rows, published_table, source_of
from eyechart.evaluators.report.scores import interval, number
from eyechart.evaluators.results.finished_runs import TaskKey
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.metrics.score_spec import ScoreSpec, Unit
from eyechart.metrics.scores import SCORES

UNDEFINED = "\N{EN DASH}"
"""Shown if there is no score."""
GROUP = ": "
"""Separates the name of a group of columns from the head of each."""
INDEX = re.compile(r"\b(score|P)\\?_(cc|rc|sa|\d)\b")
"""A symbol with an index, as the papers print it, in a head with or without escapes."""
DELTA = "\N{GREEK CAPITAL LETTER DELTA}"
"""The row of differences."""


class HeadGroup(NamedTuple):
    """Neighbouring columns that share the beginning of their heads."""

    name: str
    """What they share; "" for a single column."""
    column: int
    """Index of the first of them."""
    heads: list[str]
    """The rest of their heads."""


class ScoreOfRun(NamedTuple):
    """A run's score in a cell."""

    key: str
    """Its key in the table of scores; "" for a score of a part of the items, which is not tested."""
    result: TaskResult | None
    """The result that it is in."""
    interval: str
    """The 95 % interval, such as "[48.20, 63.10]"; "" if missing."""


class Cell(str):
    """The text of a cell of runs, with the score behind each of the numbers that a slash separates."""

    scores: tuple[ScoreOfRun, ...] = ()


@dataclass(frozen=True)
class PaperTable:
    """One table."""

    key: str
    """File name without extension."""
    title: str
    columns: tuple[str, ...]
    """Heads, with their unit. Neighbours of the same group have its name and a colon before theirs."""
    rows: tuple[tuple[str, ...], ...]
    """The runs' cells; those of scores with an interval are a `Cell`."""
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
    headline: int | None = None
    """The column of all items, which stays in sight when a page's table is scrolled."""
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
        if key is None:
            return self.whole_title
        paper = paper_of(key.task).name
        title = self.title if self.title.startswith(paper) else f"{paper}: {self.title}"
        return f"{title} ({'; '.join(filter(None, (task_title(key.task), data_title(key))))})"

    @property
    def groups(self) -> list[HeadGroup]:
        """The heads of scores: neighbours with the same text before the colon are a group, others stand alone."""
        first, place = len(self.columns) - self.published_columns, self.labels
        heads = [(head, column >= first) for column, head in enumerate(self.columns) if column >= place]
        found: list[HeadGroup] = []
        for (name, _), members in groupby(heads, lambda head: (head[0].rpartition(GROUP)[0], head[1])):
            own = [head for head, _ in members]
            if name and len(own) > 1:
                found.append(HeadGroup(name, place, [head.removeprefix(f"{name}{GROUP}") for head in own]))
            else:
                found += [HeadGroup("", place + offset, [head]) for offset, head in enumerate(own)]
            place += len(own)
        return found

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
    """A column of scores. Fractions are in percent."""

    head: str
    path: tuple[str, ...]
    """Nested keys of the score."""
    digits: int
    group: str = ""
    """What it shares with its neighbours."""

    @property
    def title(self) -> str:
        """Its head with group and unit."""
        is_percentage = (score := spec_at(self.path)) is not None and score.unit in (Unit.FRACTION, Unit.PERCENT)
        return f"{self.group}{GROUP if self.group else ''}{self.head}{' (%)' if is_percentage else ''}"

    @property
    def is_ranked(self) -> bool:
        """Whether a higher score is better."""
        return (score := spec_at(self.path)) is not None and bool(score.higher_is_better)

    @property
    def is_headline(self) -> bool:
        """Whether this is the score that represents its metric."""
        return (score := spec_at(self.path)) is not None and score.headline

    def cell(self, result: TaskResult) -> Cell:
        """The score as text."""
        return score_cell(result.scores, *self.path, digits=self.digits, result=result)


def group_columns(
    groups: Mapping[tuple[str, str], Mapping[str, str]], score: str, digits: int = 2, overall: int = -1
) -> list[Column]:
    """Columns of a fraction by group value, and of all items.

    Args:
        groups: Column heads by value, for each group and its name in the paper, which may be "".
        score: Key of the fraction.
        digits: Decimals.
        overall: Position of the column of all items: 0 or -1.
    """
    found = [
        Column(head, (f"by_{group}", value, score), digits, title)
        for (group, title), names in groups.items()
        for value, head in names.items()
    ]
    whole = Column("Overall", (score,), digits)
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
    rows = [(label, *(column.cell(result) for column in columns)) for label, result in results]
    found = table(key, number_of, title, (corner, *(column.title for column in columns)), rows, note)
    unranked = tuple(place for place, column in enumerate(columns, start=1) if not column.is_ranked)
    whole = [(column.is_headline, place) for place, column in enumerate(columns, start=1) if len(column.path) == 1]
    found = replace(found, unranked=unranked, headline=max(whole)[1] if whole else None)
    return with_published(found, key, number_of, results, [column.digits for column in columns])


def with_published(
    found: PaperTable, key: TaskKey, number_of: str, results: Results, digits: Sequence[int]
) -> PaperTable:
    """A table with the paper's rows added, if the paper's table has the same columns.

    Args:
        found: The runs' rows.
        key: The task.
        number_of: Such as "table_2".
        results: The runs' results.
        digits: Decimals of each score column.
    """
    printed = published_table(key, number_of)
    rows = () if printed is None else published_rows(printed, digits, found.labels)
    if printed is None or not rows:
        return found
    return replace(
        found, published=rows, source=source_of(printed, key), is_comparable=are_comparable(key, printed, results)
    )


def choice_table(
    key: TaskKey,
    number_of: str,
    title: str,
    corner: str,
    groups: Mapping[tuple[str, str], Mapping[str, str]],
    results: Results,
) -> PaperTable:
    """Accuracy by groups and overall, the chance level first."""
    found = score_table(key, number_of, title, corner, group_columns(groups, "accuracy"), results)
    chance = {
        tuple(map(str, (column.cell(result) for column in group_columns(groups, "random_guess"))))
        for _, result in results
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


def score_cell(
    scores: Mapping[str, Any] | None, *path: str, digits: int, is_share: bool = False, result: TaskResult | None = None
) -> Cell:
    """A score with its interval.

    Args:
        scores: Scores that a metric returned.
        *path: Nested keys of the score.
        digits: Decimals.
        is_share: Whether a fraction is shown as it is, instead of in percent.
        result: The result whose scores these are, unless they are a variant's or another part of it.
    """
    score = spec_at(path)
    factor = 100 if score is not None and score.unit is Unit.FRACTION and not is_share else 1
    made = Cell(formatted(factor * number(scores, *path), digits))
    if score is not None:
        own = path[: len(path) - len(score.key.split("."))]
        ends = interval(scores, *path) if score.has_interval else None
        between = f"[{', '.join(formatted(factor * end, digits) for end in ends)}]" if ends else ""
        made.scores = (ScoreOfRun("" if own else score.key, result, between),)
    return made


def joined(cells: Sequence[Cell]) -> Cell:
    """Several scores in one cell, separated by slashes."""
    made = Cell("/".join(cells))
    made.scores = tuple(score for cell in cells for score in cell.scores)
    return made


def spec_at(path: Sequence[str]) -> ScoreSpec | None:
    """The declaration of a score by its nested keys, which may lead through a breakdown; None for any other keys."""
    keys = {tuple(score.key.split(".")): score for score in reversed(SCORES)}
    ends = (tuple(path[start:]) for start in range(len(path)))
    return next((keys[end] for end in ends if end in keys), None)


def percent(scores: Mapping[str, Any] | None, *path: str, digits: int = 2) -> str:
    """A fraction among some scores, in percent."""
    return formatted(100 * number(scores, *path), digits)


def formatted(value: float, digits: int) -> str:
    """A number as text, a dash if undefined."""
    return f"{value:.{digits}f}" if math.isfinite(value) else UNDEFINED
