"""Archives are unpacked once; downloads that are cut off are resumed, and are what was published."""

import hashlib
import io
import os
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from eyechart.datasets_scripts import load_dataset
from eyechart.datasets_scripts.common.errors import MissingFileError
from eyechart.datasets_scripts.common.files import downloads
from eyechart.datasets_scripts.common.files.archives import image_folders, unpack
from eyechart.datasets_scripts.common.files.downloads import resumable_download
from eyechart.datasets_scripts.common.quality import database
from eyechart.datasets_scripts.common.quality.databases import DATABASES
from eyechart.datasets_scripts.two_afc import two_afc

pytestmark = pytest.mark.datasets36
Member = tuple[str, bytes]
FILES: list[Member] = [("images/a.png", b"first"), ("images/deep/b.png", b"second" * 1000), ("notes.txt", b"")]


def write_tar(path: Path, members: list[Member | tarfile.TarInfo], mode: str = "w") -> Path:
    with tarfile.open(path, mode) as archive:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                archive.addfile(member)
            else:
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                archive.addfile(info, io.BytesIO(member[1]))
    return path


def write_zip(path: Path, members: list[Member]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member in members:
            archive.writestr(*member)
    return path


def special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type = kind
    info.linkname = target
    return info


def contents(folder: str | Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()
    }


WRITERS = {
    "images.tar": write_tar,
    "images.tar.gz": partial(write_tar, mode="w:gz"),
    "images.zip": write_zip,
    # What the downloads of `datasets` are called.
    "0f3a9c": partial(write_tar, mode="w:gz"),
}


def test_an_archive_is_unpacked_once_and_anew_when_it_changes(tmp_path: Path) -> None:
    archive = write_zip(tmp_path / "a.zip", FILES)
    first = unpack(str(archive), str(tmp_path / "out"))
    (Path(first) / "notes.txt").write_bytes(b"kept")
    assert unpack(str(archive), str(tmp_path / "out")) == first
    assert contents(first)["notes.txt"] == b"kept"
    before = archive.stat()
    archive.write_bytes(archive.read_bytes().replace(b"notes.txt", b"noted.txt"))
    os.utime(archive, ns=(before.st_atime_ns, before.st_mtime_ns))
    second = unpack(str(archive), str(tmp_path / "out"))
    assert second != first and "noted.txt" in contents(second)


def test_image_folders_unpack_only_what_is_needed(tmp_path: Path) -> None:
    release, out = tmp_path / "release", tmp_path / "out"
    release.mkdir()
    write_tar(release / "images.tar", FILES)
    names, known = ["", "images"], ["images.tar", "more.zip"]
    plain = (str(release), str(release / "images"))
    assert image_folders(str(release), names, [], str(out)) == plain
    *before, unpacked, images = image_folders(str(release), names, known, str(out))
    assert tuple(before) == plain
    assert os.path.isfile(os.path.join(images, "a.png")) and os.path.isfile(os.path.join(unpacked, "notes.txt"))
    (release / "images").mkdir()
    (release / "images" / "a.PNG").touch()
    assert image_folders(str(release), names, known, str(out)) == plain


class Server(ThreadingHTTPServer):
    """A server of one file on this machine that can end the connection at some byte."""

    content = bytes(range(256)) * 400
    etag = '"first"'
    changed = ""
    ranges = True
    ends_at: int | None = None

    def __init__(self) -> None:
        """Start with nothing asked for."""
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/images.zip"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_HEAD(self) -> None:
        self._head(200, len(self.server.content))

    def do_GET(self) -> None:
        server, wanted = self.server, self.headers.get("Range", "")
        server.asked.append(wanted)
        start = int(wanted.removeprefix("bytes=").split("-")[0]) if wanted and server.ranges else 0
        part = f"bytes {start}-{len(server.content) - 1}/{len(server.content)}" if start else ""
        self._head(206 if start else 200, len(server.content) - start, part)
        self.wfile.write(server.content[start : server.ends_at])

    def _head(self, status: int, length: int, part: str = "") -> None:
        self.send_response(status)
        headers = {"Content-Length": str(length), "Content-Range": part}
        headers |= {"ETag": self.server.etag, "Last-Modified": self.server.changed}
        headers |= {"Accept-Ranges": "bytes"} if self.server.ranges else {}
        for name, value in headers.items():
            if value:
                self.send_header(name, value)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def online(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests are offline, but for the server on this machine."""
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 1000)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.file_download.time.sleep", lambda seconds: None)


def cut_off(server: Server, folder: Path, ends_at: int = 50_000) -> int:
    """Download until the server ends the connection; return how much has arrived."""
    server.ends_at = ends_at
    with pytest.raises(Exception, match=r"(?i)peer closed|incomplete|consistency"):
        resumable_download(server.url, str(folder))
    server.ends_at, server.asked = None, []
    (part,) = folder.glob("*.incomplete")
    assert part.read_bytes() == server.content[: part.stat().st_size]
    return part.stat().st_size


@pytest.mark.usefixtures("online")
@pytest.mark.parametrize(("etag", "changed"), [('"first"', ""), ("", "Mon, 01 Jan 2024 00:00:00 GMT")])
def test_a_download_goes_on_where_it_stopped(server: Server, tmp_path: Path, etag: str, changed: str) -> None:
    server.etag, server.changed = etag, changed
    arrived = cut_off(server, tmp_path)
    assert arrived == 50_000
    path = resumable_download(server.url, str(tmp_path))
    assert Path(path).read_bytes() == server.content and server.asked == [f"bytes={arrived}-"]
    assert not list(tmp_path.glob("*.incomplete"))
    server.asked = []
    assert resumable_download(server.url, str(tmp_path)) == path and server.asked == []


@pytest.mark.usefixtures("online")
@pytest.mark.parametrize("change", [{"etag": '"second"', "content": b"changed" * 9000}, {"ranges": False}, {}])
def test_what_cannot_be_resumed_begins_anew(server: Server, tmp_path: Path, change: dict[str, object]) -> None:
    cut_off(server, tmp_path)
    for name, value in change.items():
        setattr(server, name, value)
    if not change:
        # Longer than the file: what an old client of the Hub leaves if the server ignores that a part was asked for.
        next(tmp_path.glob("*.incomplete")).write_bytes(2 * server.content)
    assert Path(resumable_download(server.url, str(tmp_path))).read_bytes() == server.content
    assert server.asked == [""]


def test_pinned_checksums_are_those_of_the_authors_files(reference: Path) -> None:
    folders = [reference / folder for folder in ("two-afc", "q-bench-a3", "iqa-annotations")]
    places = {file.name.removeprefix("live_fb_"): file for folder in folders for file in folder.iterdir()}
    urls = [url for row in DATABASES.values() for url in row.downloads.values() if "/resolve/" in url or "/raw." in url]
    urls += [two_afc._LABELS + name for name in two_afc.LABEL_FILES.values()]
    pinned = [(commit, name) for commit, files in downloads.PINNED.items() for name in files]
    assert len(pinned) == len(urls)
    for commit, name in pinned:
        (url,) = (url for url in urls if f"/{commit}/" in url and url.endswith(f"/{name}"))
        checksum = downloads.PINNED[commit][name]
        assert "/resolve/" in url or hashlib.sha256(places[name].read_bytes()).hexdigest() == checksum


@pytest.mark.usefixtures("online")
def test_a_database_whose_download_broke_off(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write_image: Callable[..., None]
) -> None:
    write_image(tmp_path / "I01_01_01.png")
    with zipfile.ZipFile(tmp_path / "kadid10k.zip", "w") as archive:
        archive.writestr("kadid10k/dmos.csv", "dist_img,ref_img,dmos,var\nI01_01_01.png,I01.png,4.5,0.5\n")
        archive.write(tmp_path / "I01_01_01.png", "kadid10k/images/I01_01_01.png")
        archive.writestr("kadid10k/more.bin", bytes(50_000))
    server.content, server.ends_at = (tmp_path / "kadid10k.zip").read_bytes(), 40_000
    row = replace(DATABASES["kadid10k"], downloads={"images": server.url})
    monkeypatch.setattr(database, "DATABASES", {"kadid10k": row})
    reason = r"(?s)/images\.zip cannot be downloaded \(.*; the same command resumes it\nTo get KADID-10k by hand"
    with pytest.raises(MissingFileError, match=reason):
        load_dataset("kadid10k", cache_dir=tmp_path / "cache")
    server.ends_at, server.asked = None, []
    part = load_dataset("kadid10k", cache_dir=tmp_path / "cache", split="test")
    assert part["quality"][:] == [4.5] and part[0]["image"].size == (10, 8)
    assert len(server.asked) == 1 and server.asked[0]
