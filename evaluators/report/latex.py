r"""A table as LaTeX. Texts of models and datasets are escaped: they cannot become commands.

The files need the packages booktabs and graphicx. A table that is wider than a column spans both columns; a table that
is wider than the page is scaled to fit.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from eyechart.evaluators.report.charts import one_line
from eyechart.evaluators.report.paper_tables import PaperTable
from eyechart.evaluators.report.paper_tables.ranking import BEST, SECOND, ranks

_SYMBOLS = {
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
    "\N{MINUS SIGN}": "$-$",
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
_SPECIAL = re.compile("|".join(map(re.escape, _SYMBOLS)))
_COMMANDS = {BEST: r"\textbf", SECOND: r"\underline"}
_MINUS = re.compile(r"(?:^|(?<= ))-(?=\d)")
_PIECES = re.compile(r"\S+?(?:[-/]|(?=\s|$))|\s")
"""Pieces between which a head may be broken: at spaces, and after hyphens and slashes."""
_NARROWEST_HEAD = 10
"""Characters that a line of a head may always have."""
_COLUMN = 250
"""Approximate width of a paper's column, in points."""
_LETTER, _GAP = 5, 12
"""Points: the width of an average character, the space between two columns."""
_LAST_LATIN = "\u017f"
"""The last character that pdfLaTeX can set without further packages."""


def to_latex(table: PaperTable) -> str:
    r"""A floating table with caption and label; the best values are bold, the second best underlined.

    Examples:
        >>> rows = (("a_b", "50.00 %"), ("c", "40.00 %"))
        >>> latex = to_latex(PaperTable("t", "T", ("Model", "Overall"), rows))
        >>> r"a\_b & \textbf{50.00\,\%} \\" in latex, r"\underline{40.00\,\%}" in latex
        (True, True)
    """
    marks = ranks(table)
    rows = [_row(table, place, marks) for place in range(len(table.all_rows))]
    own, published = rows[: len(table.rows)], rows[len(table.rows) :]
    notes = "".join(f" {_escaped(text)}" for text in (table.note, table.source) if text)
    kind = "table*" if _width(table) > _COLUMN else "table"
    lines = [
        rf"\begin{{{kind}}}",
        r"  \centering",
        rf"  \caption{{{_escaped(table.caption)}.{notes}}}",
        rf"  \label{{tab:{table.key}}}",
        r"  \resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"  \begin{{tabular}}{{{_alignment(table)}}}",
        r"    \toprule",
        *_head(table),
        r"    \midrule",
        *own,
        *([r"    \midrule", *published] if published else []),
        r"    \bottomrule",
        r"  \end{tabular}}",
        rf"\end{{{kind}}}",
    ]
    needs_unicode = any(letter > _LAST_LATIN for line in lines for letter in line)
    comment = [
        rf"% In the preamble: \usepackage{{booktabs,graphicx}}. In the text: \input{{{table.key}.tex}}",
        *(
            ["% pdfLaTeX may lack some characters of this table; compile with XeLaTeX or LuaLaTeX."]
            if needs_unicode
            else []
        ),
    ]
    return "\n".join([*comment, *lines, ""])


def _escaped(text: str) -> str:
    return _SPECIAL.sub(lambda found: _SYMBOLS[found[0]], one_line(text))


def _row(table: PaperTable, row: int, marks: Mapping[tuple[int, int, int], str]) -> str:
    cells = []
    for column, cell in enumerate(table.all_rows[row]):
        parts = cell.split("/") if column >= table.labels else [cell]
        cells.append("/".join(_value(part, marks.get((row, column, place))) for place, part in enumerate(parts)))
    return rf"    {' & '.join(cells)} \\"


def _value(text: str, mark: str | None) -> str:
    signed = _MINUS.sub("$-$", _escaped(text))
    return f"{_COMMANDS[mark]}{{{signed}}}" if mark else signed


def _alignment(table: PaperTable) -> str:
    """The columns of the `tabular`: texts left-aligned, scores centred, published columns set apart."""
    scores = len(table.columns) - table.labels
    apart = r"@{\hspace{2em}}" if table.published_columns else ""
    return f"{'l' * table.labels}{'c' * (scores - table.published_columns)}{apart}{'c' * table.published_columns}"


def _head(table: PaperTable) -> Iterator[str]:
    """Lines of the head: what neighbouring heads share is written once above them."""
    groups = list(_groups(table))
    if any(name for name, _ in groups):
        cells, rules, place = [""] * table.labels, [], table.labels
        for name, members in groups:
            if name:
                room = sum(max(_longest(table, place + offset), 1) + 2 for offset in range(len(members)))
                lines = _lines(name, max(_NARROWEST_HEAD, room))
                cells.append(rf"\multicolumn{{{len(members)}}}{{c}}{{{_broken(lines)}}}")
                rules.append(rf"\cmidrule(lr){{{place + 1}-{place + len(members)}}}")
            else:
                cells.append("")
            place += len(members)
        yield rf"    {' & '.join(cells)} \\"
        yield f"    {''.join(rules)}"
    yield rf"    {' & '.join(map(_broken, _heads(table)))} \\"


def _groups(table: PaperTable) -> Iterator[tuple[str, list[str]]]:
    """Heads of scores by what they share: neighbours that differ only in their last word; "" for a single head."""
    first = len(table.columns) - table.published_columns
    heads = [(head, place >= first) for place, head in enumerate(table.columns) if place >= table.labels]
    for (name, _), members in groupby(heads, lambda head: (head[0].rpartition(" ")[0], head[1])):
        found = [head for head, _ in members]
        if name and len(found) > 1:
            yield name, [head.rpartition(" ")[2] for head in found]
        else:
            yield from (("", [head]) for head in found)


def _heads(table: PaperTable) -> list[list[str]]:
    """The lines of each head below its group, broken to the width of its column if possible."""
    heads = [*table.columns[: table.labels], *(head for _, members in _groups(table) for head in members)]
    return [_lines(head, max(_NARROWEST_HEAD, _longest(table, place))) for place, head in enumerate(heads)]


def _longest(table: PaperTable, column: int) -> int:
    return max((len(row[column]) for row in table.all_rows), default=0)


def _lines(head: str, length: int) -> list[str]:
    lines = [""]
    for piece in _PIECES.findall(one_line(head)):
        if lines[-1] and len((lines[-1] + piece).rstrip()) > length:
            lines.append("")
        lines[-1] += piece if lines[-1] or piece.strip() else ""
    return [line.strip() for line in lines]


def _broken(lines: Sequence[str]) -> str:
    escaped = [_escaped(line) for line in lines]
    if len(escaped) == 1:
        return escaped[0]
    return r"\begin{tabular}[b]{@{}c@{}}" + r" \\ ".join(escaped) + r"\end{tabular}"


def _width(table: PaperTable) -> int:
    """Approximate width of the table, in points."""
    heads = [max(map(len, lines)) for lines in _heads(table)]
    widths = [max(head, _longest(table, place)) for place, head in enumerate(heads)]
    return sum(_LETTER * width + _GAP for width in widths)
