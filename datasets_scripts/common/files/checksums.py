"""Comparing downloaded files with published checksums."""

import hashlib
import os
import re
import warnings
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from eyechart.datasets_scripts.common.errors import MissingFileError

_TWO_AFC = "https://raw.githubusercontent.com/h4nwei/2AFC-LMMs/358e0d331bd608d12b5f8b73585333470003afff/data/"
_KONIQ = "https://raw.githubusercontent.com/subpic/koniq/1c271570ac83aeb6aa8e7ff25449f3299b0d2e53/metadata/"
PINNED: Mapping[str, str] = MappingProxyType(
    {
        f"{_TWO_AFC}Coarse_grained_mixed.json": "76317067c6bf6ab8af3d1853b49b28b9e75faa857ccb9c73ad9ee4c66f08fa1a",
        f"{_TWO_AFC}Fine_grain_SPAQ.json": "b9433175ae82a96058b6df08b7ac417108eee63521a092b67626f73e1cc12c67",
        f"{_TWO_AFC}Fine_grained_CSIQ_levels.json": "36f778d61e536bbb681e94c47ef2596eceaf24bfc1ad7d0bd3bf5aa8bb7e39c3",
        f"{_TWO_AFC}Fine_grained_CSIQ_types.json": "8a550417e1dee48f716fab6e56f56718048434c467debf9e970f10049ef63d60",
        f"{_KONIQ}koniq10k_distributions_sets.csv": "d0bd1ad54a60bc36fe172049e46ac76c83554e50ab84acebfd47b82b3e698a0a",
    }
)
"""SHA-256 checksums of files whose address contains a commit, so that they cannot change."""
_SHA256 = re.compile(r"[0-9a-f]{64}")


def check_sha256(path: str, url: str) -> None:
    """Compare a download with its SHA-256 checksum, if one is known.

    The Hub publishes the checksum of every large file, and its client names the copy after it. A damaged download is
    deleted, so that the next attempt downloads it again.

    Args:
        path: The file in the download cache.
        url: Where it came from.

    Raises:
        MissingFileError: The checksums differ.
    """
    stored = os.path.realpath(path)
    name = os.path.basename(stored)
    # Copies from other servers are named after their address.
    named_after = name if os.path.islink(path) and _SHA256.fullmatch(name) else None
    expected = PINNED.get(url, named_after)
    if expected is None:
        return
    with open(stored, "rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != expected:
        os.remove(stored)
        raise MissingFileError(
            f"the download of {url} was damaged and has been deleted (SHA-256 {found}, published: {expected}); "
            "run the same command again to download the file again"
        )


class ChecksumWarning(UserWarning):
    """A downloaded file has none of the published checksums."""


def check_md5(path: str, known: Sequence[str], url: str) -> str:
    """Compare a downloaded file with its published MD5 checksums, and warn if it has none of them.

    A release may change at the same address, so an unknown checksum is not an error: the content is checked when the
    file is read.

    Args:
        path: The file in the download cache.
        known: The checksums of all versions of the file, 32 hexadecimal digits each, the current one first.
        url: Where the file came from, for the warning.

    Returns:
        The file's checksum.
    """
    with open(path, "rb") as file:
        found = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
    if found not in known:
        message = (
            f"{path} has the MD5 checksum {found}; published for {url}: {', '.join(known)}. The release has changed, "
            "or the download is damaged. To download it again, delete the file."
        )
        warnings.warn(message, ChecksumWarning, stacklevel=2)
    return found
