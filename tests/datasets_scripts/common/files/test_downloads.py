import hashlib
import threading
import zipfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import MappingProxyType

import pytest

from eyechart.datasets_scripts import load_dataset
from eyechart.datasets_scripts.common.errors import MissingFileError
from eyechart.datasets_scripts.common.files import checksums, downloads
from eyechart.datasets_scripts.common.files.checksums import check_sha256
from eyechart.datasets_scripts.common.files.downloads import has_part, resumable_download
from eyechart.datasets_scripts.kadid10k.kadid10k import Kadid10k
from eyechart.datasets_scripts.koniq10k.koniq10k import Koniq10k
from eyechart.datasets_scripts.two_afc.two_afc import _LABELS, LABEL_FILES

pytestmark = pytest.mark.datasets36


class Server(ThreadingHTTPServer):
    """A server of one file on this machine that can fail from some byte on."""

    content = bytes(range(256)) * 40
    etag = '"first"'
    changed = ""
    ranges = True
    fails_from: int | None = None

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
        wanted = self.headers.get("Range", "")
        self.server.asked.append(wanted)
        if not (wanted and self.server.ranges):
            self._head(200, len(self.server.content))
            self.wfile.write(self.server.content)
            return
        start, end = (int(number) for number in wanted.removeprefix("bytes=").split("-"))
        if self.server.fails_from is not None and end >= self.server.fails_from:
            self.send_error(503)
            return
        data = self.server.content[start : end + 1]
        self._head(206, len(data), f"bytes {start}-{start + len(data) - 1}/{len(self.server.content)}")
        self.wfile.write(data)

    def _head(self, status: int, length: int, part: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(length))
        self.send_header("ETag", self.server.etag)
        self.send_header("Last-Modified", self.server.changed)
        if part:
            self.send_header("Content-Range", part)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(downloads, "CHUNK", 1000)
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def online(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests are offline, but for the server on this machine."""
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", False)


@pytest.mark.usefixtures("online")
def test_a_download_goes_on_where_it_stopped(server: Server, tmp_path: Path) -> None:
    server.fails_from = 5000
    with pytest.raises(Exception, match="503"):
        resumable_download(server.url, str(tmp_path))
    (part,) = tmp_path.glob("*.incomplete")
    arrived = part.stat().st_size
    assert 1000 <= arrived < 5000 and part.read_bytes() == server.content[:arrived]
    server.fails_from, server.asked = None, []
    path = resumable_download(server.url, str(tmp_path))
    assert path is not None and Path(path).read_bytes() == server.content
    assert all(int(asked.removeprefix("bytes=").split("-")[0]) >= arrived for asked in server.asked)
    assert not list(tmp_path.glob("*.incomplete"))
    server.asked = []
    assert resumable_download(server.url, str(tmp_path)) == path and server.asked == []


@pytest.mark.usefixtures("online")
def test_without_an_etag_the_time_of_the_last_change_tells_versions_apart(server: Server, tmp_path: Path) -> None:
    server.fails_from, server.etag, server.changed = 5000, "", "Mon, 01 Jan 2024 00:00:00 GMT"
    with pytest.raises(Exception, match="503"):
        resumable_download(server.url, str(tmp_path))
    assert has_part(server.url, str(tmp_path)) and not has_part(server.url + "x", str(tmp_path))
    server.fails_from, server.asked = None, []
    path = resumable_download(server.url, str(tmp_path))
    assert path is not None and Path(path).read_bytes() == server.content
    assert server.asked and "bytes=0-" not in server.asked[0]
    assert not has_part(server.url, str(tmp_path))


@pytest.mark.usefixtures("online")
def test_progress_is_shown(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[tuple[str, int]] = []

    class Bar:
        def __init__(self, *, total: int, desc: str, **_: object) -> None:
            shown.append((desc, total))

        def __enter__(self) -> "Bar":
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def update(self, count: int) -> None:
            shown.append(("arrived", count))

    monkeypatch.setattr("datasets.utils.tqdm", Bar)
    resumable_download(server.url, str(tmp_path))
    (title, total), *steps = shown
    assert (title, total) == ("Downloading images.zip", len(server.content))
    assert len(steps) > 5 and sum(count for _, count in steps) == total


@pytest.mark.usefixtures("online")
def test_a_file_that_is_not_what_its_checksum_says_is_deleted(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = resumable_download(server.url, str(tmp_path))
    assert path is not None
    check_sha256(path, server.url)
    monkeypatch.setattr(checksums, "PINNED", {server.url: hashlib.sha256(server.content).hexdigest()})
    check_sha256(path, server.url)
    Path(path).write_bytes(server.content[:-1] + b"?")
    with pytest.raises(MissingFileError, match=r"images\.zip was damaged and has been deleted \(SHA-256"):
        check_sha256(path, server.url)
    assert not Path(path).exists()


def test_pinned_checksums_are_those_of_the_authors_files(reference: Path) -> None:
    places = {file.name: file for folder in ("two-afc", "iqa-annotations") for file in (reference / folder).iterdir()}
    for url, checksum in checksums.PINNED.items():
        assert hashlib.sha256(places[url.rpartition("/")[2]].read_bytes()).hexdigest() == checksum
    assert set(checksums.PINNED) == {Koniq10k.DOWNLOADS["scores"], *(_LABELS + name for name in LABEL_FILES.values())}


@pytest.mark.usefixtures("online")
def test_parts_of_two_versions_are_not_put_together(server: Server, tmp_path: Path) -> None:
    server.fails_from = 5000
    with pytest.raises(Exception, match="503"):
        resumable_download(server.url, str(tmp_path))
    server.fails_from, server.etag, server.content = None, '"second"', b"changed" * 1000
    path = resumable_download(server.url, str(tmp_path))
    assert path is not None and Path(path).read_bytes() == server.content


@pytest.mark.usefixtures("online")
@pytest.mark.parametrize("etag", ['"first"', ""])
def test_a_database_whose_download_broke_off(
    server: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    write_image: Callable[..., None],
    etag: str,
) -> None:
    write_image(tmp_path / "I01_01_01.png")
    with zipfile.ZipFile(tmp_path / "kadid10k.zip", "w") as archive:
        archive.writestr("kadid10k/dmos.csv", "dist_img,ref_img,dmos,var\nI01_01_01.png,I01.png,4.5,0.5\n")
        archive.write(tmp_path / "I01_01_01.png", "kadid10k/images/I01_01_01.png")
        archive.writestr("kadid10k/more.bin", bytes(5000))
    server.content, server.etag, server.fails_from = (tmp_path / "kadid10k.zip").read_bytes(), etag, 4000
    monkeypatch.setattr(Kadid10k, "DOWNLOADS", MappingProxyType({"images": server.url}))
    if etag:
        told = r"(?s)/images\.zip cannot be downloaded \(.*503.*\nTo resume the download, .*\nTo get KADID-10k"
        with pytest.raises(MissingFileError, match=told):
            load_dataset("kadid10k", cache_dir=tmp_path / "cache")
    server.fails_from = None
    part = load_dataset("kadid10k", cache_dir=tmp_path / "cache", split="test")
    assert part["quality"][:] == [4.5] and part[0]["image"].size == (10, 8)


def test_nothing_is_downloaded_in_offline_mode(server: Server, tmp_path: Path) -> None:
    with pytest.raises(ConnectionError, match="HF_HUB_OFFLINE is set"):
        resumable_download(server.url, str(tmp_path))


@pytest.mark.usefixtures("online")
@pytest.mark.parametrize(("ranges", "etag"), [(False, '"first"'), (True, "")])
def test_a_server_that_cannot_go_on_is_left_to_the_library(
    server: Server, tmp_path: Path, ranges: bool, etag: str
) -> None:
    server.ranges, server.etag = ranges, etag
    assert resumable_download(server.url, str(tmp_path)) is None
    assert not list(tmp_path.glob("*.incomplete"))
