"""Items that a loader left out of a dataset, with the reasons: collected while parsing, stored in the cache."""

import json
import logging
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eyechart.datasets_scripts.common.errors import BadAnnotationError, DataError, MissingImagesError, UsageError

SIDECAR = "left_out.json"
"""File next to the Arrow files of a prepared dataset."""
_SHOWN = 5

_logger = logging.getLogger("eyechart.datasets_scripts")


@dataclass
class LeftOut:
    """Collects the items that a loader leaves out, or raises if leaving out is not allowed."""

    skip_missing: bool
    skip_bad: bool
    log: bool
    """Whether to log a warning for each item, as streaming writes no sidecar."""
    items: list[dict[str, str]] = field(default_factory=list)
    """`id`, or the row's number if that cannot be read, `path`, `reason` and `split` of each."""
    _missing: list[dict[str, str]] = field(default_factory=list)

    def bad(self, error: DataError, split: str) -> None:
        """Record a malformed row, or raise `error` unless bad rows are skipped."""
        if not self.skip_bad:
            error.add_note("To skip and list bad rows: skip_bad=True (command line: --skip-bad)")
            raise error
        self._add({"id": str(error.row), "path": error.path or "", "reason": error.reason, "split": split})

    def missing(self, row_id: str, path: str, split: str) -> None:
        """Record a missing image that the annotations name; see `check_missing`."""
        item = {"id": row_id, "path": path, "reason": "the image file is missing", "split": split}
        self._missing.append(item)
        if self.skip_missing:
            self._add(item)

    def check_missing(self, hint: str, path: str) -> None:
        """Raise one `MissingImagesError` for all missing images of the annotation file `path`, unless skipped."""
        if not self._missing or self.skip_missing:
            return
        count = len(self._missing)
        first = [(item["split"], dict.fromkeys((item["id"], item["path"]))) for item in self._missing[:_SHOWN]]
        shown = [f"{split} {': '.join(names)}" for split, names in first]
        shown += [f"... and {count - _SHOWN} more"] if count > _SHOWN else []
        raise MissingImagesError(
            "\n  ".join([f"no image file found for {count} item{'s' if count > 1 else ''}:", *shown]) + f"\n{hint}\n"
            "To skip and list these items: skip_missing=True (command line: --data-arg skip_missing=true)",
            path=path,
        )

    def _add(self, item: dict[str, str]) -> None:
        self.items.append(item)
        if self.log:
            _logger.warning("left out %s %s (%s): %s", item["split"], item["id"], item["path"], item["reason"])


def left_out(dataset: Any) -> list[dict[str, str]]:
    """List the items that were left out when a `Dataset` or `DatasetDict`, or what it was derived from, was loaded.

    Each is `{"id", "path", "reason", "split"}`, only of the dataset's own splits if it knows them. Datasets that no
    loading script made have none (an exported dataset has its own `left_out.json`); a streaming one is a `UsageError`.
    """
    if isinstance(dataset, dict):
        return [item for part in dataset.values() for item in left_out(part)]
    if not hasattr(dataset, "cache_files"):
        raise UsageError("left_out needs a prepared dataset; a streaming one logs a warning for each item left out")
    splits = {part.partition("[")[0].strip() for part in str(dataset.split or "all").split("+")}
    items: list[dict[str, str]] = []
    for path in sorted({Path(file["filename"]).with_name(SIDECAR) for file in dataset.cache_files}):
        try:
            items += json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
        except ValueError as error:
            reason = "the list of left-out items is not valid JSON; delete this folder and load the dataset again"
            raise BadAnnotationError(reason, path=path) from error
    return [item for item in items if item["split"] in splits or "all" in splits]
