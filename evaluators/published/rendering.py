"""A paper's table, filled in with the rows of runs: what the report, its files and the leaderboard show."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, NamedTuple

from eyechart.evaluators.published import PublishedTable, TableColumn, TableRow

UNDEFINED = "\N{EN DASH}"
"""Shown if there is no score."""
BEST, SECOND = "best", "second"
CHANCE = "chance level"
STATED_HEADS = ("Stated on", "Settings", "Source")
"""Heads of the labels of a score that a model's authors stated, after the model."""


class Cell(NamedTuple):
    """One number."""

    value: float
    digits: int
    mark: str = ""
    """`BEST`, `SECOND` or "" among the numbers that it is compared with."""
    ends: tuple[float, float] | None = None
    """Its 95 % interval; None if missing."""

    @property
    def text(self) -> str:
        """The number; a dash if undefined."""
        return f"{self.value:.{self.digits}f}" if math.isfinite(self.value) else UNDEFINED

    @property
    def interval(self) -> str:
        """The interval, such as "[48.20, 63.10]"; "" if missing."""
        return f"[{', '.join(f'{end:.{self.digits}f}' for end in self.ends)}]" if self.ends else ""


class Head(NamedTuple):
    """The head of a column of numbers."""

    group: str
    """What it shares with its neighbours; "" if nothing."""
    text: str
    """The rest, with the unit."""
    is_published: bool = False
    """Whether the column is a model of the paper."""
    is_headline: bool = False
    """Whether the column is the score that represents the task."""


class Row(NamedTuple):
    """One row of a table."""

    labels: tuple[str, ...]
    cells: tuple[Cell, ...]
    is_published: bool = False
    """Whether it is the paper's."""
    is_model: bool = True
    """Whether it is a model, which has a rank; not a chance level or a bound."""


@dataclass(frozen=True)
class Table:
    """A table, filled in."""

    title: str
    corner: tuple[str, ...]
    """Heads of the labels."""
    heads: tuple[Head, ...]
    rows: tuple[Row, ...]
    """The runs' rows, then the paper's."""
    note: str = ""
    source: str = ""
    """The source of the paper's numbers; "" without published numbers."""
    is_comparable: bool = False
    """Whether the runs are ranked together with the paper's models."""
    key: str = ""
    """File name without extension."""
    caption: str = ""
    """The title with paper, task and dataset, for a table outside the page."""

    @property
    def columns(self) -> list[str]:
        """All heads, each on one line."""
        return [*self.corner, *(": ".join(filter(None, (head.group, head.text))) for head in self.heads)]

    @property
    def texts(self) -> list[list[str]]:
        """The rows as texts."""
        return [[*row.labels, *(cell.text for cell in row.cells)] for row in self.rows]

    @property
    def has_marks(self) -> bool:
        """Whether any number is marked as the best or second best."""
        return any(cell.mark for row in self.rows for cell in row.cells)

    @property
    def groups(self) -> list[tuple[str, list[Head]]]:
        """Neighbouring heads that share a group."""
        runs = groupby(self.heads, lambda head: (head.group, head.is_published))
        return [(name, list(heads)) for (name, _), heads in runs]

    def across(self) -> "Table":
        """The table with models side by side: a row for each group of columns, or for each column without one."""
        names = [(head.group or head.text, head.text if head.group else "") for head in self.heads]
        texts = list(dict.fromkeys(text for _, text in names))
        heads = [
            Head(row.labels[0] if any(texts) else "", text or row.labels[0], row.is_published)
            for row in self.rows
            for text in texts
        ]
        rows = [
            Row((part,), tuple(row.cells[names.index((part, text))] for row in self.rows for text in texts))
            for part in dict.fromkeys(part for part, _ in names)
        ]
        return replace(self, heads=tuple(heads), rows=tuple(rows))


def render(
    layout: PublishedTable,
    columns: Sequence[TableColumn] = (),
    rows: Sequence[Row] = (),
    *,
    is_comparable: bool = False,
    has_published: bool = True,
) -> Table:
    """A table with the rows of runs and, unless left out, of the paper; if comparable, all are ranked together."""
    columns = columns or layout.columns
    totals = [(bool(c.spec and c.spec.headline), i) for i, c in enumerate(columns) if len(c.path[0]) == 1]
    headline = max(totals, default=(False, None))[1]
    # The label of a difference names its own unit.
    heads = [f"{column.label} (%)" if column.is_percent and not column.minus else column.label for column in columns]
    published = [_published_row(layout, columns, row) for row in layout.rows] if has_published else []
    label_heads = STATED_HEADS if layout.is_stated else (layout.row_variants.head,) if layout.row_variants else ()
    corner = (layout.corner, *label_heads)
    # A run has no date and no source.
    rows = [row._replace(labels=(*row.labels, *[""] * (len(corner) - len(row.labels)))) for row in rows]
    table = Table(
        title=f"{layout.paper.partition(' (')[0]}, {layout.table}: {layout.title}" if layout.paper else layout.title,
        corner=corner,
        heads=tuple(Head(c.group, heads[i], is_headline=i == headline) for i, c in enumerate(columns)),
        rows=_ranked([*rows, *published], columns, is_comparable),
        source=f"Published values: {layout.paper}, {layout.table}" if published and not layout.is_stated else "",
        is_comparable=is_comparable,
    )
    return table.across() if layout.across else table


def cell(column: TableColumn, scores: Mapping[str, Any]) -> Cell:
    """The number of some scores in a column, with its interval."""
    value = sum(number(scores, *path) for path in column.path) - sum(number(scores, *path) for path in column.minus)
    has_interval = column.spec is not None and column.spec.has_interval
    ends = interval(scores, *column.path[0], factor=column.factor) if has_interval else None
    # Without what binary fractions add, as in 100 * 0.3794.
    return Cell(round(column.factor * value, 9), column.digits, "", ends)


def chance_cell(column: TableColumn, scores: Mapping[str, Any]) -> Cell:
    """The chance level of a column's score."""
    spec, level = column.spec, None
    if spec is not None:
        level = spec.chance_level(at(scores, column.path[0][: -len(spec.key.split("."))]))
    return Cell(math.nan if level is None else round(column.factor * level, 9), column.digits)


def at(scores: Any, path: Sequence[str]) -> Any:
    """The value of nested keys; None if missing. In a list, a key is names of which the item must be `over` some."""
    for name in path:
        if isinstance(scores, list):
            names = set(name.split(","))
            items = (item for item in scores if isinstance(item, Mapping))
            scores = next((item for item in items if names.issuperset(item.get("over", (None,)))), None)
        else:
            scores = scores.get(name) if isinstance(scores, Mapping) else None
    return scores


def number(scores: Any, *path: str) -> float:
    """A score by its nested keys; nan if missing or undefined."""
    value = at(scores, path)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan


def interval(scores: Any, *path: str, factor: float = 1) -> tuple[float, float] | None:
    """The 95 % interval of a score by the score's nested keys, times a factor; None if missing or undefined."""
    ends = at(scores, (*path[:-1], f"{path[-1]}_ci95"))
    is_defined = ends is not None and None not in ends and all(map(math.isfinite, ends))
    return (factor * ends[0], factor * ends[1]) if is_defined else None


def _published_row(layout: PublishedTable, columns: Sequence[TableColumn], row: TableRow) -> Row:
    if layout.is_stated:
        # Sources differ in their decimals.
        digits = max(len(str(value).partition(".")[2]) for value in row.values)
        stated = (Cell(value, digits) for value in row.values)
        return Row((row.model, row.date, row.settings, row.url), tuple(stated), is_published=True, is_model=False)
    # The names of rows with variants end in the variant's.
    model, _, variant = row.model.rpartition(", ") if layout.row_variants else (row.model, "", "")
    labels = (model, variant.replace("/", "\N{LEFT RIGHT ARROW}")) if layout.row_variants else (model,)
    cells = (Cell(value, column.digits) for value, column in zip(row.values, columns, strict=True))
    return Row(labels, tuple(cells), is_published=True, is_model=row.is_model)


def _ranked(rows: Sequence[Row], columns: Sequence[TableColumn], is_comparable: bool) -> tuple[Row, ...]:
    """The rows with marks at the best and second-best numbers, as they are printed; a model alone has no rank."""
    marks: dict[tuple[int, bool], dict[str, str]] = {}
    for i, column in enumerate(columns):
        for is_published in (False, True) if column.spec and column.spec.higher_is_better else ():
            group = [row for row in rows if row.is_model and (is_comparable or row.is_published == is_published)]
            texts = [row.cells[i].text for row in group if math.isfinite(row.cells[i].value)]
            order = sorted(set(texts), key=float, reverse=True)
            marks[i, is_published] = dict(zip(order, (BEST, SECOND), strict=False)) if len(texts) > 1 else {}

    def marked(row: Row) -> Row:
        of_cells = (marks.get((i, row.is_published), {}) for i in range(len(row.cells)))
        cells = (cell._replace(mark=of.get(cell.text, "")) for cell, of in zip(row.cells, of_cells, strict=True))
        return row._replace(cells=tuple(cells)) if row.is_model else row

    return tuple(map(marked, rows))
