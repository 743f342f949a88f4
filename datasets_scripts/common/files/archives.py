"""Unpacking a release's archives with the standard library's own safeguards.

Reads tar, tar.gz and zip, which are recognized by their first bytes. Refuses members and links that point outside the
folder, devices, and archives that unpack to more than `MAX_BYTES`. The folder appears complete or not at all.
"""

import os
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eyechart.datasets_scripts.common.errors import BadArchiveError, MissingFileError
from eyechart.datasets_scripts.common.fingerprint import files_fingerprint
from eyechart.datasets_scripts.common.paths import is_image, is_inside
from eyechart.datasets_scripts.common.whole import whole_folder

MAX_BYTES = 64 * 2**30
"""The most bytes that an archive may unpack to; the largest image archives of the benchmarks have about 13 GiB."""


def unpack(archive: str, into: str, *, max_bytes: int = MAX_BYTES) -> str:
    """Unpack an archive, unless it was unpacked before.

    Args:
        archive: Path of a tar, tar.gz or zip file.
        into: Parent of the unpacked folder, whose name contains the archive's name and fingerprint: a different file of
            the same name is unpacked again.
        max_bytes: The most bytes to unpack.

    Returns:
        The unpacked folder.

    Raises:
        MissingFileError: The archive is missing.
        BadArchiveError: The archive is refused or cannot be read.
    """
    if not os.path.isfile(archive):
        raise MissingFileError("the archive is missing", path=archive)
    folder = Path(into) / f"{os.path.basename(archive)}-{files_fingerprint([archive])[:16]}"
    if folder.is_dir():
        return str(folder)
    try:
        with whole_folder(folder) as unfinished, open(archive, "rb") as file:
            is_zip = file.read(2) == b"PK"
            (_unpack_zip if is_zip else _unpack_tar)(archive, unfinished, max_bytes)
    except (BadArchiveError, MissingFileError):
        raise
    # A damaged archive can raise anything: TarError, BadZipFile, zlib.error, EOFError, ValueError, ...
    except Exception as error:
        # Another process may have unpacked it first.
        if folder.is_dir():
            return str(folder)
        if isinstance(error, OSError) and error.errno is not None:
            raise BadArchiveError(f"the archive cannot be unpacked: {error.strerror}", path=archive) from error
        reason = f"not a tar, tar.gz or zip archive, or corrupt: {type(error).__name__}: {error}. Download it again"
        raise BadArchiveError(reason, path=archive) from error
    return str(folder)


def image_folders(data_dir: str, names: Sequence[str], archives: Sequence[str], into: str) -> tuple[str, ...]:
    """Return the folders that may contain a release's images, the most likely first.

    Args:
        data_dir: Folder of the release.
        names: Folders inside it, or inside an archive; "" is the folder itself.
        archives: Names of the release's image archives. Those in `data_dir` are unpacked, unless one of the folders
            already contains an image.
        into: As for `unpack`.

    Raises:
        BadArchiveError: As for `unpack`.
    """
    folders = _joined(data_dir, names)
    if any(map(_holds_images, folders)):
        return folders
    present = [path for path in _joined(data_dir, archives) if os.path.isfile(path)]
    return folders + tuple(folder for path in present for folder in _joined(unpack(path, into), names))


def _joined(folder: str, names: Sequence[str]) -> tuple[str, ...]:
    return tuple(os.path.join(folder, name) if name else folder for name in names)


def _holds_images(folder: str) -> bool:
    if not os.path.isdir(folder):
        return False
    with os.scandir(folder) as entries:
        return any(is_image(entry.name) for entry in entries)


def _unpack_tar(path: str, folder: Path, max_bytes: int) -> None:
    shown = _progress(path)
    unpacked = 0

    def checked(member: tarfile.TarInfo, destination: str) -> tarfile.TarInfo:
        nonlocal unpacked
        unpacked += member.size
        _check(path, member.name, unpacked, max_bytes)
        shown.update()
        return tarfile.data_filter(member, destination)

    with shown, tarfile.open(path) as archive:
        try:
            archive.extractall(folder, filter=checked)
        except tarfile.FilterError as error:
            raise BadArchiveError(f"member {error.tarinfo.name!r} is refused: {error}", path=path) from error


def _unpack_zip(path: str, folder: Path, max_bytes: int) -> None:
    unpacked = 0
    with _progress(path) as shown, zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            # Some tools on Windows write backslashes.
            member.filename = member.filename.replace("\\", "/")
            unpacked += member.file_size
            _check(path, member.filename, unpacked, max_bytes)
            if member.flag_bits & 1:
                reason = "is encrypted; unpack the archive with the authors' password and pass that folder as data_dir"
                raise BadArchiveError(f"member {member.filename!r} {reason}", path=path)
            # `zipfile` creates no links: a link is unpacked as a small text file.
            archive.extract(member, folder)
            shown.update()


def _progress(path: str) -> Any:
    from datasets.utils import tqdm

    # Shown after two seconds, and on terminals only.
    return tqdm(desc=f"Unpacking {os.path.basename(path)}", unit=" files", delay=2, disable=None)


def _check(path: str, name: str, unpacked: int, max_bytes: int) -> None:
    # The standard library would move such a member into the folder, where nobody looks for it.
    if not is_inside(name):
        raise BadArchiveError(f"member {name!r} points outside the folder", path=path)
    if unpacked > max_bytes:
        raise BadArchiveError(f"the archive unpacks to more than {max_bytes:,} bytes, the limit", path=path)
