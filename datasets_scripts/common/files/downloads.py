"""Downloading large files so that an interrupted download is resumed, and comparing them with published checksums.

The download manager of `datasets` resumes only files on the Hub; it downloads others, such as KADID-10k with 3 GB, from
the start. pooch does so too.
"""

import hashlib
import os
import shutil
import warnings
from collections.abc import Mapping
from errno import ENOSPC

from eyechart.datasets_scripts.common.errors import MissingFileError

_AS_IT_IS = {"Accept-Encoding": "identity"}
PINNED: Mapping[str, Mapping[str, str]] = {
    "358e0d331bd608d12b5f8b73585333470003afff": {
        "Coarse_grained_mixed.json": "76317067c6bf6ab8af3d1853b49b28b9e75faa857ccb9c73ad9ee4c66f08fa1a",
        "Fine_grain_SPAQ.json": "b9433175ae82a96058b6df08b7ac417108eee63521a092b67626f73e1cc12c67",
        "Fine_grained_CSIQ_levels.json": "36f778d61e536bbb681e94c47ef2596eceaf24bfc1ad7d0bd3bf5aa8bb7e39c3",
        "Fine_grained_CSIQ_types.json": "8a550417e1dee48f716fab6e56f56718048434c467debf9e970f10049ef63d60",
    },
    "1c271570ac83aeb6aa8e7ff25449f3299b0d2e53": {
        "koniq10k_distributions_sets.csv": "d0bd1ad54a60bc36fe172049e46ac76c83554e50ab84acebfd47b82b3e698a0a",
    },
    "00415bbbefa1c8ade7c353df69d8d667795e164b": {
        "labels_image.csv": "667a9de3ba2633bf57c7c10f9649fd0363b6dc9b9aa34255100f1ac60b57adec",
    },
    "f19783ea1890212794ab220c90c7f71342a6289b": {
        "livec.json": "cdcd99446cda4ef6a71c5b1b8dba0e80d078461abe667161ae0a0e132f26a24f",
        "spaq.json": "d203bd96eab2d7fc3a3a0c8e63d325c0d747924d8a2c243ff27f2711b03e440d",
    },
    # Published by the Hub.
    "1e79c0cc3f65696429765193be32eb1e9510b49f": {
        "flive.tgz": "85d257ebb00b99ff998e6aa4276be5cbd4762699874f57bcbf3261e441961696",
    },
    "e198fc3981f8f4fb2909fb53ce1a9638aef3deaf": {
        "live_challenge.tgz": "cdd7a6227de40df10cfd5daf8d19894e95200fa0ca5655bbe50fd433d3b31f25",
    },
    "38ae5dc5019b596e953a6f80f7fcf6b009625766": {
        "spaq.tgz": "54e0cb49dc8359f9293e746d452d8b12ec653056c9b12a4f97798a984c7418f7",
    },
}
"""SHA-256 checksums of files by the commit in their address, so that they cannot change."""


def resumable_download(url: str, folder: str) -> str:
    """Download a file with the Hub's client, unless it was downloaded before, and return its path in `folder`.

    What has arrived is kept under a name with the server's version of the file (its ETag, or else the date of its last
    change), so that parts of two versions are never combined. The file appears complete or not at all. Raises any error
    of the HTTP client, or of its offline mode.
    """
    from filelock import FileLock
    from huggingface_hub import get_session
    from huggingface_hub.file_download import http_get

    target = os.path.join(folder, hashlib.sha256(url.encode()).hexdigest() + os.path.splitext(url)[1])
    os.makedirs(folder, exist_ok=True)
    with FileLock(f"{target}.lock"):
        if os.path.isfile(target):
            return target
        answer = get_session().head(url, headers=_AS_IT_IS, follow_redirects=True)
        about = answer.headers if answer.is_success else {}
        version, size = about.get("ETag") or about.get("Last-Modified") or "", int(about.get("Content-Length", 0))
        part = f"{target}.{hashlib.sha256(version.encode()).hexdigest()[:16]}.incomplete"
        kept = os.path.getsize(part) if os.path.isfile(part) else 0
        can_resume = version and kept <= size and about.get("Accept-Ranges") == "bytes"
        with open(part, "ab" if can_resume else "wb") as file:
            done, free = file.tell(), shutil.disk_usage(folder).free
            if size - done > free:
                reason = f"{(size - done) / 1e9:.1f} GB to download, but only {free / 1e9:.1f} GB are free"
                raise OSError(ENOSPC, reason)
            http_get(url, file, resume_size=done, headers=_AS_IT_IS, expected_size=size or None)
        os.replace(part, target)
    return target


def check_sha256(path: str, url: str) -> None:
    """Delete a download, with a `MissingFileError`, if its SHA-256 checksum is known and another one."""
    stored = os.path.realpath(path)
    # The Hub's client names its copy of a large file after the checksum.
    name = os.path.basename(stored) if os.path.islink(path) else ""
    *place, file_name = url.split("/")
    pinned: Mapping[str, str] = next((PINNED[part] for part in place if part in PINNED), {})
    expected = pinned.get(file_name, name if len(name) == 64 else None)
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


def check_md5(path: str, published: str, url: str) -> None:
    """Warn if a download has another MD5 checksum: a release may change at its address, and is checked when read."""
    with open(path, "rb") as file:
        found = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
    if found != published:
        message = (
            f"{path} has the MD5 checksum {found}; published for {url}: {published}. The release has changed, "
            "or the download is damaged. To download it again, delete the file."
        )
        warnings.warn(message, ChecksumWarning, stacklevel=2)
