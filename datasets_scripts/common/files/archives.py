"""Unpacking a release's archives, tar, tar.gz and zip, with the standard library's own safeguards.

Refuses members and links that point outside the folder, devices, and more than `MAX_BYTES` or `MAX_MEMBERS`.
"""

import os
import sys
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

from eyechart.datasets_scripts.common.errors import BadArchiveError, MissingFileError
from eyechart.datasets_scripts.common.fingerprint import files_fingerprint
from eyechart.datasets_scripts.common.paths import is_image, is_inside
from eyechart.datasets_scripts.common.whole import whole_folder

if sys.version_info >= (3, 11, 4):
    import tarfile
else:
    from backports import tarfile  # type: ignore[import-not-found,no-redef]

MAX_BYTES = 64 * 2**30
"""The most bytes that an archive may unpack to; the largest, SPAQ's, has 33 GiB."""
MAX_MEMBERS = 1_000_000
"""The most files and folders of an archive; the largest, LIVE-FB's, has about 160,000."""


def unpack(archive: str, into: str) -> str:
    """Unpack an archive, unless it was unpacked before, and return its folder in the folder `into`.

    The folder's name contains the archive's name and fingerprint, so that another file of this name is unpacked again.
    `DataError` if the archive is missing, is refused or cannot be read.
    """
    from datasets.utils import tqdm

    if not os.path.isfile(archive):
        raise MissingFileError("the archive is missing", path=archive)
    folder = Path(into) / f"{os.path.basename(archive)}-{files_fingerprint([archive])[:16]}"
    if folder.is_dir():
        return str(folder)
    members = unpacked = 0
    shown = tqdm(desc=f"Unpacking {os.path.basename(archive)}", unit=" files", delay=2, disable=None)

    def check(name: str, size: int) -> None:
        nonlocal members, unpacked
        members, unpacked = members + 1, unpacked + size
        shown.update()
        # The standard library would move such a member into the folder, where nobody looks for it.
        if not is_inside(name):
            raise BadArchiveError(f"member {name!r} points outside the folder", path=archive)
        if unpacked > MAX_BYTES or members > MAX_MEMBERS:
            reason = f"unpacks to more than {MAX_BYTES:,} bytes or {MAX_MEMBERS:,} files, the limit"
            raise BadArchiveError(reason, path=archive)

    def checked(member: tarfile.TarInfo, destination: str) -> tarfile.TarInfo:
        check(member.name, member.size)
        return tarfile.data_filter(member, destination)

    try:
        with shown, whole_folder(folder) as unfinished, open(archive, "rb") as file:
            if file.read(2) == b"PK":
                _unpack_zip(archive, unfinished, check)
            else:
                with tarfile.open(archive) as opened:
                    opened.extractall(unfinished, filter=checked)
    except BadArchiveError:
        raise
    except tarfile.FilterError as error:
        raise BadArchiveError(f"member {error.tarinfo.name!r} is refused: {error}", path=archive) from error
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
    """The folders `names` of a release ("" is `data_dir` itself), one of which may contain its images.

    If none does, also those of its archives, which are then unpacked into the folder `into`.
    """
    folders = [os.path.join(data_dir, name) if name else data_dir for name in names]
    if not any(os.path.isdir(folder) and any(map(is_image, os.listdir(folder))) for folder in folders):
        for archive in (os.path.join(data_dir, name) for name in archives):
            if os.path.isfile(archive):
                unpacked = unpack(archive, into)
                folders += [os.path.join(unpacked, name) if name else unpacked for name in names]
    return tuple(folders)


def _unpack_zip(path: str, folder: Path, check: Callable[[str, int], None]) -> None:
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            # Some tools on Windows write backslashes.
            member.filename = member.filename.replace("\\", "/")
            check(member.filename, member.file_size)
            if member.flag_bits & 1:
                reason = "is encrypted; unpack the archive with the authors' password and pass that folder as data_dir"
                raise BadArchiveError(f"member {member.filename!r} {reason}", path=path)
            # `zipfile` creates no links: a link is unpacked as a small text file.
            archive.extract(member, folder)
