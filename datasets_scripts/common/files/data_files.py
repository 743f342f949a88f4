"""Finding annotation files: those that the user named (not `datasets` on its own), and those of a release's folder."""

import glob
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from datasets.data_files import DataFilesDict, EmptyDatasetError, get_data_patterns

from eyechart.datasets_scripts.common.errors import MissingFileError, UsageError, unknown_name
from eyechart.datasets_scripts.common.paths import first_file, is_image

if TYPE_CHECKING:
    from eyechart.datasets_scripts.common.builder import BenchmarkConfig

# Other toolkits' name of dev, as in "Q-Bench1_VAL.tsv".
_VALIDATION = re.compile(r"(?<![a-z])val(idation)?(?![a-z])")


def chosen_data_files(config: "BenchmarkConfig", suffixes: tuple[str, ...]) -> dict[str, list[str]] | None:
    """Return the annotation files that the user named with `data_files`, by split, or None.

    `datasets.load_dataset` on a registered name always passes `data_files`: without the argument, it chooses files that
    look like data in `data_dir`, or even in the working directory. Such a choice is recognized by repeating it.
    """
    if not config.data_files:
        return None
    files = {str(split): [str(file) for file in part] for split, part in config.data_files.items()}
    other = [file for part in files.values() for file in part if not file.lower().endswith(suffixes)]
    # Nobody names images in data_files; a folder of images is not listed a second time.
    if not config.own_data_files and (
        any(map(is_image, other)) or files == _automatic_data_files(config.data_dir, files)
    ):
        return None
    if other:
        allowed = ", ".join(sorted(suffixes))
        raise UsageError(f"data_files contains {other[0]}; expected annotation files ({allowed})")
    return files


def files_by_split(chosen: dict[str, list[str]], splits: Sequence[str]) -> dict[str, list[str]]:
    """Sort chosen files by split: their key in `data_files` ("validation" means "dev"), or else by their names."""
    files: dict[str, list[str]] = {}
    for key, path in ((key, path) for key, paths in chosen.items() for path in paths):
        names = [key]
        if key == "validation" and "dev" in splits:
            names = ["dev"]
        elif key == "train" and len(splits) == 1:
            names = [*splits]
        elif key == "train":
            # The key of files that were given without one.
            name = os.path.basename(path).lower()
            names = [split for split in splits if split in name or (split == "dev" and _VALIDATION.search(name))]
        elif key not in splits:
            raise unknown_name("split", key, splits, "in data_files")
        if len(names) != 1:
            known = " or ".join(f"data_files={{{split!r}: ...}}" for split in splits)
            raise UsageError(f"the name of {path} does not show which split it is; name the split: {known}")
        files.setdefault(names[0], []).append(path)
    return files


def release_files(
    data_dir: str, names: Mapping[str, Sequence[str]], parquet_folders: Sequence[str], how_to_get: str
) -> dict[str, list[str]]:
    """Find the annotation files of each split in a release's folder; a `MissingFileError` if there are none.

    A split's file is the first of its `names`, or else its files `<split>*.parquet` in the first of the folders that
    has one; the only split of a dataset may be called "test" there.
    """
    files: dict[str, list[str]] = {}
    for split, candidates in names.items():
        table = first_file(data_dir, candidates)
        stems = (split, "test") if len(names) == 1 else (split,)
        places = [os.path.join(data_dir, folder) for folder in parquet_folders]
        found = [glob.glob(os.path.join(glob.escape(place), f"{stem}*.parquet")) for stem in stems for place in places]
        if paths := [table] if table else next(filter(None, found), []):
            files[split] = sorted(paths)
    if not files:
        wanted = ", ".join(f"{candidates[0]}, {split}*.parquet" for split, candidates in names.items())
        reason = f"no annotation file; expected one or more of: {wanted}\n{how_to_get}"
        raise MissingFileError(reason, path=data_dir)
    return files


def _automatic_data_files(data_dir: str | None, files: dict[str, list[str]]) -> dict[str, list[str]]:
    base = Path(data_dir or "").expanduser().resolve().as_posix()
    if not all(file.startswith(base) for part in files.values() for file in part):
        # The files are not from that folder, which may be large: do not list it.
        return {}
    try:
        picked = DataFilesDict.from_patterns(get_data_patterns(base), base_path=base)
    except (EmptyDatasetError, FileNotFoundError):
        return {}
    return {str(split): [str(file) for file in part] for split, part in picked.items()}
