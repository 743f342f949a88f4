"""Groups: the columns by which scores are broken down."""

from collections.abc import Mapping, Sequence

from eyechart.evaluators.requests.types import Row

UNKNOWN = "unknown"
"""Group value of rows for which the release gives none."""


def known_groups(rows: Sequence[Row], names: Sequence[str]) -> dict[str, list[str]]:
    """The groups of rows, in the form that the metrics take.

    Args:
        rows: The rows that are scored.
        names: Columns to group by.

    Returns:
        Column to one value per row, `UNKNOWN` for an empty one. A column is left out if some rows lack it or if it is
        empty in all rows.

    Examples:
        >>> rows = [{"source": "natural", "dimension": ""}, {"source": "", "dimension": ""}]
        >>> known_groups(rows, ("source", "dimension", "concern"))
        {'source': ['natural', 'unknown']}
    """
    complete = [name for name in names if all(name in row for row in rows)]
    values = {name: [UNKNOWN if row[name] in (None, "") else str(row[name]) for row in rows] for name in complete}
    return {name: found for name, found in values.items() if set(found) != {UNKNOWN}}


def crossed_groups(groups: Mapping[str, Sequence[str]], pairs: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    """Groups by two columns at once.

    Args:
        groups: Column to one value per row.
        pairs: Pairs of columns to combine; a pair is left out if one of its columns is not among the groups.

    Returns:
        `<first>_by_<second>` to one value per row.

    Examples:
        >>> groups = {"question_type": ["how", "what"], "concern": ["other", "distortion"]}
        >>> crossed_groups(groups, [("question_type", "concern")])
        {'question_type_by_concern': ['how, other', 'what, distortion']}
    """
    return {
        f"{first}_by_{second}": [f"{one}, {other}" for one, other in zip(groups[first], groups[second], strict=True)]
        for first, second in pairs
        if first in groups and second in groups
    }
