"""Comparing downloaded files with published checksums."""

import hashlib

from eyechart.datasets_scripts.common.errors import BadAnnotationError


def check_md5(path: str, expected: str, url: str) -> None:
    """Compare a downloaded file with its published MD5 checksum.

    Args:
        path: The file in the download cache.
        expected: The checksum, 32 hexadecimal digits.
        url: Where the file came from, for the error.

    Raises:
        BadAnnotationError: They differ.
    """
    with open(path, "rb") as file:
        found = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
    if found != expected:
        raise BadAnnotationError(
            f"the MD5 checksum is {found}, the published one of {url} is {expected}: the download is damaged, or the "
            "release has changed. Delete the file to download it again; to use it as it is, put it under its own name "
            "into a folder and give that as data_dir",
            path=path,
        )
