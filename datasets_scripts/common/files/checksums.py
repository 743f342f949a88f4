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
"""SHA-256 checksums of files whose address names a commit, so that they cannot change."""
_SHA256 = re.compile(r"[0-9a-f]{64}")


def check_sha256(path: str, url: str) -> None:
    """Compare a download with its SHA-256 checksum, where one is known.

    The Hub tells that of every large file, and the Hub's client names its copy after it. A damaged download is deleted,
    so that the next attempt gets it anew.

    Args:
        path: The file in the download cache.
        url: Where it came from.

    Raises:
        MissingFileError: They differ.
    """
    stored = os.path.realpath(path)
    name = os.path.basename(stored)
    # Copies that are not the Hub's are named after their address.
    named_after = name if os.path.islink(path) and _SHA256.fullmatch(name) else None
    expected = PINNED.get(url, named_after)
    if expected is None:
        return
    with open(stored, "rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != expected:
        os.remove(stored)
        raise MissingFileError(
            f"{url} arrived damaged and was deleted: its SHA-256 checksum is {found}, the published one {expected}; "
            "give the same command again to download it anew"
        )


class ChecksumWarning(UserWarning):
    """A downloaded file is not one of those whose checksums were published."""


def check_md5(path: str, known: Sequence[str], url: str) -> str:
    """Compare a downloaded file with its published MD5 checksums, and warn if it equals none of them.

    A release may change at its old address, so an unknown checksum is no error: what the file holds is checked when it
    is read.

    Args:
        path: The file in the download cache.
        known: The checksums of all generations of the file, 32 hexadecimal digits each, the present one first.
        url: Where the file came from, for the warning.

    Returns:
        The file's checksum.
    """
    with open(path, "rb") as file:
        found = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
    if found not in known:
        message = (
            f"the MD5 checksum of {path} is {found}; published for {url}: {', '.join(known)}. The release has changed, "
            "or the download is damaged: to download it again, delete the file."
        )
        warnings.warn(message, ChecksumWarning, stacklevel=2)
    return found
