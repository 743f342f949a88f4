"""What a loader left out of a data set, and why: collected while parsing, kept next to the data in the cache."""

import json
import logging
import os
from typing import Any

from eyechart.datasets_scripts.common.errors import BadAnnotationError, DataError, MissingImagesError, UsageError

SIDECAR = "left_out.json"
"""File next to the Arrow files of a prepared data set."""
_SHOWN = 5

_logger = logging.getLogger("eyechart.datasets_scripts")


class LeftOut:
    """Collects the items that a loader leaves out, or raises where leaving out was not asked for.

    Attributes:
        items: `{"id", "path", "reason", "split"}` of every item left out so far; `id` is the row's number where the row
            was too broken to have one.
    """

    def __init__(self, *, skip_missing: bool, skip_bad: bool, log: bool) -> None:
        """Set what may be left out; with `log`, every item is also logged as a warning (streaming has no sidecar)."""
        self.items: list[dict[str, str]] = []
        self._skip_missing = skip_missing
        self._skip_bad = skip_bad
        self._log = log
        self._missing: list[dict[str, str]] = []

    def bad(self, error: DataError, split: str) -> None:
        """Note a malformed row.

        Raises:
            DataError: `error`, if bad rows are not to be skipped.
        """
        if not self._skip_bad:
            error.add_note("skip_bad=True / --skip-bad leaves bad rows out and lists them.")
            raise error
        self._add({"id": str(error.row), "path": error.path or "", "reason": error.reason, "split": split})

    def missing(self, row_id: str, path: str, split: str) -> None:
        """Note an image that the annotations list and the folder lacks; see `check_missing`."""
        item = {"id": row_id, "path": path, "reason": "the image file is missing", "split": split}
        self._missing.append(item)
        if self._skip_missing:
            self._add(item)

    def check_missing(self, hint: str, path: str) -> None:
        """Raise one error for all missing images unless they are to be skipped.

        Args:
            hint: Where the images were looked for.
            path: The annotation file to name.

        Raises:
            MissingImagesError: Names the count and the first several ids and paths.
        """
        if not self._missing or self._skip_missing:
            return
        shown = "".join(f"\n  {item['split']} {item['id']}: {item['path']}" for item in self._missing[:_SHOWN])
        rest = f"\n  ... and {len(self._missing) - _SHOWN} more" if len(self._missing) > _SHOWN else ""
        raise MissingImagesError(
            f"{len(self._missing)} annotated image(s) are missing:{shown}{rest}\n{hint}\n"
            "skip_missing=True / --skip-missing continues without them and lists them.",
            path=path,
        )

    def summary(self, split: str) -> str:
        """How many items of a split were left out, with the first one; "" if none was."""
        items = [item for item in self.items if item["split"] == split]
        if not items:
            return ""
        return f": all {len(items)} were left out, the first: {items[0]['id']}: {items[0]['reason']}"

    def save(self, folder: str) -> None:
        """Write the sidecar into `folder`."""
        with open(os.path.join(folder, SIDECAR), "w", encoding="utf-8") as file:
            json.dump(self.items, file, ensure_ascii=False, indent=1)

    def _add(self, item: dict[str, str]) -> None:
        self.items.append(item)
        if self._log:
            _logger.warning("left out %s %s (%s): %s", item["split"], item["id"], item["path"], item["reason"])


def left_out(dataset: Any) -> list[dict[str, str]]:
    """List the items that were left out when a data set was loaded.

    Args:
        dataset: A `datasets.Dataset` or `DatasetDict` that came from a loading script in any of the three ways, or was
            made from such a one by `select`, `filter`, `map`, ...

    Returns:
        `{"id", "path", "reason", "split"}` per item; only the data set's own splits where it knows them. Empty for data
        sets that no loading script made (the Parquet export lists its own in its card).

    Raises:
        UsageError: A streaming data set, which logs what it leaves out instead.
    """
    if isinstance(dataset, dict):
        return [item for part in dataset.values() for item in left_out(part)]
    if not hasattr(dataset, "cache_files"):
        raise UsageError("left_out needs a prepared data set; a streaming one logs a warning for each item left out")
    folders = sorted({os.path.dirname(file["filename"]) for file in dataset.cache_files})
    splits = {part.partition("[")[0].strip() for part in str(dataset.split or "all").split("+")}
    items = [item for folder in folders for item in _read_sidecar(folder)]
    return [item for item in items if item["split"] in splits or "all" in splits]


def _read_sidecar(folder: str) -> list[dict[str, str]]:
    path = os.path.join(folder, SIDECAR)
    if not os.path.isfile(path):
        return []
    with open(path, encoding="utf-8") as file:
        try:
            items: list[dict[str, str]] = json.load(file)
        except ValueError as error:
            raise BadAnnotationError("the list of left-out items in the cache is damaged", path=path) from error
    return items
