"""The best and second-best value of each column of a table: bold and underlined, as in the papers."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from eyechart.evaluators.report.paper_tables.cells import DELTA, PaperTable

BEST, SECOND = "best", "second"
_NO_MODELS = ("chance level", "random guess", "human", "single subject", DELTA.lower())
"""Parts of the names of rows that are not models."""


class _Place(NamedTuple):
    row: int
    column: int
    part: int
    """Index of the number among those that a slash separates."""


def ranks(table: PaperTable) -> dict[tuple[int, int, int], str]:
    """The best and second-best numbers.

    Args:
        table: The runs are ranked together with the paper's models if comparable, otherwise separately.

    Returns:
        `BEST` or `SECOND` by row (the runs' rows first, then the paper's), column, and number within the cell. A single
        model has no rank.
    """
    found: dict[tuple[int, int, int], str] = {}
    for group in _groups(table):
        values = {place: value for place in group if math.isfinite(value := _value(table, place))}
        order = sorted(set(values.values()), reverse=True)
        if len(values) > 1:
            for mark, best in zip((BEST, SECOND), order, strict=False):
                found |= {place: mark for place, value in values.items() if value == best}
    return found


def is_model(name: str) -> bool:
    """Whether a row is a model, not a chance level or a human.

    Examples:
        >>> is_model("LLaVA-v1.5"), is_model("Senior-level Human")
        (True, False)
    """
    return not any(other in name.lower() for other in _NO_MODELS)


def _groups(table: PaperTable) -> Iterator[list[_Place]]:
    """Groups of numbers that are ranked together."""
    rows = table.all_rows
    kept = [row for row, cells in enumerate(rows) if is_model(cells[0])]
    columns = [column for column in range(table.labels, len(table.columns)) if column not in table.unranked]
    if table.across:
        first = len(table.columns) - table.published_columns
        for row in kept:
            for score in range(table.across):
                of_score = [column for column in columns if (column - table.labels) % table.across == score]
                yield from _split(table, [_Place(row, column, 0) for column in of_score], [c < first for c in of_score])
        return
    for column in columns:
        for part in range(max((rows[row][column].count("/") + 1 for row in kept), default=0)):
            places = [_Place(row, column, part) for row in kept]
            yield from _split(table, places, [row < len(table.rows) for row in kept])


def _split(table: PaperTable, places: Sequence[_Place], own: Sequence[bool]) -> Iterator[list[_Place]]:
    if table.is_comparable:
        yield list(places)
    else:
        yield [place for place, is_own in zip(places, own, strict=True) if is_own]
        yield [place for place, is_own in zip(places, own, strict=True) if not is_own]


def _value(table: PaperTable, place: _Place) -> float:
    parts = table.all_rows[place.row][place.column].split("/")
    try:
        return float(parts[place.part].strip("% ")) if place.part < len(parts) else math.nan
    except ValueError:
        return math.nan
