"""Comparing downloaded files with published checksums."""

import hashlib
import warnings
from collections.abc import Sequence


class ChecksumWarning(UserWarning):
    """A downloaded file is not one of those whose checksums were published."""


def check_md5(path: str, known: Sequence[str], url: str) -> str:
    """Compare a downloaded file with its published MD5 checksums, and warn if it is none of these files.

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
