"""The papers' tables, filled in with the scores of runs: the same columns, so that rows can be compared.

What a table looks like is in its JSON file (`published`). A task of your own has tables of all its scores.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, NamedTuple

from eyechart.evaluators.published import PERCENT, PublishedTable, TableColumn, published_tables, spec_at
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
from eyechart.evaluators.results.evaluation import AVERAGE
from eyechart.evaluators.results.finished_runs import Run, TaskKey, merged_keys
from eyechart.evaluators.results.results_file import TaskResult, with_nan
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
        for name, layout in _layouts(key, results):
            table = _filled(name, layout, key, results)
            tables += [table] if table is not None else []
    return tables


def _layouts(key: TaskKey, results: Results) -> Iterator[tuple[str, PublishedTable]]:
    """The tables that a result stands in, each with its name in files."""
    if results and known_task(key.task) is None:
        yield from _own_layouts(results)
    for name, table in sorted(published_tables().items(), key=lambda item: _in_paper(item[0])):
        if (
            key.task in (table.tasks or [key.task])
            and key.dataset == (table.dataset or key.dataset)
            and key.split in (table.splits or [key.split])
        ):
            yield table.table or name, table


def _in_paper(name: str) -> tuple[bool, list[tuple[int, str]]]:
    """The order of tables: those of papers first, numbers in them in their order."""
    parts = re.findall(r"\d+|\D+", name)
    return "table" not in name, [(int(part) if part.isdigit() else 0, part) for part in parts]


def _own_layouts(results: Results) -> Iterator[tuple[str, PublishedTable]]:
    """All scores of a task of your own, then its headline by each group."""
    specs = [spec for spec in specs_in(with_nan(results[0][1].scores)) if spec.in_table]
    yield "scores", _own_layout("Scores", [(spec.label, (), spec) for spec in specs])
    if (headline := results[0][1].headline_spec()) is not None:
        for group, values in group_values(results).items():
            columns = [(value, (f"by_{group}", value), headline) for value in values]
            yield f"scores_by_{group}", _own_layout(f"{headline.label} by {group}", columns)


def _own_layout(title: str, columns: Sequence[tuple[str, tuple[str, ...], ScoreSpec]]) -> PublishedTable:
    return PublishedTable(
        tasks=[],
        title=title,
        unit=PERCENT,
        digits=2,
        columns=[
            TableColumn(
                label=label,
                path=((*part, *spec.key.split(".")),),
                digits=2 if spec.unit in (Unit.FRACTION, Unit.PERCENT) else 3,
            )
            for label, part, spec in columns
        ],
    )


def _filled(name: str, layout: PublishedTable, key: TaskKey, results: Results) -> PaperTable | None:
    """A table with the runs' rows; None if no run has a score in it."""
    results = [(_label(label, result), label, result) for label, result in results if _belongs(layout, result)]
    columns = _expanded(layout.columns, [result for *_, result in results])
    rows = [row for shown, label, result in results for row in _rows(layout, columns, key, (shown, label, result))]
    if not rows:
        return None
    if not layout.rows:
        has_value = [any(math.isfinite(row.cells[place].value) for row in rows) for place in range(len(columns))]
        columns = [column for column, keep in zip(columns, has_value, strict=True) if keep]
        rows = [
            row._replace(cells=tuple(c for c, keep in zip(row.cells, has_value, strict=True) if keep)) for row in rows
        ]
    if layout.chance_row:
        levels = {_chance_row(layout, columns, result) for *_, result in results}
        rows = [*(levels if len(levels) == 1 else ()), *rows]
    whole = [place for place, column in enumerate(columns) if len(column.path[0]) == 1]
    best = max(whole, key=lambda place: (_is_headline(columns[place]), place), default=None)
    table = PaperTable(
        key=key.file_name(name.lower()),
        title=f"{layout.paper.partition(' (')[0]}, {layout.table}: {layout.title}" if layout.paper else layout.title,
        corner=(layout.corner, layout.row_variants.head) if layout.row_variants else (layout.corner,),
        heads=tuple(
            Head(
                column.group,
                column.label + (" (%)" if layout.is_percent(column) and not column.minus else ""),
                is_headline=place == best,
            )
            for place, column in enumerate(columns)
        ),
        rows=tuple(rows),
        note=_note(layout, [(label, result) for label, _, result in results]),
        task=key,
    )
    if layout.rows and layout.tasks[0] == key.task:
        table = _with_published(table, layout, columns, [result for *_, result in results])
    table = _ranked(table, [bool(column.spec and column.spec.higher_is_better) for column in columns])
    return _across(table) if layout.across else table


def _label(label: str, result: TaskResult) -> str:
    return f"{label} (without images)" if result.settings.get("blind") is True else label


def _belongs(layout: PublishedTable, result: TaskResult) -> bool:
    has_all = all(result.settings.get(name) == value for name, value in layout.only.items())
    return has_all and not any(result.settings.get(name) == value for name, value in layout.unless.items())


def _expanded(columns: Sequence[TableColumn], results: Sequence[TaskResult]) -> list[TableColumn]:
    """The columns, with one for each key that a star stands for."""
    expanded = []
    for column in columns:
        before, star, after = _around_star(column.path[0])
        if not star:
            expanded.append(column)
            continue
        parts = [at(_root(result, column.variant), before) for result in results]
        for name in sorted({name for part in parts if isinstance(part, Mapping) for name in part}):
            expanded.append(column.model_copy(update={"label": name, "path": ((*before, name, *after),)}))
    return expanded


def _around_star(path: tuple[str, ...]) -> tuple[tuple[str, ...], bool, tuple[str, ...]]:
    place = path.index("*") if "*" in path else len(path)
    return path[:place], place < len(path), path[place + 1 :]


def _root(result: TaskResult, variant: str) -> dict[str, Any]:
    scores = result.variants.get(variant) if variant else result.scores
    return {**(scores or {}), **({} if variant else {"diagnostics": result.diagnostics})}


def _rows(
    layout: PublishedTable, columns: Sequence[TableColumn], key: TaskKey, run: tuple[str, str, TaskResult]
) -> list[Row]:
    """The rows of a run; none if it has no scores, or too few variants to compare."""
    shown, label, result = run
    variants = layout.row_variants
    if variants is None:
        rows = [Row((shown,), tuple(_cell(layout, column, key, label, result) for column in columns))]
    else:
        own = next(texts_of([(label, result)], variants.setting), "") if variants.setting else ""
        rows = []
        for name, variant in variants.rows.items():
            chosen = [column.model_copy(update={"variant": "" if variant == own else variant}) for column in columns]
            rows.append(Row((shown, name), tuple(_cell(layout, column, key, label, result) for column in chosen)))
    # The other columns of a table of an alternative scoring are there to compare with.
    counted = [place for place, column in enumerate(columns) if column.variant] or range(len(columns))
    count = sum(any(math.isfinite(row.cells[place].value) for place in counted) for row in rows)
    return rows if count >= (1 if variants is None else 2) else []


def _cell(layout: PublishedTable, column: TableColumn, key: TaskKey, label: str, result: TaskResult) -> Cell:
    root, factor = _root(result, column.variant), layout.factor(column)
    value = sum(number(root, *path) for path in column.path) - sum(number(root, *path) for path in column.minus)
    digits = layout.digits if column.digits is None else column.digits
    spec, path = column.spec, column.path[0]
    if spec is None:
        return Cell(factor * value, digits)
    ends = interval(root, *path, factor=factor) if spec.has_interval else None
    part = path[: len(path) - len(spec.key.split("."))]
    # A database of an average is a result of its own.
    task = key._replace(dataset=part[1]) if len(part) == 2 and key.dataset == AVERAGE else None if part else key
    return Cell(
        factor * value, digits, "", ends, ScoreId(label, task, spec.key) if task and not column.variant else None
    )


def _chance_row(layout: PublishedTable, columns: Sequence[TableColumn], result: TaskResult) -> Row:
    cells = []
    for column in columns:
        spec, root = spec_at(column.path[0]), _root(result, column.variant)
        part = at(root, column.path[0][:-1]) if spec else None
        level = spec.chance_level(part) if spec and isinstance(part, Mapping) else None
        value = float(level) if isinstance(level, int | float) else math.nan
        cells.append(
            Cell(round(layout.factor(column) * value, 9), layout.digits if column.digits is None else column.digits)
        )
    return Row((CHANCE,), tuple(cells), is_model=False)


def _is_headline(column: TableColumn) -> bool:
    return column.spec is not None and column.spec.headline


def _note(layout: PublishedTable, results: Results) -> str:
    """The remark below a table, with the runs' values in place of their names."""
    variants = [column.variant for column in layout.columns if column.variant]
    of_variants = [
        (label, result.model_copy(update={"scores": {**(result.scores or {}), **result.variants.get(name, {})}}))
        for label, result in results
        for name in variants[:1] or [""]
    ]

    def value(name: re.Match[str]) -> str:
        return " or ".join(texts_of(of_variants, name[1])) or "unknown"

    return re.sub(r"\{([\w.]+)\}", value, layout.note)


def _with_published(
    table: PaperTable, layout: PublishedTable, columns: Sequence[TableColumn], results: Sequence[TaskResult]
) -> PaperTable:
    """The table with the paper's rows, and where they are from."""
    rows = []
    for row in layout.rows:
        # The names of rows with variants end in the variant's.
        model, _, variant = row.model.rpartition(", ") if layout.row_variants else (row.model, "", "")
        labels = (model, variant.replace("/", "\N{LEFT RIGHT ARROW}")) if layout.row_variants else (model,)
        cells = (
            Cell(math.nan if value is None else value, layout.digits if column.digits is None else column.digits)
            for value, column in zip(row.values, columns, strict=True)
        )
        rows.append(Row(labels, tuple(cells), is_published=True, is_model=row.is_model))
    split = table.task.split if table.task else ""
    other = "" if layout.split == split else f" (split: {layout.split}; the runs use {split})"
    is_part = any(is_mini(r) or r.settings.get("limit") or r.settings.get("sample") for r in results)
    return replace(
        table,
        rows=(*table.rows, *rows),
        source=f"Published values: {layout.paper}, {layout.table}{other}.",
        is_comparable=layout.split == split and not is_part,
    )


def _ranked(table: PaperTable, is_ranked: Sequence[bool]) -> PaperTable:
    """The table with marks at the best and second-best numbers of each column.

    The runs are ranked together with the paper's models if comparable, otherwise separately. A model alone has no rank.
    """
    marks: dict[tuple[int, int], str] = {}
    groups = (None,) if table.is_comparable else (False, True)
    for column in (place for place, has_rank in enumerate(is_ranked) if has_rank):
        for group in groups:
            values = {
                place: row.cells[column].value
                for place, row in enumerate(table.rows)
                if row.is_model and math.isfinite(row.cells[column].value) and group in (None, row.is_published)
            }
            # As they are printed.
            texts = {place: float(table.rows[place].cells[column].text) for place in values}
            order = sorted(set(texts.values()), reverse=True)[:2]
            if len(texts) > 1:
                marks |= {(p, column): (BEST, SECOND)[order.index(v)] for p, v in texts.items() if v in order}
    rows = (
        row._replace(cells=tuple(replace(c, mark=marks.get((place, column), "")) for column, c in enumerate(row.cells)))
        for place, row in enumerate(table.rows)
    )
    return replace(table, rows=tuple(rows))


def _across(table: PaperTable) -> PaperTable:
    """The table with models side by side: a row for each group of columns, or for each column without one."""
    parts = dict.fromkeys(head.group or head.text for head in table.heads)
    texts = list(dict.fromkeys(head.text if head.group else "" for head in table.heads))
    places = {(head.group or head.text, head.text if head.group else ""): i for i, head in enumerate(table.heads)}
    heads = [
        Head(row.labels[0] if any(texts) else "", text or row.labels[0], row.is_published)
        for row in table.rows
        for text in texts
    ]
    empty = Cell(math.nan, 0)
    rows = [
        Row(
            (part,),
            tuple(r.cells[places[part, t]] if (part, t) in places else empty for r in table.rows for t in texts),
        )
        for part in parts
    ]
    return replace(table, heads=tuple(heads), rows=tuple(rows))
