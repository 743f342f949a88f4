"""The columns by which scores are broken down."""

from collections.abc import Sequence

from eyechart.evaluators.types import Row

UNKNOWN = "unknown"
"""What a group calls the rows of which a release does not tell the value."""


def known_groups(rows: Sequence[Row], names: Sequence[str]) -> dict[str, list[str]]:
    """The groups of some rows, as the metrics take them.

    Args:
        rows: The rows that are scored.
        names: Columns that may group them.

    Returns:
        Column to one value per row, `UNKNOWN` where it is "". A column that some rows lack, or that is "" in all of
        them, tells nothing and is left out.

    Examples:
        >>> rows = [{"source": "natural", "dimension": ""}, {"source": "", "dimension": ""}]
        >>> known_groups(rows, ("source", "dimension", "concern"))
        {'source': ['natural', 'unknown']}
    """
    complete = [name for name in names if all(name in row for row in rows)]
    values = {name: [UNKNOWN if row[name] in (None, "") else str(row[name]) for row in rows] for name in complete}
    return {name: found for name, found in values.items() if set(found) != {UNKNOWN}}
