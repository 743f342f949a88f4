"""Which rows share something, so that answers about them depend on each other: the image, or a column of the data."""

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
    """Rows with the key `CLUSTER`.

    Args:
        rows: Of the task's data.
        task: Its `cluster` names a column; else rows with the same images share a cluster.

    Returns:
        The rows, each with a text that rows of one cluster have in common; None where its images were not loaded.
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
    """A text that differs for different images; None for an image that is not there or cannot be read."""
    try:
        return None if source is None else image_digest(source)
    except BadImageError:
        return None
