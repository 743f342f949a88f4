"""Where eyechart keeps its own files, and how it finds the files of a release."""

import os
import stat
import unicodedata
from collections.abc import Callable, Sequence
from errno import EINVAL
from pathlib import Path, PureWindowsPath
from typing import BinaryIO

from eyechart.datasets_scripts.common.errors import MissingFileError, UsageError

IMAGE_SUFFIXES = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp")
"""Suffixes of image files, in lower case."""
MAX_BYTES = 4 * 2**30
"""Larger files are not read at once; an image of 100 megapixels has at most 0.8 GiB."""


def eyechart_home() -> Path:
    """Return the folder of eyechart's own files: `EYECHART_HOME`, or `eyechart` in the user's cache folder."""
    if not (home := os.environ.get("EYECHART_HOME")):
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").expanduser() / "eyechart"
    try:
        return Path(home).expanduser()
    except RuntimeError as error:
        reason = "names the home folder of an unknown user; set it to an existing folder"
        raise UsageError(f"EYECHART_HOME={home!r} {reason}") from error


def open_regular(path: str | os.PathLike[str], max_bytes: int = MAX_BYTES) -> BinaryIO:
    """Open a file for reading; raises OSError for a larger one, and for a pipe or a device, which may never end."""
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(EINVAL, "it is a folder, a pipe or a device; expected a regular file")
    if status.st_size > max_bytes:
        raise OSError(EINVAL, f"it has {status.st_size:,} bytes; the limit is {max_bytes:,}")
    return open(path, "rb")


def check_not_empty(argument: str, value: object) -> None:
    """Refuse an empty path or name, for example from an unset shell variable, with a `UsageError`."""
    if value == "":
        raise UsageError(f"{argument}='' is empty; give one, or leave it out")


def release_folder(data_dir: str, argument: str = "data_dir") -> str:
    """Return `data_dir`, which must be a folder, as an absolute path; `argument` is its name in errors."""
    check_not_empty(argument, data_dir)
    folder = os.path.abspath(os.path.expanduser(data_dir))
    if not os.path.isdir(folder):
        raise MissingFileError(f"{argument} is not an existing folder", path=folder)
    return folder


def first_file(folder: str, names: Sequence[str]) -> str | None:
    """Return the path of the first of `names` that exists in `folder`, or None."""
    return next((path for name in names if os.path.isfile(path := os.path.join(folder, *name.split("/")))), None)


def is_inside(name: str) -> bool:
    """Whether a file name from an annotation stays inside the folder to which it is joined."""
    # Windows rules also cover POSIX names: they know both separators, and drives.
    path = PureWindowsPath(name)
    return bool(name) and "\0" not in name and not path.anchor and ".." not in path.parts


def is_image(name: str) -> bool:
    """Whether a file has a name of an image."""
    return name.lower().endswith(IMAGE_SUFFIXES)


def find_image(folders: Sequence[str], name: str, real: Callable[[str], str] = os.path.realpath) -> str | None:
    """Return the path, links resolved, of image `name` in the first of `folders` that has it, else None.

    Files whose names are stored decomposed (NFD) are found too. `real` resolves folders; for many images, give one with
    a cache. A `ValueError` for a name not found outside of a folder: data must not choose which other files are read.
    """
    names = dict.fromkeys((name, unicodedata.normalize("NFD", name)))
    paths = {os.path.join(folder, spelling): folder for folder in folders for spelling in names}
    for path, folder in paths.items():
        if os.path.isfile(path) and (found := resolved_below(path, folder, real)):
            return found
    if not all(resolved_below(path, folder, real) for path, folder in paths.items()):
        reason = "points outside the image folder, or is a link that does; copy the file there"
        raise ValueError(f"image {name!r:.200} {reason}: {folders[0]}")
    return None


def resolved_below(path: str, folder: str, real: Callable[[str], str] = os.path.realpath) -> str | None:
    """A path with its links resolved if it is then inside the folder, whose links are resolved too; else None."""
    if "\0" in path:
        return None
    root, (parent, name) = real(folder), os.path.split(path)
    # In the Hub's cache, the files of a snapshot are links to another folder of the same repository.
    if "datasets--" in root:
        root = next((str(above) for above in Path(root).parents if above.name.startswith("datasets--")), root)
    is_plain = name not in ("", os.curdir, os.pardir) and not os.path.islink(path)
    resolved = os.path.join(real(parent), name) if is_plain else os.path.realpath(path)
    return resolved if f"{resolved}{os.sep}".startswith(os.path.join(root, "")) else None
