"""Telling annotation files that a user named from those that `datasets` picked on its own."""

from pathlib import Path
from typing import TYPE_CHECKING

from datasets.data_files import DataFilesDict
from datasets.data_files import EmptyDatasetError
from datasets.data_files import get_data_patterns

if TYPE_CHECKING:
    from eyechart.datasets_scripts.common.builder import BenchmarkConfig


def chosen_data_files(config: "BenchmarkConfig", suffixes: tuple[str, ...]) -> dict[str, list[str]] | None:
    """Return the annotation files that the user named with `data_files`, by split, or None.

    `datasets.load_dataset` on a registered name always passes `data_files`: without the argument, it takes what looks
    like data in `data_dir`, or even in the working directory. Such a pick is recognised by making it again.

    Args:
        config: The builder's configuration.
        suffixes: Endings of the annotation files that the subset reads; a pick with any other file is not the user's.
    """
    if not config.data_files:
        return None
    files = {str(split): [str(file) for file in part] for split, part in config.data_files.items()}
    if not all(file.lower().endswith(suffixes) for part in files.values() for file in part):
        return None
    if config.own_data_files or files != _automatic_data_files(config.data_dir, files):
        return files
    return None


def _automatic_data_files(data_dir: str | None, files: dict[str, list[str]]) -> dict[str, list[str]]:
    base = Path(data_dir or "").expanduser().resolve().as_posix()
    if not all(file.startswith(base) for part in files.values() for file in part):
        # Not picked from there, which is known without listing what may be a large folder.
        return {}
    try:
        picked = DataFilesDict.from_patterns(get_data_patterns(base), base_path=base)
    except (EmptyDatasetError, FileNotFoundError):
        return {}
    return {str(split): [str(file) for file in part] for split, part in picked.items()}
