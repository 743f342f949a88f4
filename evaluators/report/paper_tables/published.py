"""The rows of a paper's table, in the columns of ours."""

from collections.abc import Sequence

from eyechart.evaluators.published import PublishedTable, published_tables
from eyechart.evaluators.report.scores import is_mini
from eyechart.evaluators.results.finished_runs import TaskKey
from eyechart.evaluators.results.results_file import TaskResult

ARROW = "\N{LEFT RIGHT ARROW}"
"""Separates the words of a pair, as in the papers."""


def published_table(key: TaskKey, number_of: str) -> PublishedTable | None:
    """The paper's table; None if it is on another task.

    Args:
        key: The task.
        number_of: Such as "table_2".
    """
    found = published_tables().get(f"{key.task.partition('/')[0]}_{number_of.lower()}")
    return found if found is not None and found.board == key.task else None


def published_rows(table: PublishedTable, digits: Sequence[int], labels: int = 1) -> tuple[tuple[str, ...], ...]:
    """The rows of a paper's table; empty if its columns differ.

    Args:
        table: The paper's table.
        digits: Decimals of each of our columns; one may contain two of the paper's.
        labels: Number of our text columns; the paper's names contain both texts, separated by a comma.
    """
    each = len(table.columns) // len(digits)
    if each * len(digits) != len(table.columns):
        return ()
    rows = []
    for row in table.rows:
        cells = [_shown(value, digits[place // each]) for place, value in enumerate(row.values)]
        name, _, second = row.model.rpartition(", ")
        lead = (row.model,) if labels == 1 else (name, second.replace("/", ARROW))
        rows.append((*lead, *("/".join(cells[place : place + each]) for place in range(0, len(cells), each))))
    return tuple(rows)


def source_of(table: PublishedTable, key: TaskKey) -> str:
    """The source of a paper's rows, and the split if it differs."""
    own = " and ".join(key.split.split(", "))
    other = "" if table.split == own else f" (split: {table.split}; the runs use {own})"
    return f"Published values: {table.paper}, {table.table}{other}."


def are_comparable(key: TaskKey, table: PublishedTable, results: Sequence[tuple[str, TaskResult]]) -> bool:
    """Whether a paper's scores may be ranked with the runs': all are on the same, complete set of items."""
    is_part = any(
        is_mini(result) or result.settings.get("limit") or result.settings.get("sample") for _, result in results
    )
    return table.split == key.split and not is_part


def _shown(value: float | None, digits: int) -> str:
    return "\N{EN DASH}" if value is None else f"{value:.{digits}f}"
