"""Downloading large files so that an interrupted download can be resumed.

The download manager of `datasets` resumes only files on the Hub; it downloads others from the start. KADID-10k has
3 GB.
"""

import glob
import hashlib
import os
import shutil
from errno import ENOSPC
from typing import Any
from urllib.request import Request, urlopen

CHUNK = 16 * 2**20
"""Bytes per request, and so the most that an interruption can lose."""
_TIMEOUT = 30
"""Seconds to wait for a server's answer about a file."""


def resumable_download(url: str, folder: str) -> str | None:
    """Download a file, unless it was downloaded before.

    The part received so far is kept next to the file, under a name that identifies the server's version of it (its
    ETag, or else the date of its last change), so that parts of two versions are never combined.

    Args:
        url: HTTP or HTTPS address of the file.
        folder: Folder of downloaded files.

    Returns:
        Path of the file, which appears complete or not at all; None if the server cannot send parts of files, or does
        not report their size and version.

    Raises:
        ConnectionError: Hugging Face's libraries are set to stay offline.
        Exception: The server cannot be reached, or stopped sending: any error of the HTTP client. The next attempt
            resumes the download.
    """
    from datasets import config
    from filelock import FileLock
    from fsspec.core import url_to_fs

    target = _target(url, folder)
    if os.path.isfile(target):
        return target
    if config.HF_HUB_OFFLINE:
        raise ConnectionError("HF_HUB_OFFLINE is set")
    os.makedirs(folder, exist_ok=True)
    with FileLock(f"{target}.lock"):
        # Another process may have downloaded it in the meantime.
        if os.path.isfile(target):
            return target
        files, place = url_to_fs(url)
        about = files.info(place)
        version_mark = about.get("ETag") or about.get("Last-Modified") or _last_changed(url)
        if not (about.get("size") and version_mark):
            return None
        version = hashlib.sha256(version_mark.encode()).hexdigest()[:16]
        part = f"{target}.{version}.incomplete"
        try:
            _append_rest(files, place, about["size"], part)
        except ValueError:
            # fsspec asked for a part, and the server sent the full file.
            os.remove(part)
            return None
        os.replace(part, target)
    return target


def has_part(url: str, folder: str) -> bool:
    """Whether a part of a file has arrived, so that `resumable_download` can resume."""
    parts = glob.glob(f"{glob.escape(_target(url, folder))}.*.incomplete")
    return any(os.path.getsize(part) for part in parts)


def _target(url: str, folder: str) -> str:
    return os.path.join(folder, hashlib.sha256(url.encode()).hexdigest())


def _last_changed(url: str) -> str | None:
    """The server's date of a file's last change, which older versions of fsspec do not report."""
    try:
        with urlopen(Request(url, method="HEAD"), timeout=_TIMEOUT) as answer:
            changed: str | None = answer.headers.get("Last-Modified")
    except OSError:
        return None
    return changed


def _append_rest(files: Any, place: str, size: int, part: str) -> None:
    from datasets.utils import tqdm

    with open(part, "ab") as local:
        done = local.tell()
        free = shutil.disk_usage(os.path.dirname(part)).free
        if size - done > free:
            raise OSError(ENOSPC, f"{(size - done) / 1e9:.1f} GB to download, but only {free / 1e9:.1f} GB are free")
        title = f"Downloading {os.path.basename(place)}"
        # Shown after two seconds, and on terminals only.
        shown = tqdm(total=size, initial=done, desc=title, unit="B", unit_scale=True, delay=2, disable=None)
        with shown, files.open(place, "rb", block_size=CHUNK, size=size) as remote:
            while done < size:
                remote.seek(done)
                data = remote.read(min(CHUNK, size - done))
                if not data:
                    raise OSError(f"the download of {place} ended after {done:,} of {size:,} bytes")
                local.write(data)
                done += len(data)
                shown.update(len(data))
