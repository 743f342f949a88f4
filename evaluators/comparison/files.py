"""Write a comparison to a file: JSON with everything, or CSV with a line for each item that flipped."""

import csv
import io
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.datasets_scripts.common.whole import unwritable, write_whole
from eyechart.evaluators.comparison.compare import Comparison, ManyRuns
from eyechart.evaluators.requests.values import without_nan

_COLUMNS = ("task", "dataset", "split", "score", "id", "correct_in")


def write_comparison(found: Comparison | ManyRuns, path: Path) -> None:
    """Write a comparison in the format of the file's extension.

    Raises:
        UsageError: The extension is not .json or .csv, or .csv for more than two runs, or the file cannot be written.
        OutputError: The disk is full.
    """
    writers = {".json": _json, ".csv": _csv}
    if path.suffix not in writers:
        raise UsageError(f"--out {path}: the extension must be one of {', '.join(writers)}")
    if path.suffix == ".csv" and isinstance(found, ManyRuns):
        raise UsageError(f"--out {path}: .csv lists the items that flipped between two runs; use .json for more runs")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, writers[path.suffix](found))
    except OSError as error:
        raise unwritable(f"--out {path}", error) from error


def _json(found: Comparison | ManyRuns) -> str:
    return json.dumps(without_nan(asdict(found)), ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _csv(found: Any) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for one in found.differences:
        for side, items in (("A", one.only_first), ("B", one.only_second)):
            writer.writerows((one.task, one.dataset, one.split, one.score, item, side) for item in items)
    return text.getvalue()
