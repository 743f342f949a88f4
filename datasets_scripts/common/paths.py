"""Where eyechart keeps its own files, and how it finds the files of a release."""

import os
import tempfile
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from eyechart.datasets_scripts.common.errors import MissingFileError, UsageError

IMAGE_SUFFIXES = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp")
"""How the names of image files end, in lower case."""


def eyechart_home() -> Path:
    """Return the folder of eyechart's own files: `EYECHART_HOME`, or `eyechart` in the user's cache folder."""
    home = os.environ.get("EYECHART_HOME")
    if home:
        return Path(home).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").expanduser() / "eyechart"


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """Give an empty folder to fill, which becomes `folder` when the block ends: complete or not at all.

    Raises:
        OSError: `folder` was made and filled meanwhile, or one of the two cannot be made.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as temporary:
        unfinished = Path(temporary) / "unfinished"
        unfinished.mkdir()
        yield unfinished
        unfinished.rename(folder)


def check_not_empty(argument: str, value: object) -> None:
    """Refuse an empty path or name: the current folder, or none at all.

    Raises:
        UsageError: It is "", as a shell variable is that is not set; the message names the argument.
    """
    if value == "":
        raise UsageError(f"{argument}='' is empty; give one, or leave it out")


def release_folder(data_dir: str, argument: str = "data_dir") -> str:
    """Return `data_dir` as an absolute path; errors call it `argument`.

    Raises:
        UsageError: It is empty, which would be the current folder.
        MissingFileError: It is not a folder.
    """
    check_not_empty(argument, data_dir)
    folder = os.path.abspath(os.path.expanduser(data_dir))
    if not os.path.isdir(folder):
        raise MissingFileError(f"{argument} is not a folder", path=folder)
    return folder


def first_file(folder: str, names: Sequence[str]) -> str | None:
    """Return the path of the first of `names` that is a file in `folder`, or None."""
    paths = (os.path.join(folder, *name.split("/")) for name in names)
    return next((path for path in paths if os.path.isfile(path)), None)


def is_inside(name: str) -> bool:
    """Tell whether a file name from an annotation stays inside the folder it is joined to."""
    path = PurePosixPath(name.replace("\\", "/"))
    return (
        bool(name)
        and "\0" not in name
        and not path.is_absolute()
        and ".." not in path.parts
        and not any(":" in part for part in path.parts[:1])
    )


def is_image(name: str) -> bool:
    """Tell from a file's name whether it is an image."""
    return name.lower().endswith(IMAGE_SUFFIXES)


def find_image(folders: Sequence[str], name: str) -> str | None:
    """Return the path of image `name` in the first of `folders` that holds it, or None.

    Annotations are read in Unicode NFC; a file whose name was stored decomposed is found as well.
    """
    names = dict.fromkeys((name, unicodedata.normalize("NFD", name)))
    paths = (os.path.join(folder, spelling) for folder in folders for spelling in names)
    return next((path for path in paths if os.path.isfile(path)), None)
