"""Unpacking a release's archives with the standard library's own safeguards.

tar, tar.gz and zip are read, told apart by their first bytes. A member that leads out of the folder, a link that does
and a device are refused, as is an archive that unpacks to more than `MAX_BYTES`. The folder appears complete or not at
all.
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
"""Most bytes that an archive may unpack to; the largest image archives of the benchmarks have about 13 GiB."""


def unpack(archive: str, into: str, *, max_bytes: int = MAX_BYTES) -> str:
    """Unpack an archive, unless that was done before.

    Args:
        archive: Path of a tar, tar.gz or zip file.
        into: Folder that is to hold the unpacked folder, which is named after the archive and its fingerprint: another
            file of the same name is unpacked anew.
        max_bytes: Most bytes to unpack.

    Returns:
        The unpacked folder.

    Raises:
        MissingFileError: The archive is not there.
        BadArchiveError: The archive is refused or cannot be read.
    """
    if not os.path.isfile(archive):
        raise MissingFileError("the archive is not there", path=archive)
    folder = Path(into) / f"{os.path.basename(archive)}-{files_fingerprint([archive])[:16]}"
    if folder.is_dir():
        return str(folder)
    try:
        with whole_folder(folder) as unfinished, open(archive, "rb") as file:
            is_zip = file.read(2) == b"PK"
            (_unpack_zip if is_zip else _unpack_tar)(archive, unfinished, max_bytes)
    except (BadArchiveError, MissingFileError):
        raise
    # The readers raise whatever the damage led them to: TarError, BadZipFile, zlib.error, EOFError, ValueError, ...
    except Exception as error:
        # Another process may have been faster, which is as good.
        if folder.is_dir():
            return str(folder)
        if isinstance(error, OSError) and error.errno is not None:
            raise BadArchiveError(f"cannot be unpacked: {error.strerror}", path=archive) from error
        reason = f"corrupt, or not a tar, tar.gz or zip archive: {type(error).__name__}: {error}"
        raise BadArchiveError(reason, path=archive) from error
    return str(folder)


def image_folders(data_dir: str, names: Sequence[str], archives: Sequence[str], into: str) -> tuple[str, ...]:
    """Return the folders that may hold a release's images, the most likely first.

    Args:
        data_dir: Folder of the release.
        names: Folders inside it, or inside an archive; "" is the folder itself.
        archives: Names of the release's image archives. Those that lie in `data_dir` are unpacked, unless one of the
            folders already holds an image.
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
                reason = "is encrypted; unpack it with the authors' password and give the folder as data_dir"
                raise BadArchiveError(f"member {member.filename!r} {reason}", path=path)
            # A link comes out as a small text file: `zipfile` makes none.
            archive.extract(member, folder)
            shown.update()


def _progress(path: str) -> Any:
    from datasets.utils import tqdm

    # Shown after two seconds, and on terminals only.
    return tqdm(desc=f"Unpacking {os.path.basename(path)}", unit=" files", delay=2, disable=None)


def _check(path: str, name: str, unpacked: int, max_bytes: int) -> None:
    # The standard library would bring such a name inside, where nobody looks for it.
    if not is_inside(name):
        raise BadArchiveError(f"member {name!r} leads out of the folder", path=path)
    if unpacked > max_bytes:
        raise BadArchiveError(f"unpacks to more than {max_bytes:,} bytes, the largest size allowed", path=path)
