"""Rows of the papers' tables, for tests of their numbers."""

from eyechart.evaluators.published import PublishedTable, published_tables


def published_table(task: str, name: str) -> PublishedTable:
    """The table with this number whose rows are of a task."""
    tables = published_tables().values()
    return next(table for table in tables if (table.tasks[:1], table.table) == ([task], name))


def labels_of(table: PublishedTable) -> list[str]:
    """The columns' headings, with the group where the same label is in several groups."""
    labels = [column.label for column in table.columns]
    return [
        f"{column.group} {column.label}" if labels.count(column.label) > 1 else column.label for column in table.columns
    ]


def published_row(table: PublishedTable, model: str) -> dict[str, float]:
    """A row of a table, by the labels of its columns."""
    (row,) = [row for row in table.rows if row.model == model]
    return dict(zip(labels_of(table), row.values, strict=True))
