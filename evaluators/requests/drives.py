"""Whether a folder is on a network drive, where a database in WAL mode may be damaged by a second machine."""

import os
import re
from pathlib import Path

MOUNTS = Path("/proc/self/mounts")
"""Linux's list of mounted file systems, one per line: device, mount point, type. Other systems do not have it."""
_NETWORK = re.compile(
    r"nfs\d?|cifs|smb\w*|afs|9p|ceph|lustre|gpfs|beegfs\w*|pvfs\d?|orangefs|glusterfs"
    r"|fuse\.(?:sshfs|glusterfs|s3fs|gcsfuse|rclone|ceph|davfs2?|juicefs|mount-s3|curlftpfs)"
)


def network_drive(folder: str | Path, mounts: Path | None = None) -> str:
    """The type of a folder's network file system, such as "nfs4"; "" on local disks, or if unknown.

    Args:
        folder: The folder; it need not exist.
        mounts: The list of file systems; `MOUNTS` by default.
    """
    try:
        lines = (mounts or MOUNTS).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    path = os.path.realpath(folder)
    deepest, kind = "", ""
    for fields in (line.split() for line in lines):
        if len(fields) < 3:
            continue
        # Spaces and similar characters are written as octal numbers.
        point = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), fields[1])
        contains = path == point or path.startswith(point.rstrip("/") + "/")
        # Of two mounts at the same point, the later one hides the earlier one.
        if contains and len(point) >= len(deepest):
            deepest, kind = point, fields[2]
    return kind if _NETWORK.fullmatch(kind) else ""
