"""A table as CSV, Markdown and LaTeX, in which no text of a model or a data set can be anything but text.

Spreadsheets take a text for a formula that begins as one. In CSV, such a text has an apostrophe before it.
"""

import csv
import io
import re
from collections.abc import Callable, Mapping

from eyechart.evaluators.report.paper_tables import PaperTable
from eyechart.evaluators.report.paper_tables.ranking import BEST, SECOND, ranks

_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\N{EN DASH}": "--",
    "\N{GREEK SMALL LETTER KAPPA}": r"$\kappa$",
    "\N{GREEK SMALL LETTER ALPHA}": r"$\alpha$",
    "\N{GREEK SMALL LETTER RHO}": r"$\rho$",
    "\N{GREEK CAPITAL LETTER DELTA}": r"$\Delta$",
    "\N{LEFT RIGHT ARROW}": r"$\leftrightarrow$",
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
}
_COMMANDS = {BEST: r"\textbf", SECOND: r"\underline"}
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()<>#|!~&])")
_NUMBER = r"[+-]?\d+(?:\.\d+)?%?"
_NUMBERS = re.compile(rf"{_NUMBER}(?:/(?:{_NUMBER}|\N{{EN DASH}}))?")
"""A score, or two of which the second may be undefined."""


def to_csv(table: PaperTable) -> str:
    """Comma-separated values with a head: RFC 4180, without the title.

    Examples:
        >>> print(to_csv(PaperTable("t", "T", ("Model", "Overall"), (("a, b", "50.00%"), ("=b", "-1.0%")))), end="")
        Model,Overall
        "a, b",50.00%
        '=b,-1.0%
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([map(_no_formula, row) for row in (table.columns, *table.all_rows)])
    return text.getvalue()


def to_markdown(table: PaperTable) -> str:
    r"""A Markdown table below its title.

    Examples:
        >>> print(to_markdown(PaperTable("t", "T", ("Model", "Overall"), (("<b>|x", "50.00%"),))), end="")
        **T**
        <BLANKLINE>
        | Model | Overall |
        |---|---|
        | \<b\>\|x | 50.00% |
    """
    lines = [_markdown_row(table.columns), "|" + "---|" * len(table.columns), *map(_markdown_row, table.all_rows)]
    note = "".join(f"\n{_markdown(text)}\n" for text in (table.note, table.source) if text)
    return f"**{_markdown(table.whole_title)}**\n\n" + "\n".join(lines) + f"\n{note}"


def to_latex(table: PaperTable) -> str:
    r"""A LaTeX `table` with a `tabular` of the package booktabs; the best values are bold, the second best underlined.

    Examples:
        >>> rows = (("a_b", "50.00%"), ("c", "40.00%"))
        >>> latex = to_latex(PaperTable("t", "T", ("Model", "Overall"), rows))
        >>> r"a\_b & \textbf{50.00\%} \\" in latex, r"\underline{40.00\%}" in latex
        (True, True)
    """
    marks = ranks(table)
    rows = [_latex_cells(table, place, marks) for place in range(len(table.all_rows))]
    own, published = rows[: len(table.rows)], rows[len(table.rows) :]
    notes = "".join(f" {_latex(text)}" for text in (table.note, table.source) if text)
    scores = len(table.columns) - table.labels
    across = f"{'c' * (scores - table.published_columns)}|{'c' * table.published_columns}"
    return "\n".join(
        [
            r"\begin{table}",
            r"  \centering",
            rf"  \caption{{{_latex(table.whole_title)}.{notes}}}",
            rf"  \begin{{tabular}}{{{'l' * table.labels}{across if table.published_columns else 'c' * scores}}}",
            r"    \toprule",
            rf"    {' & '.join(map(_latex, table.columns))} \\",
            r"    \midrule",
            *own,
            *([r"    \midrule", *published] if published else []),
            r"    \bottomrule",
            r"  \end{tabular}",
            r"\end{table}",
            "",
        ]
    )


WRITERS: Mapping[str, Callable[[PaperTable], str]] = {"csv": to_csv, "md": to_markdown, "tex": to_latex}
"""What writes a table, by the file's ending."""


def _no_formula(text: str) -> str:
    begins_as_one = text.lstrip().startswith(("=", "+", "-", "@"))
    return f"'{text}" if begins_as_one and not _NUMBERS.fullmatch(text) else text


def _one_line(text: str) -> str:
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def _markdown(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", _one_line(text))


def _markdown_row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(map(_markdown, cells))} |"


def _latex(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in _one_line(text))


def _latex_cells(table: PaperTable, row: int, marks: Mapping[tuple[int, int, int], str]) -> str:
    cells = []
    for column, cell in enumerate(table.all_rows[row]):
        parts = cell.split("/") if column >= table.labels else [cell]
        cells.append("/".join(_marked(part, marks.get((row, column, place))) for place, part in enumerate(parts)))
    return rf"    {' & '.join(cells)} \\"


def _marked(text: str, mark: str | None) -> str:
    return rf"{_COMMANDS[mark]}{{{_latex(text)}}}" if mark else _latex(text)
