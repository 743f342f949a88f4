r"""A table as CSV, Markdown and LaTeX. Texts of models and datasets are escaped: they cannot become formulas or markup.

Spreadsheets read a text as a formula if it begins with =, +, - or @. In CSV, such a text gets a leading apostrophe.
LaTeX files need the packages booktabs and graphicx. A table that is wider than a column spans both columns; a table
that is wider than the page is scaled to fit. Below a run's scores are their 95 % intervals. With several runs, an
asterisk marks scores that are significantly lower than the best one.
"""

import re
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from eyechart.evaluators.comparison.verdicts import LEVEL
from eyechart.evaluators.report.charts import one_line
from eyechart.evaluators.report.differences import RunDifferences
from eyechart.evaluators.report.tables import BEST, INDEX, SECOND, Cell, PaperTable
from eyechart.metrics.scores import spec

if TYPE_CHECKING:
    from pandas import DataFrame

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
_COMMANDS = {BEST: r"\textbf{%s}", SECOND: r"\underline{%s}", "": "%s"}
_FIT = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
_HEAD_LENGTH = 12
"""Characters in a line of a head."""
_WIDE = 45
"""Characters that fit in a column of a paper."""
_LAST_LATIN = "\u017f"
"""The last character that pdfLaTeX can set without further packages."""


def to_csv(table: PaperTable) -> str:
    """Comma-separated values (RFC 4180) with a header row, without the title."""
    return _frame([[*map(_no_formula, row.labels), *(cell.text for cell in row.cells)] for row in table.rows]).to_csv(
        index=False, header=[_no_formula(column) for column in table.columns], lineterminator="\n"
    )


def to_markdown(table: PaperTable) -> str:
    """A Markdown table below its title."""
    rows = [table.columns, ["---"] * len(table.columns)]
    rows += [[*row.labels, *(cell.text for cell in row.cells)] for row in table.rows]
    lines = [
        f"| {' | '.join(cell if number == 1 else _markdown(cell) for cell in row)} |" for number, row in enumerate(rows)
    ]
    note = "".join(f"\n{_markdown(text)}\n" for text in (table.note, table.source) if text)
    return f"**{_markdown(table.caption)}**\n\n" + "\n".join(lines) + f"\n{note}"


def to_latex(table: PaperTable, tests: RunDifferences | None = None) -> str:
    """A floating table with caption and label; the best values are bold, the second best underlined.

    Args:
        table: The table.
        tests: The paired tests between several runs.
    """
    from pandas import MultiIndex

    frame = _frame([[*map(_escaped, row.labels), *(_latex(cell, tests) for cell in row.cells)] for row in table.rows])
    broken = [("", _escaped(head)) for head in table.corner] + [
        (_escaped(head.group), _broken(head.text)) for head in table.heads
    ]
    has_groups = any(group for group, _ in broken)
    frame.columns = MultiIndex.from_tuples(broken) if has_groups else [head for _, head in broken]
    count = sum(head.is_published for head in table.heads)
    apart = r"@{\hspace{2em}}" if count else ""
    caption = [
        f"{_escaped(table.caption)}.",
        *map(_escaped, filter(None, (table.note, *_remarks(table, tests), table.source))),
    ]
    latex = frame.to_latex(
        index=False,
        escape=False,
        column_format=f"{'l' * len(table.corner)}{'c' * (len(table.heads) - count)}{apart}{'c' * count}",
        multicolumn_format="c",
        caption=" ".join(caption),
        label=f"tab:{table.key}",
    )
    top, _, rest = latex.replace(r"\begin{table}", "\\begin{table}\n\\centering").partition(r"\begin{tabular}")
    heads_of, rule, rest = rest.partition("\\midrule\n")
    rows, _, bottom = rest.rpartition(r"\end{tabular}")
    lines = rows.splitlines(keepends=True)
    own = sum(not row.is_published for row in table.rows)
    lines.insert(own, rule if own < len(table.rows) else "")
    text = f"{top}{_FIT}\n\\begin{{tabular}}{heads_of}{rule}{''.join(lines)}\\end{{tabular}}}}{bottom}"
    comment = f"% In the preamble: \\usepackage{{booktabs,graphicx}}. In the text: \\input{{{table.key}.tex}}\n"
    if any(letter > _LAST_LATIN for letter in text):
        comment += "% pdfLaTeX may lack some characters of this table; compile with XeLaTeX or LuaLaTeX.\n"
    return comment + (text.replace("{table}", "{table*}") if _is_wide(table) else text)


def _frame(rows: Sequence[Sequence[str]]) -> "DataFrame":
    from pandas import DataFrame

    return DataFrame(rows, dtype=object)


def _no_formula(text: str) -> str:
    return f"'{text}" if text.lstrip().startswith(("=", "+", "-", "@")) else text


def _markdown(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", one_line(text))


def _escaped(text: str) -> str:
    return _SPECIAL.sub(lambda found: _LATEX[found[0]], one_line(text))


def _latex(cell: Cell, tests: RunDifferences | None) -> str:
    """A number with its mark, above its interval."""
    value = _COMMANDS[cell.mark] % _signed(cell.text)
    if tests is not None and cell.score in tests.lower:
        value += "$^{*}$"
    return _stacked([value, rf"{{\scriptsize {_signed(cell.interval)}}}"], "t") if cell.interval else value


def _signed(text: str) -> str:
    return re.sub(r"(?<!\d)-(?=\d)", "$-$", _escaped(text))


def _broken(head: str) -> str:
    """A head in lines, with indices below the line."""
    lines = textwrap.wrap(one_line(head), _HEAD_LENGTH, break_long_words=False) or [""]
    return _stacked([INDEX.sub(r"\1$_{\2}$", _escaped(line)) for line in lines], "b")


def _stacked(lines: Sequence[str], place: str) -> str:
    return (
        lines[0]
        if len(lines) == 1
        else rf"\begin{{tabular}}[{place}]{{@{{}}c@{{}}}}" + r" \\ ".join(lines) + r"\end{tabular}"
    )


def _is_wide(table: PaperTable) -> bool:
    """Whether the table is wider than a column of a paper, by its characters."""
    columns = zip(*(row.labels + row.cells for row in table.rows), strict=True)
    widths = [
        max(0.7 * len(c.interval) or len(c.text) if isinstance(c, Cell) else len(c) for c in column)
        for column in columns
    ]
    return sum(max(width, 6) + 2 for width in widths) > _WIDE


def _remarks(table: PaperTable, tests: RunDifferences | None) -> list[str]:
    """What the brackets and the asterisks mean."""
    cells = [cell for row in table.rows for cell in row.cells]
    remarks = ["In brackets: 95 % intervals."] if any(cell.interval for cell in cells) else []
    tested = [cell.score for cell in cells if tests is not None and cell.score in tests.against_best]
    if tests is None or not tested:
        return remarks
    by_test: dict[str, dict[str, None]] = {}
    for score in filter(None, tested):
        by_test.setdefault(tests.against_best[score], {})[spec(score.score).label] = None
    is_any_lower = not tests.lower.isdisjoint(tested)
    begin = "*: lower" if is_any_lower else "No score is significantly lower"
    names = "; ".join(f"{', '.join(labels)} by {test}" for test, labels in by_test.items())
    adjusted = f"; Holm-adjusted over {tests.pairs:,} pairs of runs" if tests.pairs > 1 else ""
    level = f"p {'<' if is_any_lower else 'at least'} {LEVEL}"
    return [*remarks, f"{begin} than the best of the runs ({level}). Tested on all items: {names}{adjusted}."]
