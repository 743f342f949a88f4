r"""A table as LaTeX. Texts of models and datasets are escaped: they cannot become commands.

The files need the packages booktabs and graphicx. A table that is wider than a column spans both columns; a table that
is wider than the page is scaled to fit. Below a run's scores are their 95 % intervals. With several runs, an asterisk
marks scores that are significantly lower than the best one.
"""

import re
from collections.abc import Iterator, Sequence

from eyechart.evaluators.comparison.verdicts import LEVEL
from eyechart.evaluators.report.charts import one_line
from eyechart.evaluators.report.differences import RunDifferences
from eyechart.evaluators.report.paper_tables import PaperTable
from eyechart.evaluators.report.paper_tables.cells import INDEX, ScoreOfRun
from eyechart.evaluators.report.paper_tables.ranking import BEST, SECOND, ranks
from eyechart.metrics.scores import spec

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
_MINUS = re.compile(r"(?:^|(?<=[ \[]))-(?=\d)")
_PIECES = re.compile(r"\S+?(?:[-/]|(?=\s|$))|\s")
"""Pieces between which a head may be broken: at spaces, and after hyphens and slashes."""
_NARROWEST_HEAD = 10
"""Characters that a line of a head may always have."""
_COLUMN = 250
"""Approximate width of a paper's column, in points."""
_LETTER, _GAP = 5, 12
"""Points: the width of an average character, the space between two columns."""
_SMALL = 0.7
"""Size of intervals, relative to the scores."""
_LAST_LATIN = "\u017f"
"""The last character that pdfLaTeX can set without further packages."""


def to_latex(table: PaperTable, tests: RunDifferences | None = None) -> str:
    r"""A floating table with caption and label; the best values are bold, the second best underlined.

    Args:
        table: The table.
        tests: The paired tests between several runs.

    Examples:
        >>> rows = (("a_b", "50.00"), ("c", "40.00"))
        >>> latex = to_latex(PaperTable("t", "T", ("Model", "Overall (%)"), rows))
        >>> r"a\_b & \textbf{50.00} \\" in latex, r"\underline{40.00}" in latex, r"(\%)" in latex
        (True, True, True)
    """
    rows = list(_rows(table, tests))
    own, published = rows[: len(table.rows)], rows[len(table.rows) :]
    scores = [score for row in table.rows for cell in row for score in _scores(cell)]
    intervals = "In brackets: 95 % intervals." if any(score.interval for score in scores) else ""
    texts = (table.note, intervals, _tested(scores, tests), table.source)
    notes = "".join(f" {_escaped(text)}" for text in texts if text)
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


def _rows(table: PaperTable, tests: RunDifferences | None) -> Iterator[str]:
    """The rows, each followed by the intervals of its scores if it has any."""
    marks = ranks(table)
    for row, cells in enumerate(table.all_rows):
        values = []
        for column, cell in enumerate(cells):
            numbers = []
            for place, part in enumerate(cell.split("/") if column >= table.labels else [cell]):
                is_lower = tests is not None and any(map(tests.against_best.is_lower, _scores(cell)[place : place + 1]))
                numbers.append(_value(part, marks.get((row, column, place)), is_lower))
            values.append("/".join(numbers))
        line = rf"    {' & '.join(values)} \\"
        intervals = [_interval(cell) for cell in cells]
        if any(intervals):
            small = (rf"{{\scriptsize {_signed(text)}}}" if text else "" for text in intervals)
            line += "\n" + rf"    {' & '.join(small)} \\ \addlinespace"
        yield line


def _scores(cell: str) -> tuple[ScoreOfRun, ...]:
    return getattr(cell, "scores", ())


def _interval(cell: str) -> str:
    intervals = [score.interval for score in _scores(cell)]
    return "/".join(text or "\N{EN DASH}" for text in intervals) if any(intervals) else ""


def _tested(scores: Sequence[ScoreOfRun], tests: RunDifferences | None) -> str:
    """What the asterisks mean; "" if none of the scores is tested."""
    if tests is None:
        return ""
    by_test: dict[str, dict[str, None]] = {}
    for score in scores:
        if test := tests.against_best.test(score):
            by_test.setdefault(test, {})[spec(score.key).label] = None
    if not by_test:
        return ""
    is_any_lower = any(map(tests.against_best.is_lower, scores))
    begin = "*: lower" if is_any_lower else "No score is significantly lower"
    names = "; ".join(f"{', '.join(labels)} by {test}" for test, labels in by_test.items())
    adjusted = f"; Holm-adjusted over {tests.pairs:,} pairs of runs" if tests.pairs > 1 else ""
    level = f"p {'<' if is_any_lower else 'at least'} {LEVEL}"
    return f"{begin} than the best of the runs ({level}). Tested on all items: {names}{adjusted}."


def _value(text: str, mark: str | None, is_lower: bool) -> str:
    value = f"{_COMMANDS[mark]}{{{_signed(text)}}}" if mark else _signed(text)
    return f"{value}$^{{*}}$" if is_lower else value


def _signed(text: str) -> str:
    return _MINUS.sub("$-$", _escaped(text))


def _alignment(table: PaperTable) -> str:
    """The columns of the `tabular`: texts left-aligned, scores centred, published columns set apart."""
    scores = len(table.columns) - table.labels
    apart = r"@{\hspace{2em}}" if table.published_columns else ""
    return f"{'l' * table.labels}{'c' * (scores - table.published_columns)}{apart}{'c' * table.published_columns}"


def _head(table: PaperTable) -> Iterator[str]:
    """Lines of the head: what neighbouring heads share is written once above them."""
    if any(group.name for group in table.groups):
        cells, rules = [""] * table.labels, []
        for name, column, heads in table.groups:
            if name:
                end = column + len(heads)
                room = sum(max(_longest(table, place), 1) + 2 for place in range(column, end))
                lines = _lines(name, max(_NARROWEST_HEAD, room))
                cells.append(rf"\multicolumn{{{len(heads)}}}{{c}}{{{_broken(lines)}}}")
                rules.append(rf"\cmidrule(lr){{{column + 1}-{end}}}")
            else:
                cells.append("")
        yield rf"    {' & '.join(cells)} \\"
        yield f"    {''.join(rules)}"
    yield rf"    {' & '.join(map(_broken, _heads(table)))} \\"


def _heads(table: PaperTable) -> list[list[str]]:
    """The lines of each head below its group, broken to the width of its column if possible."""
    heads = [*table.columns[: table.labels], *(head for group in table.groups for head in group.heads)]
    return [_lines(head, max(_NARROWEST_HEAD, _longest(table, place))) for place, head in enumerate(heads)]


def _longest(table: PaperTable, column: int) -> int:
    cells = [row[column] for row in table.all_rows]
    return max((max(len(cell), round(_SMALL * len(_interval(cell)))) for cell in cells), default=0)


def _lines(head: str, length: int) -> list[str]:
    lines = [""]
    for piece in _PIECES.findall(one_line(head)):
        if lines[-1] and len((lines[-1] + piece).rstrip()) > length:
            lines.append("")
        lines[-1] += piece if lines[-1] or piece.strip() else ""
    return [line.strip() for line in lines]


def _broken(lines: Sequence[str]) -> str:
    escaped = [INDEX.sub(r"\1$_{\2}$", _escaped(line)) for line in lines]
    if len(escaped) == 1:
        return escaped[0]
    return r"\begin{tabular}[b]{@{}c@{}}" + r" \\ ".join(escaped) + r"\end{tabular}"


def _width(table: PaperTable) -> int:
    """Approximate width of the table, in points."""
    heads = [max(map(len, lines)) for lines in _heads(table)]
    widths = [max(head, _longest(table, place)) for place, head in enumerate(heads)]
    return sum(_LETTER * width + _GAP for width in widths)
