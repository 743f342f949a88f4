"""The papers' tables with the rows of runs, so that both can be compared; as Markdown and LaTeX too.

What they look like is in `published`. Texts of models and datasets are escaped: they cannot become markup.
"""

import math
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from typing import Any

from eyechart.evaluators.published import PERCENT, PublishedTable, TableColumn, published_tables
from eyechart.evaluators.published.rendering import CHANCE, Cell, Row, Table, at, cell, chance_cell, render
from eyechart.evaluators.report.drawing import one_line
from eyechart.evaluators.report.reported_task import ReportedTask, averaged_databases, texts_of
from eyechart.evaluators.results.finished_runs import is_mini_data
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.evaluators.tasks import known_task, paper_of, task_title
from eyechart.metrics.scores import specs_in

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()<>#|!~&])")
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    # At the beginning of a row, these two would be arguments of the previous row's end.
    "[": "{[}",
    "*": "{*}",
    "\N{EN DASH}": "--",
    "\N{GREEK SMALL LETTER KAPPA}": r"$\kappa$",
    "\N{GREEK SMALL LETTER ALPHA}": r"$\alpha$",
    "\N{GREEK SMALL LETTER RHO}": r"$\rho$",
    "\N{GREEK CAPITAL LETTER DELTA}": r"$\Delta$",
    "\N{LEFT RIGHT ARROW}": r"$\leftrightarrow$",
    # A non-breaking space before the percent sign; hyphens that do not become a dash.
    " %": r"\,\%",
    "--": "-{}-",
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
}
_SPECIAL = re.compile("|".join(map(re.escape, _LATEX)))
_COMMANDS = {"best": r"\textbf{%s}", "second": r"\underline{%s}", "": "%s"}
_FIT = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"


def tables_of(task: ReportedTask) -> list[Table]:
    """The tables of a task; databases of an average stand in the average's tables."""
    key = task.key
    if key.dataset in averaged_databases(key.task) or not task.scored:
        return []
    tables = []
    layouts = published_tables().items()
    for name, layout in layouts if known_task(key.task) else (*_own_layouts(task), *layouts):
        is_here = key.task in (layout.tasks or [key.task]) and key.split in (layout.splits or [key.split])
        if is_here and key.dataset == (layout.dataset or key.dataset):
            results = {label: result for label, result in task.scored.items() if _belongs(layout, result)}
            if (table := _filled(layout, replace(task, scored=results))) is not None:
                tables.append(replace(table, key=key.file_name((layout.table or name).lower())))
    return tables


def _own_layouts(task: ReportedTask) -> Iterator[tuple[str, PublishedTable]]:
    """All scores of a task of your own, then its headline by each group."""

    def layout(title: str, columns: list[TableColumn]) -> PublishedTable:
        return PublishedTable.model_construct(tasks=[], title=title, unit=PERCENT, digits=2, columns=columns)

    scores = next(iter(task.scored.values())).scores or {}
    yield "scores", layout("Scores", [TableColumn.of(spec) for spec in specs_in(scores) if spec.in_table])
    if (headline := task.headline) is not None:
        for group, values in task.groups.items():
            columns = [TableColumn.of(headline, (f"by_{group}", value), value) for value in values]
            yield f"scores_by_{group}", layout(f"{headline.label} by {group}", columns)


def _belongs(layout: PublishedTable, result: TaskResult) -> bool:
    has_all = all(result.settings.get(name) == value for name, value in layout.only.items())
    return has_all and not any(result.settings.get(name) == value for name, value in layout.unless.items())


def _filled(layout: PublishedTable, task: ReportedTask) -> Table | None:
    """A table with the runs' rows; None if no run has a score in it."""
    key, results = task.key, task.scored
    columns = [expanded for column in layout.columns for expanded in _expanded(column, results)]
    rows = [row for label, result in results.items() for row in _rows(layout, columns, label, result)]
    if not rows:
        return None
    if not layout.rows:
        filled = [any(math.isfinite(row.cells[i].value) for row in rows) for i in range(len(columns))]
        columns = list(compress(columns, filled))
        rows = [row._replace(cells=tuple(compress(row.cells, filled))) for row in rows]
    if layout.chance_row:
        levels = [tuple(chance_cell(column, result.scores or {}) for column in columns) for result in results.values()]
        if len({tuple(level.text for level in of_run) for of_run in levels}) == 1:
            rows.insert(0, Row((CHANCE,), levels[0], is_model=False))
    is_paper_s = bool(layout.rows) and layout.tasks[0] == key.task
    settings = [result.settings for result in results.values()]
    is_part = any(is_mini_data(of_run) or of_run.get("limit") or of_run.get("sample") for of_run in settings)
    is_comparable = is_paper_s and layout.split == key.split and not is_part
    table = render(layout, columns, rows, is_comparable=is_comparable, has_published=is_paper_s)
    other = "" if layout.split == key.split else f" (split: {layout.split}; the runs use {key.split})"
    paper, details = paper_of(key.task).name, "; ".join(filter(None, (task_title(key.task), task.data)))
    return replace(
        table,
        caption=f"{'' if table.title.startswith(paper) else f'{paper}: '}{table.title} ({details})",
        note=re.sub(r"\{([\w.: ]+)\}", lambda name: " or ".join(texts_of(results, name[1])) or "unknown", layout.note),
        source=table.source and f"{table.source}{other}.",
    )


def _expanded(column: TableColumn, results: Mapping[str, TaskResult]) -> Iterator[TableColumn]:
    """The column, or one for each key that a star stands for."""
    path = column.path[0]
    if "*" not in path:
        yield column
        return
    star = path.index("*")
    parts = [at(_scores(result, column.variant), path[:star]) for result in results.values()]
    for name in sorted({name for part in parts if isinstance(part, Mapping) for name in part}):
        yield column.model_copy(update={"label": name, "path": ((*path[:star], name, *path[star + 1 :]),)})


def _scores(result: TaskResult, variant: str) -> Mapping[str, Any]:
    if variant:
        return result.variants.get(variant, {})
    return {**(result.scores or {}), "diagnostics": result.diagnostics}


def _rows(layout: PublishedTable, columns: Sequence[TableColumn], label: str, result: TaskResult) -> list[Row]:
    """The rows of a run; none if it has no scores, or too few variants to compare."""
    name = f"{label} (without images)" if result.settings.get("blind") is True else label
    variants = layout.row_variants
    sources: list[tuple[tuple[str, ...], str | None]] = [((name,), None)]
    if variants is not None:
        same = next(texts_of({label: result}, variants.setting), "")
        sources = [((name, text), "" if variant == same else variant) for text, variant in variants.rows.items()]
    rows = [
        Row(labels, tuple(cell(c, _scores(result, c.variant if source is None else source)) for c in columns))
        for labels, source in sources
    ]
    # The other columns of a table of an alternative scoring are there to compare with.
    counted = [i for i, column in enumerate(columns) if column.variant] or range(len(columns))
    filled = sum(any(math.isfinite(row.cells[i].value) for i in counted) for row in rows)
    return rows if filled >= min(2, len(sources)) else []


def to_markdown(table: Table) -> str:
    """A Markdown table below its title."""
    rows = [[markdown(text) for text in row] for row in (table.columns, *table.texts)]
    rows.insert(1, ["---"] * len(table.columns))
    lines = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    notes = "".join(f"\n{markdown(text)}\n" for text in (table.note, table.source) if text)
    return f"**{markdown(table.caption)}**\n\n{lines}\n{notes}"


def to_latex(table: Table) -> str:
    """A floating table with caption and label; the best values are bold, the second best underlined."""
    from pandas import DataFrame, MultiIndex

    heads = [("", _escaped(head)) for head in table.corner]
    heads += [(_escaped(head.group), _broken(head.text)) for head in table.heads]
    rows = [[*map(_escaped, row.labels), *(_latex(cell) for cell in row.cells)] for row in table.rows]
    runs = sum(not row.is_published for row in table.rows)
    if 0 < runs < len(rows):
        rows[runs][0] = f"\\midrule\n{rows[runs][0]}"
    layout = "l" * len(table.corner) + "c" * len(table.heads)
    has_groups = any(group for group, _ in heads)
    frame = DataFrame(rows, columns=MultiIndex.from_tuples(heads) if has_groups else [head for _, head in heads])
    tabular = frame.to_latex(index=False, escape=False, column_format=layout, multicolumn_format="c")
    has_intervals = any(cell.interval for row in table.rows for cell in row.cells)
    brackets = "In brackets: 95 % intervals." if has_intervals else ""
    caption = " ".join(filter(None, (f"{table.caption}.", table.note, brackets, table.source)))
    environment = "table*" if len(table.columns) > 5 else "table"
    text = "\n".join(
        [
            rf"\begin{{{environment}}}",
            r"\centering",
            rf"\caption{{{_escaped(caption)}}}",
            rf"\label{{tab:{table.key}}}",
            _FIT,
            f"{tabular.rstrip()}}}",
            rf"\end{{{environment}}}",
        ]
    )
    comment = f"% In the preamble: \\usepackage{{booktabs,graphicx}}. In the text: \\input{{{table.key}.tex}}\n"
    return f"{comment}{text}\n"


def markdown(text: str) -> str:
    """A text of unknown origin on one line, as Markdown shows it."""
    return _MARKDOWN.sub(r"\\\1", one_line(text))


def _escaped(text: str) -> str:
    return _SPECIAL.sub(lambda match: _LATEX[match[0]], one_line(text))


def _latex(cell: Cell) -> str:
    """A number with its mark, above its interval."""
    value = _COMMANDS[cell.mark] % _signed(cell.text)
    return _stacked([value, rf"{{\scriptsize {_signed(cell.interval)}}}"], "t") if cell.interval else value


def _signed(text: str) -> str:
    return re.sub(r"(?<!\d)-(?=\d)", "$-$", _escaped(text))


def _broken(head: str) -> str:
    """A head in lines of 12 characters."""
    return _stacked([*map(_escaped, textwrap.wrap(one_line(head), 12, break_long_words=False))] or [""], "b")


def _stacked(lines: Sequence[str], position: str) -> str:
    if len(lines) == 1:
        return lines[0]
    return rf"\begin{{tabular}}[{position}]{{@{{}}c@{{}}}}" + r" \\ ".join(lines) + r"\end{tabular}"
