"""A table as CSV and Markdown. Texts of models and datasets are escaped: they cannot become formulas or markup.

Spreadsheets read a text as a formula if it begins with =, +, - or @. In CSV, such a text gets a leading apostrophe.
"""

import csv
import io
import re

from eyechart.evaluators.report.charts import one_line
from eyechart.evaluators.report.paper_tables import PaperTable

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()<>#|!~&])")
_NUMBER = r"[+-]?\d+(?:\.\d+)?"
_NUMBERS = re.compile(rf"{_NUMBER}(?:/(?:{_NUMBER}|\N{{EN DASH}}))?")
"""A score, or two of which the second may be undefined."""


def to_csv(table: PaperTable) -> str:
    """Comma-separated values (RFC 4180) with a header row, without the title.

    Examples:
        >>> print(to_csv(PaperTable("t", "T", ("Model", "Overall (%)"), (("a, b", "50.00"), ("=b", "-1.0")))), end="")
        Model,Overall (%)
        "a, b",50.00
        '=b,-1.0
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([map(_no_formula, row) for row in (table.columns, *table.all_rows)])
    return text.getvalue()


def to_markdown(table: PaperTable) -> str:
    r"""A Markdown table below its title.

    Examples:
        >>> print(to_markdown(PaperTable("t", "T", ("Model", "Overall"), (("<b>|x", "50.00"),))), end="")
        **T**
        <BLANKLINE>
        | Model | Overall |
        |---|---|
        | \<b\>\|x | 50.00 |
    """
    lines = [_markdown_row(table.columns), "|" + "---|" * len(table.columns), *map(_markdown_row, table.all_rows)]
    note = "".join(f"\n{_markdown(text)}\n" for text in (table.note, table.source) if text)
    return f"**{_markdown(table.caption)}**\n\n" + "\n".join(lines) + f"\n{note}"


def _no_formula(text: str) -> str:
    begins_as_one = text.lstrip().startswith(("=", "+", "-", "@"))
    return f"'{text}" if begins_as_one and not _NUMBERS.fullmatch(text) else text


def _markdown(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", one_line(text))


def _markdown_row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(map(_markdown, cells))} |"
