"""Items that a loader left out of a dataset, with the reasons: collected while parsing, stored in the cache."""

import json
import logging
import os
from typing import Any

from eyechart.datasets_scripts.common.errors import BadAnnotationError, DataError, MissingImagesError, UsageError

SIDECAR = "left_out.json"
"""File next to the Arrow files of a prepared dataset."""
_SHOWN = 5

_logger = logging.getLogger("eyechart.datasets_scripts")


class LeftOut:
    """Collects the items that a loader leaves out, or raises if leaving out is not allowed."""

    def __init__(self, *, skip_missing: bool, skip_bad: bool, log: bool) -> None:
        """Set what may be left out; `log` also logs a warning for each item (streaming writes no sidecar)."""
        # `id` is the row's number if its id cannot be read.
        self.items: list[dict[str, str]] = []
        self._skip_missing = skip_missing
        self._skip_bad = skip_bad
        self._log = log
        self._missing: list[dict[str, str]] = []

    def bad(self, error: DataError, split: str) -> None:
        """Record a malformed row, or raise `error` unless bad rows are skipped."""
        if not self._skip_bad:
            error.add_note("To skip and list bad rows: skip_bad=True (command line: --skip-bad)")
            raise error
        self._add({"id": str(error.row), "path": error.path or "", "reason": error.reason, "split": split})

    def missing(self, row_id: str, path: str, split: str) -> None:
        """Record a missing image that the annotations name; see `check_missing`."""
        item = {"id": row_id, "path": path, "reason": "the image file is missing", "split": split}
        self._missing.append(item)
        if self._skip_missing:
            self._add(item)

    def check_missing(self, hint: str, path: str) -> None:
        """Raise one `MissingImagesError` for all missing images, unless they are skipped.

        `hint` names the folders that were searched, and what to do; `path` is the annotation file.
        """
        if not self._missing or self._skip_missing:
            return
        count = len(self._missing)
        shown = "".join(f"\n  {item['split']} {_named(item)}" for item in self._missing[:_SHOWN])
        rest = f"\n  ... and {count - _SHOWN} more" if count > _SHOWN else ""
        raise MissingImagesError(
            f"no image file found for {count} item{'s' if count > 1 else ''}:{shown}{rest}\n{hint}\n"
            "To skip and list these items: skip_missing=True (command line: --data-arg skip_missing=true)",
            path=path,
        )

    def summary(self, split: str) -> str:
        """The number of items that were left out of a split, with the first one; "" if none."""
        items = [item for item in self.items if item["split"] == split]
        return f": {len(items)} left out, first: {items[0]['id']}: {items[0]['reason']}" if items else ""

    def save(self, folder: str) -> None:
        """Write the sidecar into `folder`."""
        with open(os.path.join(folder, SIDECAR), "w", encoding="utf-8") as file:
            json.dump(self.items, file, ensure_ascii=False, indent=1)

    def _add(self, item: dict[str, str]) -> None:
        self.items.append(item)
        if self._log:
            _logger.warning("left out %s %s (%s): %s", item["split"], item["id"], item["path"], item["reason"])


def left_out(dataset: Any) -> list[dict[str, str]]:
    """List the items that were left out when a `Dataset` or `DatasetDict`, or what it was derived from, was loaded.

    Returns:
        `{"id", "path", "reason", "split"}` per item, only of the dataset's own splits if it knows them. Empty for
        datasets that no loading script made (an exported dataset has its own `left_out.json`).

    Raises:
        UsageError: The dataset is a streaming one, which logs a warning for each item instead.
    """
    if isinstance(dataset, dict):
        return [item for part in dataset.values() for item in left_out(part)]
    if not hasattr(dataset, "cache_files"):
        raise UsageError("left_out needs a prepared dataset; a streaming one logs a warning for each item left out")
    folders = sorted({os.path.dirname(file["filename"]) for file in dataset.cache_files})
    splits = {part.partition("[")[0].strip() for part in str(dataset.split or "all").split("+")}
    items = [item for folder in folders for item in _read_sidecar(folder)]
    return [item for item in items if item["split"] in splits or "all" in splits]


def _named(item: dict[str, str]) -> str:
    """An item's id, and its image if that has another name."""
    return item["id"] if item["path"] == item["id"] else f"{item['id']}: {item['path']}"


def _read_sidecar(folder: str) -> list[dict[str, str]]:
    path = os.path.join(folder, SIDECAR)
    if not os.path.isfile(path):
        return []
    with open(path, encoding="utf-8") as file:
        try:
            items: list[dict[str, str]] = json.load(file)
        except ValueError as error:
            reason = "the list of left-out items is not valid JSON; delete this folder and load the dataset again"
            raise BadAnnotationError(reason, path=path) from error
    return items
