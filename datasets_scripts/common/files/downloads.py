"""Downloading large files so that an interrupted download is resumed.

The download manager of `datasets` resumes only files on the Hub; it downloads others, such as KADID-10k with 3 GB, from
the start. pooch does so too.
"""

import hashlib
import os
import shutil
from errno import ENOSPC

_AS_IT_IS = {"Accept-Encoding": "identity"}


def resumable_download(url: str, folder: str) -> str:
    """Download a file with the Hub's client, unless it was downloaded before.

    What has arrived is kept under a name with the server's version of the file (its ETag, or else the date of its last
    change), so that parts of two versions are never combined. The file appears complete or not at all.

    Args:
        url: HTTP or HTTPS address of the file.
        folder: Folder of downloaded files.

    Returns:
        Path of the file, whose name has the suffix of the address.

    Raises:
        Exception: Any error of the HTTP client, or its offline mode. The next attempt resumes the download.
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
                raise OSError(
                    ENOSPC, f"{(size - done) / 1e9:.1f} GB to download, but only {free / 1e9:.1f} GB are free"
                )
            http_get(url, file, resume_size=done, headers=_AS_IT_IS, expected_size=size or None)
        os.replace(part, target)
    return target
