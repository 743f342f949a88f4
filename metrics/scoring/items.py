"""Items: the outcome of each row of a metric's input, as columns of plain Python values.

Every metric consists of two functions. The first reads the replies, with the help of a judge if there is one, and
returns the items. It may be called for some rows at a time, as replies arrive. The second computes all scores from
these columns, the references and the settings, so that scores can be recomputed from stored columns.
"""

from collections.abc import Mapping, Sequence
from typing import Any

Items = dict[str, list[Any]]
"""Columns by name, as written."""
ItemColumns = Mapping[str, Sequence[Any]]
"""Columns by name, as read from any source."""


def select_rows(items: ItemColumns, rows: Sequence[int]) -> Items:
    """Some rows of every column.

    Examples:
        >>> select_rows({"choice": ["A", None, "B"]}, [2, 0])
        {'choice': ['B', 'A']}
    """
    return {name: [column[row] for row in rows] for name, column in items.items()}
