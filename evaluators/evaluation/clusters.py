"""Clusters: rows whose answers depend on each other, because they share an image or the value of a column."""

import hashlib
from collections.abc import Sequence
from typing import Any

from eyechart.datasets_scripts.common.errors import BadImageError
from eyechart.evaluators.protocols.protocol import CLUSTER
from eyechart.evaluators.requests.keys import image_digest
from eyechart.evaluators.requests.types import Row
from eyechart.evaluators.tasks.task import Task

_LENGTH = 16


def add_clusters(rows: Sequence[Row], task: Task) -> list[Row]:
    """Add the key `CLUSTER` to rows.

    Args:
        rows: Rows of the task's data.
        task: Its `cluster` names a column; if it is empty, rows with the same images share a cluster.

    Returns:
        The rows, each with the name of its cluster; None if its images were not loaded.
    """
    if not task.protocol.shares_images:
        return list(rows)
    return [{**row, CLUSTER: _column(row, task.cluster) if task.cluster else _images(row)} for row in rows]


def _column(row: Row, name: str) -> str | None:
    return None if row[name] in (None, "") else str(row[name])


def _images(row: Row) -> str | None:
    sources = row["images"] if "images" in row else [row.get("image")]
    found = [_identity(source) for source in sources]
    if not found or None in found:
        return None
    return hashlib.sha256("\n".join(map(str, found)).encode()).hexdigest()[:_LENGTH]


def _identity(source: Any) -> str | None:
    """A text that differs for different images; None for a missing or unreadable image."""
    try:
        return None if source is None else image_digest(source)
    except BadImageError:
        return None
