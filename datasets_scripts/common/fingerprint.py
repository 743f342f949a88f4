"""Fingerprints of loading code and of source data, so that the `datasets` cache notices edits of either."""

import hashlib
import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from eyechart.datasets_scripts.common.paths import is_image, open_regular

CONTENT_LIMIT = 16 * 2**20
"""Larger files (in bytes) are described by size and modification time alone."""


@cache
def source_fingerprint(*files: str | os.PathLike[str]) -> str:
    """Return a hash over the content of all modules in this folder and of `files`, as of the first call."""
    common = sorted(Path(__file__).parent.rglob("*.py"))
    digest = hashlib.sha256()
    for file in [*common, *map(Path, files)]:
        digest.update(file.name.encode() + b"\0" + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def folder_fingerprint(folder: str) -> str:
    """Return a hash over a release's folder; of images only of their names, as the dataset stores their paths."""
    paths: list[str] = []
    seen: set[str] = set()
    for root, folders, files in os.walk(folder, followlinks=True):
        if (real := os.path.realpath(root)) in seen:
            # A link to a folder that is already listed.
            folders.clear()
        else:
            seen.add(real)
            paths += [os.path.join(root, file) for file in files]
    return files_fingerprint(sorted(paths), folder)


def files_fingerprint(paths: Iterable[str], folder: str = "") -> str:
    """Return a hash over files, whose names are relative to `folder`; of files that are not local, only over names."""
    digest = hashlib.sha256()
    for path in paths:
        description = _describe_file(path, os.path.relpath(path, folder) if folder else path)
        digest.update(description.encode(errors="surrogateescape") + b"\0")
    return digest.hexdigest()


def _describe_file(path: str, name: str) -> str:
    if is_image(name):
        return name
    try:
        status = os.stat(path)
        content = ""
        if status.st_size <= CONTENT_LIMIT:
            with open_regular(path) as file:
                content = hashlib.sha256(file.read()).hexdigest()
    except OSError:
        # A broken link, a pipe, or not a local file: the readers report it if they need it.
        return name
    return f"{name}|{status.st_size}|{status.st_mtime_ns}|{content}"
