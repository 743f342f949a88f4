"""Comparing downloaded files with published checksums."""

import hashlib
import os
import warnings
from collections.abc import Mapping, Sequence

from eyechart.datasets_scripts.common.errors import MissingFileError

PINNED: Mapping[str, str] = {
    "Coarse_grained_mixed.json": "76317067c6bf6ab8af3d1853b49b28b9e75faa857ccb9c73ad9ee4c66f08fa1a",
    "Fine_grain_SPAQ.json": "b9433175ae82a96058b6df08b7ac417108eee63521a092b67626f73e1cc12c67",
    "Fine_grained_CSIQ_levels.json": "36f778d61e536bbb681e94c47ef2596eceaf24bfc1ad7d0bd3bf5aa8bb7e39c3",
    "Fine_grained_CSIQ_types.json": "8a550417e1dee48f716fab6e56f56718048434c467debf9e970f10049ef63d60",
    "koniq10k_distributions_sets.csv": "d0bd1ad54a60bc36fe172049e46ac76c83554e50ab84acebfd47b82b3e698a0a",
    "labels_image.csv": "667a9de3ba2633bf57c7c10f9649fd0363b6dc9b9aa34255100f1ac60b57adec",
    "livec.json": "cdcd99446cda4ef6a71c5b1b8dba0e80d078461abe667161ae0a0e132f26a24f",
    "spaq.json": "d203bd96eab2d7fc3a3a0c8e63d325c0d747924d8a2c243ff27f2711b03e440d",
    # Published by the Hub for these commits.
    "flive.tgz": "85d257ebb00b99ff998e6aa4276be5cbd4762699874f57bcbf3261e441961696",
    "live_challenge.tgz": "cdd7a6227de40df10cfd5daf8d19894e95200fa0ca5655bbe50fd433d3b31f25",
    "spaq.tgz": "54e0cb49dc8359f9293e746d452d8b12ec653056c9b12a4f97798a984c7418f7",
}
"""SHA-256 checksums by file name, of files whose address contains a commit, so that they cannot change."""


def check_sha256(path: str, url: str) -> None:
    """Compare a download with its SHA-256 checksum, if one is known; delete it if they differ.

    Raises:
        MissingFileError: They differ.
    """
    stored = os.path.realpath(path)
    # The Hub's client names its copy of a large file after the checksum.
    name = os.path.basename(stored) if os.path.islink(path) else ""
    expected = PINNED.get(url.rpartition("/")[2], name if len(name) == 64 else None)
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
    """Return a downloaded file's MD5 checksum, and warn if it is none of those that are published for its versions.

    A release may change at the same address, so an unknown checksum is not an error: the content is checked when the
    file is read.
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
