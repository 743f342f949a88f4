"""Items: what each row of a metric's input gave, as columns of plain Python values.

Every metric is two functions. One reads the replies, and asks a judge where there is one; it returns the items, a dict
of lists as long as its input, with None for nothing. It may be called for some rows at a time, as replies arrive. The
other computes all scores from these columns, the references and the settings; it sees no reply. So scores can be
computed again from stored columns, and are equal.
"""

from collections.abc import Mapping, Sequence
from typing import Any

Items = dict[str, list[Any]]
"""Columns that were made, by name."""
ItemColumns = Mapping[str, Sequence[Any]]
"""Columns that are read, from wherever they were stored."""


def select_rows(items: ItemColumns, rows: Sequence[int]) -> Items:
    """Some rows of every column.

    Examples:
        >>> select_rows({"choice": ["A", None, "B"]}, [2, 0])
        {'choice': ['B', 'A']}
    """
    return {name: [column[row] for row in rows] for name, column in items.items()}
