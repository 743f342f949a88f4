"""The papers' tables, filled in with the scores of runs: the same columns, so that rows can be compared.

What a table looks like is in its JSON file (`published`). A task of your own has tables of all its scores.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress, groupby
from typing import Any, NamedTuple

from eyechart.evaluators.published import PERCENT, PublishedTable, TableColumn, TableRow, published_tables
from eyechart.evaluators.report.scores import (
    Results,
    at,
    averaged_databases,
    group_values,
    interval,
    is_mini,
    number,
    scored_results,
    texts_of,
    title_of_data,
)
from eyechart.evaluators.results.finished_runs import Run, TaskKey, merged_keys
from eyechart.evaluators.results.results_file import AVERAGE, TaskResult
from eyechart.evaluators.tasks import known_task, paper_of, task_title
from eyechart.metrics.score_spec import ScoreSpec, Unit
from eyechart.metrics.scores import specs_in

UNDEFINED = "\N{EN DASH}"
"""Shown if there is no score."""
INDEX = re.compile(r"\b(score|P)\\?_(cc|rc|sa|\d)\b")
"""A symbol with an index, as the papers print it, in a head with or without escapes."""
BEST, SECOND = "best", "second"
CHANCE = "chance level"


class ScoreId(NamedTuple):
    """Identifies a score of a run, for tests."""

    run: str
    """The label of the run."""
    task: TaskKey
    score: str


@dataclass(frozen=True)
class Cell:
    """One number."""

    value: float
    digits: int
    mark: str = ""
    """`BEST`, `SECOND` or "" among the numbers that it is compared with."""
    ends: tuple[float, float] | None = None
    """Its 95 % interval; None if missing."""
    score: ScoreId | None = None
    """The run's score that it shows; None for parts of a result and for the paper's numbers."""

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

    @property
    def whole(self) -> str:
        """The head without a group above it."""
        return ": ".join(filter(None, (self.group, self.text)))


class Row(NamedTuple):
    """One row of a table."""

    labels: tuple[str, ...]
    cells: tuple[Cell, ...]
    is_published: bool = False
    """Whether it is the paper's."""
    is_model: bool = True
    """Whether it is a model, which has a rank."""


@dataclass(frozen=True)
class PaperTable:
    """One table, filled in."""

    key: str
    """File name without extension."""
    title: str
    corner: tuple[str, ...]
    """Heads of the labels."""
    heads: tuple[Head, ...]
    rows: tuple[Row, ...]
    """The runs' rows, then the paper's."""
    note: str = ""
    source: str = ""
    """The source of the paper's numbers; "" if there are none."""
    is_comparable: bool = False
    """Whether the runs are ranked together with the paper's models."""
    task: TaskKey | None = None

    @property
    def whole_title(self) -> str:
        """The title with dataset and split."""
        return f"{self.title} ({title_of_data(self.task)})" if self.task else self.title

    @property
    def caption(self) -> str:
        """The title with paper, task and dataset, for a table outside the page."""
        if self.task is None:
            return self.title
        paper = paper_of(self.task.task).name
        title = self.title if self.title.startswith(paper) else f"{paper}: {self.title}"
        return f"{title} ({'; '.join(filter(None, (task_title(self.task.task), title_of_data(self.task))))})"

    @property
    def columns(self) -> list[str]:
        """All heads, each on one line."""
        return [*self.corner, *(head.whole for head in self.heads)]

    @property
    def has_marks(self) -> bool:
        """Whether any number is marked as the best or second best."""
        return any(cell.mark for row in self.rows for cell in row.cells)

    @property
    def groups(self) -> list[tuple[str, list[Head]]]:
        """Neighbouring heads that share a group."""
        runs = groupby(self.heads, lambda head: (head.group, head.is_published))
        return [(name, list(heads)) for (name, _), heads in runs]


def paper_tables(runs: Sequence[Run]) -> list[PaperTable]:
    """The tables of some runs, in the order of the runs' tasks."""
    keys = (
        key._replace(dataset=AVERAGE) if key.dataset in averaged_databases(key.task) else key
        for key in merged_keys(runs)
    )
    tables = []
    for key in dict.fromkeys(keys):
        results = scored_results(key, runs)
        own = _own_layouts(results) if known_task(key.task) is None else ()
        for name, layout in (*own, *sorted(published_tables().items(), key=_order)):
            is_here = key.task in (layout.tasks or [key.task]) and key.split in (layout.splits or [key.split])
            if results and is_here and key.dataset == (layout.dataset or key.dataset):
                shown = [(label, result) for label, result in results if _belongs(layout, result)]
                tables += _filled(layout, (layout.table or name).lower(), key, shown)
    return tables


def _order(item: tuple[str, PublishedTable]) -> tuple[bool, list[tuple[int, str]]]:
    """Tables of papers first, numbers in their names in order."""
    parts = re.findall(r"\d+|\D+", item[0])
    return not item[1].paper, [(int(part) if part.isdigit() else 0, part) for part in parts]


def _own_layouts(results: Results) -> Iterator[tuple[str, PublishedTable]]:
    """All scores of a task of your own, then its headline by each group."""

    def layout(title: str, columns: Iterable[tuple[str, tuple[str, ...], ScoreSpec]]) -> PublishedTable:
        described = [
            {
                "label": label,
                "path": ((*part, *spec.key.split(".")),),
                "digits": 2 if spec.unit in (Unit.FRACTION, Unit.PERCENT) else 3,
            }
            for label, part, spec in columns
        ]
        return PublishedTable.model_validate(
            {"tasks": [], "title": title, "unit": PERCENT, "digits": 2, "columns": described}
        )

    specs = [spec for spec in specs_in(results[0][1].scores or {}) if spec.in_table] if results else []
    yield "scores", layout("Scores", ((spec.label, (), spec) for spec in specs))
    if results and (headline := results[0][1].headline_spec()) is not None:
        for group, values in group_values(results).items():
            columns = [(value, (f"by_{group}", value), headline) for value in values]
            yield f"scores_by_{group}", layout(f"{headline.label} by {group}", columns)


def _belongs(layout: PublishedTable, result: TaskResult) -> bool:
    has_all = all(result.settings.get(name) == value for name, value in layout.only.items())
    return has_all and not any(result.settings.get(name) == value for name, value in layout.unless.items())


def _filled(layout: PublishedTable, name: str, key: TaskKey, results: Results) -> list[PaperTable]:
    """A table with the runs' rows; none if no run has a score in it."""
    columns = [own for column in layout.columns for own in _expanded(column, results)]
    rows = [row for label, result in results for row in _rows(layout, columns, key, label, result)]
    if not layout.rows:
        columns, rows = _without_empty(columns, rows)
    if not rows:
        return []
    if layout.chance_row:
        guesses = [column.model_copy(update={"path": (_chance_path(column),)}) for column in columns]
        levels = {tuple(_cell(column, key, "", result) for column in guesses) for _, result in results}
        texts = {tuple(cell.text for cell in cells): cells for cells in levels}
        guess = [Row((CHANCE,), tuple(map(_plain, cells)), is_model=False) for cells in texts.values()]
        rows = [*(guess if len(guess) == 1 else ()), *rows]
    published = layout.rows if layout.tasks[:1] == [key.task] else []
    rows += [_published_row(layout, columns, row) for row in published]
    other = "" if layout.split == key.split else f" (split: {layout.split}; the runs use {key.split})"
    is_part = any(is_mini(r) or r.settings.get("limit") or r.settings.get("sample") for _, r in results)
    whole = [
        (column.spec is not None and column.spec.headline, column) for column in columns if len(column.path[0]) == 1
    ]
    headline = max(enumerate(whole), key=lambda item: (item[1][0], item[0]), default=(0, (False, None)))[1][1]
    is_comparable = bool(published) and layout.split == key.split and not is_part
    ranked = [bool(column.spec and column.spec.higher_is_better) for column in columns]
    table = PaperTable(
        key=key.file_name(name),
        title=f"{layout.paper.partition(' (')[0]}, {layout.table}: {layout.title}" if layout.paper else layout.title,
        corner=(layout.corner, layout.row_variants.head) if layout.row_variants else (layout.corner,),
        heads=tuple(
            Head(c.group, c.label + (" (%)" if c.is_percent and not c.minus else ""), is_headline=c is headline)
            for c in columns
        ),
        rows=_ranked(rows, ranked, is_comparable),
        note=re.sub(r"\{([\w.: ]+)\}", lambda name: " or ".join(texts_of(results, name[1])) or "unknown", layout.note),
        source=f"Published values: {layout.paper}, {layout.table}{other}." if published else "",
        is_comparable=is_comparable,
        task=key,
    )
    return [_across(table) if layout.across else table]


def _expanded(column: TableColumn, results: Results) -> Iterator[TableColumn]:
    """The column, or one for each key that a star stands for."""
    path = column.path[0]
    if "*" not in path:
        yield column
        return
    place = path.index("*")
    parts = [at(_root(result, column.variant), path[:place]) for _, result in results]
    for name in sorted({name for part in parts if isinstance(part, Mapping) for name in part}):
        yield column.model_copy(update={"label": name, "path": ((*path[:place], name, *path[place + 1 :]),)})


def _root(result: TaskResult, variant: str) -> Mapping[str, Any]:
    if variant:
        return result.variants.get(variant, {})
    return {**(result.scores or {}), "diagnostics": result.diagnostics}


def _without_empty(columns: list[TableColumn], rows: list[Row]) -> tuple[list[TableColumn], list[Row]]:
    """Columns in which any row has a number, and the rows in them."""
    filled = [any(math.isfinite(row.cells[place].value) for row in rows) for place in range(len(columns))]
    rows = [row._replace(cells=tuple(compress(row.cells, filled))) for row in rows]
    return list(compress(columns, filled)), rows


def _rows(
    layout: PublishedTable, columns: Sequence[TableColumn], key: TaskKey, label: str, result: TaskResult
) -> list[Row]:
    """The rows of a run; none if it has no scores, or too few variants to compare."""
    name = f"{label} (without images)" if result.settings.get("blind") is True else label
    variants = layout.row_variants
    own = next(texts_of([(label, result)], variants.setting), "") if variants and variants.setting else ""
    rows = []
    for text, variant in variants.rows.items() if variants else [("", "")]:
        update = {"variant": "" if variant == own else variant}
        chosen = [column.model_copy(update=update) for column in columns] if variants else columns
        cells = tuple(_cell(column, key, label, result) for column in chosen)
        rows.append(Row((name, text) if variants else (name,), cells))
    # The other columns of a table of an alternative scoring are there to compare with.
    counted = [place for place, column in enumerate(columns) if column.variant] or range(len(columns))
    count = sum(any(math.isfinite(row.cells[place].value) for place in counted) for row in rows)
    return rows if count >= (2 if variants else 1) else []


def _cell(column: TableColumn, key: TaskKey, label: str, result: TaskResult) -> Cell:
    root, spec, path = _root(result, column.variant), column.spec, column.path[0]
    value = sum(number(root, *path) for path in column.path) - sum(number(root, *path) for path in column.minus)
    # Without what binary fractions add, as in 100 * 0.3794.
    value = round(column.factor * value, 9)
    if spec is None:
        return Cell(value, column.digits)
    ends = interval(root, *path, factor=column.factor) if spec.has_interval else None
    part = path[: len(path) - len(spec.key.split("."))]
    # A database of an average is a result of its own.
    task = key._replace(dataset=part[1]) if len(part) == 2 and key.dataset == AVERAGE else None if part else key
    score = ScoreId(label, task, spec.key) if task is not None and not column.variant else None
    return Cell(value, column.digits, "", ends, score)


def _chance_path(column: TableColumn) -> tuple[str, ...]:
    chance = column.spec.chance if column.spec else None
    return (*column.path[0][:-1], chance if isinstance(chance, str) else "")


def _plain(cell: Cell) -> Cell:
    return Cell(cell.value, cell.digits)


def _published_row(layout: PublishedTable, columns: Sequence[TableColumn], row: TableRow) -> Row:
    # The names of rows with variants end in the variant's.
    model, _, variant = row.model.rpartition(", ") if layout.row_variants else (row.model, "", "")
    labels = (model, variant.replace("/", "\N{LEFT RIGHT ARROW}")) if layout.row_variants else (model,)
    values = (math.nan if value is None else value for value in row.values)
    cells = tuple(Cell(value, column.digits) for value, column in zip(values, columns, strict=True))
    return Row(labels, cells, is_published=True, is_model=row.is_model)


def _ranked(rows: Sequence[Row], columns: Sequence[bool], is_comparable: bool) -> tuple[Row, ...]:
    """The rows with marks at the best and second-best numbers of some columns, as they are printed.

    The runs are ranked together with the paper's models if comparable, otherwise separately. A model alone has no rank.
    """
    best: dict[tuple[int, bool], list[str]] = {}
    for column in compress(range(len(columns)), columns):
        for is_published in (False, True):
            group = [row for row in rows if row.is_model and (is_comparable or row.is_published == is_published)]
            texts = [row.cells[column].text for row in group if math.isfinite(row.cells[column].value)]
            order = sorted(dict.fromkeys(texts), key=float, reverse=True)
            best[column, is_published] = order[:2] if len(texts) > 1 else []

    def marked(row: Row, column: int, cell: Cell) -> Cell:
        order = best.get((column, row.is_published), []) if row.is_model else []
        return replace(cell, mark=(BEST, SECOND)[order.index(cell.text)]) if cell.text in order else cell

    return tuple(row._replace(cells=tuple(marked(row, *item) for item in enumerate(row.cells))) for row in rows)


def _across(table: PaperTable) -> PaperTable:
    """The table with models side by side: a row for each group of columns, or for each column without one."""
    names = [(head.group or head.text, head.text if head.group else "") for head in table.heads]
    texts = list(dict.fromkeys(text for _, text in names))
    heads = [
        Head(row.labels[0] if any(texts) else "", text or row.labels[0], row.is_published)
        for row in table.rows
        for text in texts
    ]
    rows = [
        Row((part,), tuple(row.cells[names.index((part, text))] for row in table.rows for text in texts))
        for part in dict.fromkeys(part for part, _ in names)
    ]
    return replace(table, heads=tuple(heads), rows=tuple(rows))
