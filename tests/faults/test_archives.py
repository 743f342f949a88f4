"""Archives: tar and zip files of a dataset."""

import os
import signal
import stat
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

import pytest

from eyechart.datasets_scripts.common.errors import BadArchiveError, MissingFileError
from eyechart.datasets_scripts.common.files import archives
from eyechart.datasets_scripts.common.files.archives import unpack
from tests.datasets_scripts.common.files.test_archives import FILES, WRITERS, contents, special, write_tar, write_zip
from tests.faults.fault import fault, rows
from tests.faults.helpers import full_disk

pytestmark = pytest.mark.datasets36
REFUSED = "the archive is refused; no unpacked files remain"
UNPACKING = """
import sys
from eyechart.datasets_scripts.common.files.archives import unpack
unpack(sys.argv[1], sys.argv[2])
"""


def refused(archive: Path, out: Path, reason: str) -> None:
    """Check that unpacking fails and leaves no files."""
    with pytest.raises(BadArchiveError, match=reason) as caught:
        unpack(str(archive), str(out))
    assert caught.value.path == str(archive)
    assert not out.is_dir() or list(out.iterdir()) == []


def truncated(name: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        members = [("a.png", b"x"), ("b.png", os.urandom(50_000) + bytes(range(256)) * 400)]
        return WRITERS[name](Path(folder) / name, members).read_bytes()[:40_000]


@pytest.mark.parametrize(
    "name",
    rows(
        REFUSED,
        ("a member path that leads out of the folder", "images/../../evil.png"),
        ("a member with an absolute path", "/tmp/evil.png"),
        ("a member with a Windows drive path", "C:\\evil.png"),
        ("a member with a Windows network path", "\\\\host\\evil.png"),
    ),
)
def test_outside(tmp_path, name):
    for write in (write_tar, write_zip):
        archive = write(tmp_path / "bad.archive", members=[FILES[0], (name, b"x")])
        refused(archive, tmp_path / "in" / "out", "points outside the folder")
        assert contents(tmp_path) == {"bad.archive": archive.read_bytes()}


@pytest.mark.parametrize(
    ("members", "reason"),
    rows(
        REFUSED,
        ("a symbolic link to /etc", [special("link", tarfile.SYMTYPE, "/etc"), ("link/a", b"")], "'link' is"),
        ("a symbolic link to a parent folder", [special("a/link", tarfile.SYMTYPE, "../../..")], "'a/link' is"),
        ("a hard link to outside", [FILES[0], special("b", tarfile.LNKTYPE, "../bad.archive")], "'b' is refused"),
        ("a device", [special("null", tarfile.CHRTYPE)], "'null' is refused: .* special file"),
        ("a named pipe", [special("pipe", tarfile.FIFOTYPE)], "'pipe' is refused: .* special file"),
        ("a name of 5,000 letters", [("x" * 5000, b"x")], "cannot be unpacked: File name too long"),
        ("a file where a folder is expected", [("a", b"x"), ("a/b", b"x")], "cannot be unpacked: "),
    ),
)
def test_members(tmp_path, members, reason):
    archive = write_tar(tmp_path / "bad.archive", members=members)
    refused(archive, tmp_path / "in" / "out", reason)
    assert contents(tmp_path) == {"bad.archive": archive.read_bytes()}


@fault("a world-writable setuid member", "it is unpacked as a normal file of the user")
def test_rights(tmp_path):
    member = special("a", tarfile.REGTYPE)
    member.mode = 0o6777
    folder = unpack(str(write_tar(tmp_path / "a.tar", [member])), str(tmp_path / "out"))
    assert not stat.S_IMODE((Path(folder) / "a").stat().st_mode) & 0o6022


@fault("a symbolic link in a zip file", "it is unpacked as a small text file")
def test_zip_link(tmp_path):
    info = zipfile.ZipInfo("link")
    info.create_system, info.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(info, "/etc/passwd")
    folder = Path(unpack(str(tmp_path / "a.zip"), str(tmp_path / "out")))
    assert not (folder / "link").is_symlink() and (folder / "link").read_text() == "/etc/passwd"


@fault("an archive unpacks to more than the allowed size", REFUSED)
def test_size(tmp_path, monkeypatch):
    for limit, least in (("MAX_BYTES", 6005), ("MAX_MEMBERS", 3)):
        for name, write in WRITERS.items():
            archive = write(tmp_path / name, FILES)
            monkeypatch.setattr(archives, limit, least - 1)
            refused(archive, tmp_path / "out", r"unpacks to more than [\d,]+ bytes or [\d,]+ files, the limit")
            monkeypatch.setattr(archives, limit, least)
            assert contents(unpack(str(archive), str(tmp_path / f"out {limit}"))) == dict(FILES)


@fault("a header understates the unpacked size of a member", REFUSED)
def test_understated(tmp_path):
    archive = write_zip(tmp_path / "liar.zip", [("zeros", bytes(2**20))])
    archive.write_bytes(archive.read_bytes().replace((2**20).to_bytes(4, "little"), (100).to_bytes(4, "little")))
    refused(archive, tmp_path / "out", r"corrupt: .*CRC")


@fault("an encrypted zip file", "it is refused; the message says what to do")
def test_encrypted(tmp_path):
    archive = write_zip(tmp_path / "a.zip", [("a.png", b"x")])
    data = bytearray(archive.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(signature) + offset] |= 1
    archive.write_bytes(data)
    refused(archive, tmp_path / "out", r"'a\.png' is encrypted; unpack the archive with the authors' password")


@pytest.mark.parametrize(
    "content",
    rows(
        REFUSED,
        ("an archive of 0 bytes", b""),
        ("an archive of two bytes", b"PK"),
        ("a sign-in page saved as an archive", b"<html>Sign in</html>" * 100),
        ("a zip file without its list of members", b"PK\x03\x04" + bytes(600)),
        *((f"a truncated archive, {name}", truncated(name)) for name in ("images.tar", "images.tar.gz", "images.zip")),
    ),
)
def test_no_archive(tmp_path, content):
    (tmp_path / "images.tar").write_bytes(content)
    refused(tmp_path / "images.tar", tmp_path / "out", r"images\.tar: not a tar, tar\.gz or zip archive, or corrupt")


@fault("a missing archive, or a named pipe in its place", "the message gives the reason; nothing is opened")
def test_missing(tmp_path):
    os.mkfifo(tmp_path / "pipe.tar")
    for name in ("none.tar", "pipe.tar"):
        with pytest.raises(MissingFileError, match=f"{name}: the archive is missing"):
            unpack(str(tmp_path / name), str(tmp_path / "out"))


@fault("the disk is full, or a file exists where an archive is unpacked", "the message gives the reason")
def test_full_disk(tmp_path):
    archive = write_zip(tmp_path / "a.zip", FILES)
    with full_disk(2000):
        refused(archive, tmp_path / "out", r"a\.zip: the archive cannot be unpacked: File too large")
    (tmp_path / "file").write_bytes(b"a file is in the way")
    refused(archive, tmp_path / "file", r"a\.zip: the archive cannot be unpacked: (File exists|Not a directory)")


@fault("a process is killed while it unpacks an archive", "the next start unpacks all of it; no hidden files remain")
def test_killed(tmp_path):
    members = [(f"{number}.png", os.urandom(2000)) for number in range(4000)]
    archive, out = write_zip(tmp_path / "a.zip", members), tmp_path / "out"
    child = subprocess.Popen([sys.executable, "-c", UNPACKING, str(archive), str(out)])
    while child.poll() is None and not list(out.glob(".*/unfinished/9.png")):
        time.sleep(0.001)
    child.send_signal(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL, "it must not have finished before"
    assert [path.name[0] for path in out.iterdir()] == ["."]
    folder = unpack(str(archive), str(out))
    assert contents(folder) == dict(members) and os.listdir(out) == [os.path.basename(folder)]
