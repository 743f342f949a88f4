"""Unpacking a release's archives: nothing is written outside one folder, no link comes out, and no bomb goes off.

tar, tar.gz and zip are read, told apart by their first bytes. A member that leads out of the folder, a link, a device
and a name that appears twice are refused; so is an archive that grows beyond the limits below, which are checked on the
bytes written and not on what headers promise. The folder appears complete or not at all.
"""

import gzip
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from eyechart.datasets_scripts.common.errors import BadArchiveError, MissingFileError
from eyechart.datasets_scripts.common.fingerprint import files_fingerprint
from eyechart.datasets_scripts.common.paths import is_image, is_inside, whole_folder

MAX_BYTES = 64 * 2**30
"""Most bytes that an archive may unpack to; the largest image archives of the benchmarks have about 13 GiB."""
MAX_RATIO = 100
"""Most bytes that an archive may unpack to per byte of its own; images hardly shrink, tables shrink tenfold."""
RATIO_FROM = 16 * 2**20
"""Unpacked bytes from which the ratio counts: below, no ratio does harm."""
MAX_MEMBERS = 2_000_000
"""Most files and folders in an archive; KADIS-700k has 840,000 images."""
_CHUNK = 2**20


@dataclass(frozen=True)
class _Member:
    name: str
    kind: str
    """"file", "folder", or what else it is, in words."""
    open: Callable[[], IO[bytes] | None]


def unpack(
    archive: str, into: str, *, max_bytes: int = MAX_BYTES, max_ratio: float = MAX_RATIO, max_members: int = MAX_MEMBERS
) -> str:
    """Unpack an archive, unless that was done before.

    Args:
        archive: Path of a tar, tar.gz or zip file.
        into: Folder that is to hold the unpacked folder, which is named after the archive and its fingerprint: another
            file of the same name is unpacked anew.
        max_bytes: Most bytes to unpack.
        max_ratio: Most bytes to unpack per byte of the archive, once `RATIO_FROM` are reached.
        max_members: Most files and folders.

    Returns:
        The unpacked folder. Files get default permissions; the archive's are not taken over.

    Raises:
        MissingFileError: The archive is not there.
        BadArchiveError: The archive is refused or cannot be read; names it and, where there is one, the member.
    """
    if not os.path.isfile(archive):
        raise MissingFileError("the archive is not there", path=archive)
    folder = Path(into) / f"{os.path.basename(archive)}-{files_fingerprint([archive])[:16]}"
    if folder.is_dir():
        return str(folder)
    try:
        with whole_folder(folder) as unfinished:
            _unpack_members(archive, unfinished, partial(_Budget, archive, max_bytes, max_ratio), max_members)
    except OSError as error:
        # Another process may have been faster, which is as good.
        if not folder.is_dir():
            raise BadArchiveError(f"cannot be unpacked: {error.strerror or error}", path=archive) from error
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


class _Budget:
    """Counts bytes and stops at a limit."""

    def __init__(self, archive: str, max_bytes: int, max_ratio: float) -> None:
        self._archive = archive
        self._max_bytes = max_bytes
        self._max_ratio = max_ratio
        self._max_by_ratio = max(RATIO_FROM, max_ratio * os.path.getsize(archive))
        self._spent = 0

    def spend(self, count: int) -> None:
        """Note `count` more bytes.

        Raises:
            BadArchiveError: That is more than either limit.
        """
        self._spent += count
        if self._spent > self._max_bytes:
            reason = f"unpacks to more than {self._max_bytes:,} bytes, the largest size allowed"
            raise BadArchiveError(reason, path=self._archive)
        if self._spent > self._max_by_ratio:
            reason = f"unpacks to more than {self._max_ratio:g} times its size, as only a bomb does"
            raise BadArchiveError(reason, path=self._archive)


class _Counted:
    """A readable stream whose bytes count against a budget: a tar header may ask for any number of them at once."""

    def __init__(self, stream: IO[bytes] | gzip.GzipFile, budget: _Budget) -> None:
        self._stream = stream
        self._budget = budget

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        self._budget.spend(len(data))
        return data


def _unpack_members(archive: str, folder: Path, budget: Callable[[], _Budget], max_members: int) -> None:
    from datasets.utils import tqdm

    written = budget()
    name = None
    with open(archive, "rb") as file:
        members = _zip_members(file) if file.read(2) == b"PK" else _tar_members(file, budget())
        file.seek(0)
        # Shown after two seconds, and on terminals only.
        shown = tqdm(members, desc=f"Unpacking {os.path.basename(archive)}", unit=" files", delay=2, disable=None)
        try:
            with closing(members):
                for number, member in enumerate(shown, 1):
                    name = member.name
                    if number > max_members:
                        raise BadArchiveError(f"holds more than {max_members:,} files and folders", path=archive)
                    _unpack_member(member, archive, folder, written)
        except BadArchiveError:
            raise
        # The readers raise whatever the damage led them to: TarError, BadZipFile, zlib.error, EOFError, ValueError, ...
        except Exception as error:
            if isinstance(error, OSError) and error.errno is not None:
                # The disk's fault.
                raise
            where = "" if name is None else f" at or after member {name!r}"
            reason = f"corrupt{where}, or not a tar, tar.gz or zip archive: {type(error).__name__}: {error}"
            raise BadArchiveError(reason, path=archive) from error


def _tar_members(file: IO[bytes], budget: _Budget) -> Generator[_Member]:
    compressed = file.read(2) == b"\x1f\x8b"
    file.seek(0)
    stream = _Counted(gzip.GzipFile(fileobj=file) if compressed else file, budget)
    with tarfile.open(fileobj=stream, mode="r|", bufsize=_CHUNK) as archive:  # type: ignore[call-overload]
        for info in archive:
            kind = "file" if info.isreg() else "folder" if info.isdir() else "a link" if _is_link(info) else "a device"
            yield _Member(info.name, kind, partial(archive.extractfile, info))


def _is_link(info: tarfile.TarInfo) -> bool:
    return info.issym() or info.islnk()


def _zip_members(file: IO[bytes]) -> Generator[_Member]:
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            kind = "file"
            mode = info.external_attr >> 16
            if info.is_dir():
                kind = "folder"
            elif stat.S_ISLNK(mode):
                kind = "a link"
            elif stat.S_IFMT(mode) not in (0, stat.S_IFREG):
                kind = "a device"
            elif info.flag_bits & 1:
                kind = "encrypted; unpack it with the authors' password and give the folder as data_dir"
            yield _Member(info.filename, kind, partial(archive.open, info))


def _unpack_member(member: _Member, archive: str, folder: Path, budget: _Budget) -> None:
    # Some tools on Windows write backslashes.
    name = member.name.replace("\\", "/")
    if not is_inside(name):
        raise BadArchiveError(f"member {member.name!r} leads out of the folder", path=archive)
    source = member.open() if member.kind == "file" else None
    if source is None and member.kind != "folder":
        raise BadArchiveError(f"member {member.name!r} is {member.kind}", path=archive)
    target = folder / name
    try:
        if source is None:
            target.mkdir(parents=True, exist_ok=True)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        with source, open(target, "xb") as file:
            while chunk := source.read(_CHUNK):
                budget.spend(len(chunk))
                file.write(chunk)
    except (FileExistsError, NotADirectoryError) as error:
        raise BadArchiveError(f"member {member.name!r} appears twice", path=archive) from error
