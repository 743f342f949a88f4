"""The CSV files that eyechart writes: no cell is a formula for a spreadsheet, which could run a program."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?(e[+-]?\d+)?", re.ASCII)
_QUOTED = re.compile('[,"\r\n]')


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    r"""Comma-separated values (RFC 4180) with a header; a text that is a formula begins with an apostrophe.

    Examples:
        >>> csv_text(["id", "score"], [["\t=1+1", -0.5], ["-3", 0.25]])
        "id,score\n'\t=1+1,-0.5\n-3,0.25\n"
    """
    return "".join(f"{','.join(map(_field, row))}\n" for row in (columns, *rows))


def unescaped(cell: str) -> str:
    """The text of a cell that `csv_text` wrote."""
    return cell[1:] if cell.startswith("'") and _is_formula(cell) else cell


def _field(cell: Any) -> str:
    text = f"'{cell}" if isinstance(cell, str) and _is_formula(cell) else str(cell)
    # Python's `csv` leaves a carriage return without quotation marks, and readers take it for the end of the row.
    return '"{}"'.format(text.replace('"', '""')) if _QUOTED.search(text) else text


def _is_formula(cell: str) -> bool:
    # Spreadsheets may skip blanks, control and invisible characters. An apostrophe counts as blank, so that `unescaped`
    # removes only what `csv_text` added.
    first = next((sign for sign in cell if sign != "'" and unicodedata.category(sign)[0] not in "CZ"), "")
    return unicodedata.normalize("NFKC", first) in tuple("=+-@\N{MINUS SIGN}") and not _NUMBER.fullmatch(cell)
