"""A table as CSV, Markdown and LaTeX. Texts of models and datasets are escaped: they cannot become formulas or markup.

Spreadsheets read a text as a formula if it begins with =, +, - or @; in CSV, such a text gets a leading apostrophe.
"""

import re
import textwrap
from collections.abc import Sequence

from eyechart.evaluators.published.rendering import BEST, SECOND, Cell, Table
from eyechart.evaluators.report.drawing import one_line

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
_WIDE = 5
"""Most columns that fit in a column of a paper."""
_LAST_LATIN = "\u017f"
"""The last character that pdfLaTeX can set without further packages."""


def to_csv(table: Table) -> str:
    """Comma-separated values (RFC 4180) with a header row, without the title."""
    from pandas import DataFrame

    labels = len(table.corner)
    rows = [[*map(_no_formula, row[:labels]), *row[labels:]] for row in table.texts]
    return DataFrame(rows, columns=list(map(_no_formula, table.columns))).to_csv(index=False, lineterminator="\n")


def to_markdown(table: Table) -> str:
    """A Markdown table below its title."""
    rows = [[_markdown(text) for text in row] for row in (table.columns, *table.texts)]
    rows.insert(1, ["---"] * len(table.columns))
    lines = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    notes = "".join(f"\n{_markdown(text)}\n" for text in (table.note, table.source) if text)
    return f"**{_markdown(table.caption)}**\n\n{lines}\n{notes}"


def to_latex(table: Table) -> str:
    """A floating table with caption and label; the best values are bold, the second best underlined."""
    from pandas import DataFrame, MultiIndex

    heads = [("", _escaped(head)) for head in table.corner]
    heads += [(_escaped(head.group), _broken(head.text)) for head in table.heads]
    rows = [[*map(_escaped, row.labels), *(_latex(cell) for cell in row.cells)] for row in table.rows]
    runs = sum(not row.is_published for row in table.rows)
    if 0 < runs < len(rows):
        rows[runs][0] = f"\\midrule\n{rows[runs][0]}"
    published = sum(head.is_published for head in table.heads)
    layout = "l" * len(table.corner) + "c" * (len(table.heads) - published)
    layout += rf"@{{\hspace{{2em}}}}{'c' * published}" if published else ""
    has_groups = any(group for group, _ in heads)
    frame = DataFrame(rows, columns=MultiIndex.from_tuples(heads) if has_groups else [head for _, head in heads])
    tabular = frame.to_latex(index=False, escape=False, column_format=layout, multicolumn_format="c")
    has_intervals = any(cell.interval for row in table.rows for cell in row.cells)
    brackets = "In brackets: 95 % intervals." if has_intervals else ""
    caption = " ".join(filter(None, (f"{table.caption}.", table.note, brackets, table.source)))
    environment = "table*" if len(table.columns) > _WIDE else "table"
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
    if any(letter > _LAST_LATIN for letter in text):
        comment += "% pdfLaTeX may lack some characters of this table; compile with XeLaTeX or LuaLaTeX.\n"
    return f"{comment}{text}\n"


def _no_formula(text: str) -> str:
    return f"'{text}" if text.lstrip().startswith(("=", "+", "-", "@")) else text


def _markdown(text: str) -> str:
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
    """A head in lines."""
    return _stacked([*map(_escaped, textwrap.wrap(one_line(head), _HEAD_LENGTH, break_long_words=False))] or [""], "b")


def _stacked(lines: Sequence[str], position: str) -> str:
    if len(lines) == 1:
        return lines[0]
    return rf"\begin{{tabular}}[{position}]{{@{{}}c@{{}}}}" + r" \\ ".join(lines) + r"\end{tabular}"
