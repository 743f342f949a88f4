"""Synthetic demo data: a small release of every benchmark, in its real file layout, drawn from a seed.

`release(name)` returns a folder to pass as `data_dir`, so that the real loading script reads it.
"""

import hashlib
import importlib
import os
from pathlib import Path

from eyechart.datasets_scripts.catalog import find_dataset
from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.datasets_scripts.common.paths import eyechart_home
from eyechart.datasets_scripts.common.whole import disk_error, whole_folder

MINI_SEED = 2026
"""First part of every seed used here; the training of the bundled model uses seeds from 10,000,000 up."""


def release(name: str) -> Path:
    """Write a dataset's synthetic demo data, unless they exist, and return their folder.

    The folder is under `EYECHART_HOME`; its name contains a hash of this package's code, so that an edit makes a new
    one. It appears complete or not at all, even if several processes write it at once.

    Args:
        name: A dataset, see `list_datasets`.

    Raises:
        UsageError: Unknown dataset, or the folder cannot be made.
        OutputError: The disk is full.
    """
    dataset = find_dataset(name)
    parent = eyechart_home() / "mini"
    folder = parent / f"{name}-{_code_hash()}"
    if folder.is_dir():
        return folder
    try:
        with whole_folder(folder) as unfinished:
            write(dataset.name, unfinished)
    except OSError as error:
        # Another process may have written it first.
        if not folder.is_dir():
            reason = f"the folder {folder} cannot be made: {error.strerror or error}; set EYECHART_HOME to another one"
            raise disk_error(error) or UsageError(reason) from error
    return folder


def is_release(folder: str | os.PathLike[str] | None) -> bool:
    """Whether a folder contains synthetic demo data, written by `release`."""
    return folder is not None and Path(folder).resolve().parent == (eyechart_home() / "mini").resolve()


def write(name: str, folder: Path) -> None:
    """Write a dataset's synthetic demo data into an empty folder.

    Args:
        name: A dataset, see `list_datasets`.
        folder: An existing, empty folder.

    Raises:
        UsageError: Unknown dataset.
    """
    dataset = find_dataset(name)
    if dataset.kind == "quality":
        importlib.import_module(f"{__name__}.quality").write(dataset.name, folder)
    else:
        importlib.import_module(f"{__name__}.{dataset.name}").write(folder)


def _code_hash() -> str:
    digest = hashlib.sha256()
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:12]
