"""Archives and images: damaged and hostile files, and files that must not be opened."""

import contextlib
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tarfile
import tempfile
import time
import warnings
import zipfile
from pathlib import Path

import datasets
import pyarrow
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import EpsImagePlugin, Image
from pyarrow import parquet

from eyechart import datasets_scripts
from eyechart.datasets_scripts import mini
from eyechart.datasets_scripts.common.errors import BadAnnotationError, BadArchiveError, BadImageError, MissingFileError
from eyechart.datasets_scripts.common.files import archives
from eyechart.datasets_scripts.common.files.archives import unpack
from eyechart.datasets_scripts.common.files.readers import read_json_rows
from eyechart.datasets_scripts.common.fingerprint import folder_fingerprint
from eyechart.datasets_scripts.common.images import encoded_image, open_image
from eyechart.datasets_scripts.common.paths import find_image
from eyechart.datasets_scripts.own_data import load_own
from eyechart.evaluators.evaluation.data import undecoded_rows
from tests.datasets_scripts.common.files.test_archives import FILES, WRITERS, contents, special, write_tar, write_zip
from tests.datasets_scripts.common.files.test_readers import encoded, noise, png_header
from tests.faults.conftest import full_disk
from tests.faults.fault import fault, rows

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
        ("a sign-in page saved as an archive", b"<html>Sign in</html>" * 100),
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


REFUSED_of_images = "the image is refused; the error names its file"


@pytest.mark.parametrize(
    ("data", "reason"),
    rows(
        REFUSED_of_images,
        ("a file of 0 bytes", b"", r"empty \(0 bytes\)"),
        ("a tiny PNG file of 3.6 gigapixels", png_header(60_000, 60_000), "the image has .*pixels"),
        ("an SVG, which may contain scripts", b"<svg xmlns='http://www.w3.org/2000/svg'/>", "not an image"),
        ("a PNG whose header declares more pixels than it has", png_header(100, 100), "corrupt or truncated"),
        ("a TIFF of floats", encoded(Image.new("F", (4, 4)), "TIFF"), r"32-bit pixels \(mode F\)"),
    ),
)
def test_bytes(data, reason):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with pytest.raises(BadImageError, match=reason) as caught:
            open_image(data)
    assert (caught.value.path, seen) == ("image", [])


@fault("a truncated image in any supported format", REFUSED_of_images)
def test_truncated():
    for kind in ("PNG", "JPEG", "BMP", "WEBP", "GIF", "TIFF"):
        data = encoded(noise(), kind)
        for share in (0.1, 0.5, 0.9):
            # The second one reads images for requests to a server.
            for read in (open_image, encoded_image):
                with pytest.raises(BadImageError, match=r"cut\.bin: "):
                    read({"bytes": data[: int(len(data) * share)], "path": "cut.bin"})


def huge(path):
    path.touch()
    os.truncate(path, 5 * 10**9)


@pytest.mark.parametrize(
    ("make", "reason"),
    rows(
        REFUSED_of_images,
        ("a named pipe", os.mkfifo, "it is a folder, a pipe or a device"),
        ("a missing file", Path.exists, "No such file"),
        ("a link to /dev/zero", lambda path: path.symlink_to("/dev/zero"), "it is a folder, a pipe or a device"),
        ("a link to itself", lambda path: path.symlink_to("a.png"), "Too many levels"),
        ("a file of 5 GB", huge, "it has 5,000,000,000 bytes; the limit"),
    ),
)
def test_files(make, reason, tmp_path):
    make(tmp_path / "a.png")
    with pytest.raises(BadImageError, match=rf"a\.png: the image cannot be read: {reason}"):
        open_image(tmp_path / "a.png")


@fault("an image cell without bytes and without a path", REFUSED_of_images)
def test_empty_cell():
    with pytest.raises(BadImageError, match="the image has neither bytes nor a path"):
        open_image({"bytes": None, "path": None})


@fault("a PostScript file with an image's suffix, which Pillow passes to another program", "no program is started")
def test_program(monkeypatch, tmp_path):
    (tmp_path / "gs").write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n", encoding="utf-8")
    (tmp_path / "gs").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(EpsImagePlugin, "gs_binary", None)
    eps = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\nshowpage\n"
    with pytest.raises(BadImageError, match=r"a\.png: not an image, or not in a supported format \(BMP, GIF, JPEG"):
        open_image({"bytes": eps, "path": "a.png"})
    assert not (tmp_path / "started").exists()


@fault("a text chunk of 100 MB in a PNG of a few kB", "the memory used to unpack it is limited")
def test_text_chunk():
    from PIL import PngImagePlugin

    text = PngImagePlugin.PngInfo()
    text.add_text("comment", "x" * 10**8, zip=True)
    data = encoded(noise(), "PNG", pnginfo=text)
    assert len(data) < 200_000
    with pytest.raises(BadImageError, match="Decompressed data too large"):
        open_image({"bytes": data, "path": "a.png"})


_DECODE = r"""
import re, sys
from concurrent.futures import ThreadPoolExecutor
from eyechart.datasets_scripts.common.images import encoded_image, open_image
with ThreadPoolExecutor(8) as threads:
    read = [lambda: encoded_image(sys.argv[1])[1], lambda: open_image(sys.argv[1]).size] * 4
    found = [*threads.map(lambda one: one(), read)]
print(found == ["image/jpeg", (10_000, 10_000)] * 4)
# The maximum of `resource` counts the process that started this one.
print(re.search(r"VmHWM:\s+(\d+)", open("/proc/self/status").read())[1])
"""


@pytest.mark.slow
@fault("eight threads decode images of 100 megapixels", "all are decoded, in less than 1.2 GB of memory")
def test_large_images_at_once(tmp_path):
    Image.new("RGB", (10_000, 10_000)).save(tmp_path / "large.jpg")
    done = subprocess.run([sys.executable, "-c", _DECODE, tmp_path / "large.jpg"], capture_output=True, text=True)
    decoded, peak = done.stdout.split()
    assert decoded == "True" and int(peak) < 1_200_000, done.stderr


@fault("a named pipe and a link to /dev/zero in a release's folder", "the fingerprint ignores them")
def test_fingerprint(tmp_path):
    (tmp_path / "a.json").write_text("[]")
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "zero.json").symlink_to("/dev/zero")
    before = folder_fingerprint(str(tmp_path))
    (tmp_path / "a.json").write_text("[1]")
    assert folder_fingerprint(str(tmp_path)) != before


@fault("the user's own data file is a named pipe, or annotations are a link to /dev/zero", "one line; nothing is read")
def test_data_files(tmp_path):
    os.mkfifo(tmp_path / "data.jsonl")
    with pytest.raises(MissingFileError, match="it is a pipe or a device; expected a regular file"):
        load_own(str(tmp_path / "data.jsonl"), "quality")
    (tmp_path / "a.json").symlink_to("/dev/zero")
    with pytest.raises(BadAnnotationError, match=r"a\.json: cannot be read: it is a folder, a pipe or a device"):
        read_json_rows(str(tmp_path / "a.json"))


STRUCT = pyarrow.struct([("bytes", pyarrow.binary()), ("path", pyarrow.string())])
FEATURES = datasets.Features({"image": datasets.Image(), "quality": datasets.Value("float64")})


def own_files(folder, names):
    """JSON Lines, CSV and Parquet of these images, below a folder with an image and links to files elsewhere."""
    (folder / "data" / "photos").mkdir(parents=True)
    for path in (folder / "secret.png", folder / "data" / "photos" / "1.png"):
        path.write_bytes(encoded(noise(), "PNG"))
    (folder / "data" / "link.png").symlink_to("../secret.png")
    (folder / "data" / "up").symlink_to(folder)
    (folder / "data" / "inside.png").symlink_to("photos/1.png")
    names = [name.format(folder=folder) for name in names]
    lines = [json.dumps({"image": name, "quality": 1}) for name in names]
    (folder / "data" / "a.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (folder / "data" / "a.csv").write_text("image,quality\n" + "".join(f"{name},1\n" for name in names))
    table = pyarrow.table({"image": pyarrow.array([{"bytes": None, "path": name} for name in names], STRUCT)})
    table = table.append_column("quality", [[1.0] * len(names)])
    parquet.write_table(table.replace_schema_metadata(FEATURES.arrow_schema.metadata), folder / "data" / "a.parquet")
    return [folder / "data" / f"a.{suffix}" for suffix in ("jsonl", "csv", "parquet")]


@pytest.mark.parametrize(
    "name",
    rows(
        "the error names row and path, and nothing is read; --skip-bad leaves the row out",
        ("a path in data leads to the folder above", "../secret.png"),
        ("an absolute path in data is outside of its folder", "{folder}/secret.png"),
        ("a path in data is a link to a file outside of its folder", "link.png"),
        ("a path in data leads through a link to a folder outside", "up/secret.png"),
        ("a path in data contains a NUL character", "photos/1.png\0"),
        ("a path in data is a chain of file systems", "zip://secret.png::{folder}/secret.zip"),
        ("a path in data is a web address", "https://example.com/secret.png"),
    ),
)
def test_paths_outside_of_the_folder(name, tmp_path):
    for path in own_files(tmp_path, [name, "photos/1.png"]):
        with pytest.raises(BadAnnotationError) as caught:
            load_own(path, "quality")
        assert caught.value.path == str(path) and repr(name.format(folder=tmp_path))[:40] in str(caught.value)
        assert caught.value.row == (2 if path.suffix == ".csv" else 1)
        assert load_own(path, "quality", skip_bad=True)["id"][:] == ["2"]


@fault("data are in a linked folder, with absolute paths and links inside it", "the images are read")
def test_paths_inside_of_the_folder(tmp_path):
    own_files(tmp_path, ["photos/1.png", "inside.png", "{folder}/data/photos/1.png", "photos/../photos/1.png"])
    (tmp_path / "linked").symlink_to("data")
    for suffix in ("jsonl", "csv", "parquet"):
        images = load_own(tmp_path / "linked" / f"a.{suffix}", "quality")["image"]
        assert [image.tobytes() for image in images] == [noise().tobytes()] * 4


@fault("a path in data has any parts, among them links, separators and folders above", "only files below are read")
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    parts=st.lists(st.sampled_from(["..", ".", "", "photos", "up", "data", "1.png", "link.png", "inside.png", "\0"]))
)
def test_any_path(parts, tmp_path):
    if not (tmp_path / "data").exists():
        own_files(tmp_path, [])
    for name in ("/".join(parts), f"{tmp_path}/{'/'.join(parts)}"):
        with contextlib.suppress(ValueError):
            found = find_image([str(tmp_path / "data")], name)
            assert found is None or os.path.realpath(found) == str(tmp_path.resolve() / "data" / "photos" / "1.png")


@fault("an image of a release is a link to a file outside of its folder", "the error names row and path")
def test_a_link_in_a_release(tmp_path):
    release = shutil.copytree(mini.release("kadis700k"), tmp_path / "release")
    image = next(release.rglob("*.png"))
    image.rename(tmp_path / "secret.png")
    image.symlink_to(tmp_path / "secret.png")
    with pytest.raises(BadAnnotationError, match=rf"row \d+: image '{image.name}' points outside"):
        datasets_scripts.load_dataset("kadis700k", data_dir=release)


@pytest.mark.parametrize(
    ("name", "content"),
    rows(
        "the bytes count; no file is read",
        ("an embedded image has the path of a file outside", "{folder}/secret.png", encoded(noise(), "PNG")),
        ("an embedded image of no bytes has the path of a file outside", "{folder}/secret.png", b""),
    ),
)
def test_embedded_images_with_paths(name, content, tmp_path, monkeypatch):
    *_, path = own_files(tmp_path, [])
    for file in (tmp_path / "secret.png", tmp_path / "1.png"):
        file.write_bytes(b"secret")
    monkeypatch.chdir(tmp_path)
    cells = pyarrow.array([{"bytes": content, "path": name.format(folder=tmp_path)}], STRUCT)
    table = pyarrow.table({"image": cells, "quality": [1.0]})
    parquet.write_table(table.replace_schema_metadata(FEATURES.arrow_schema.metadata), path)
    (row,) = undecoded_rows(load_own(path, "quality"))
    assert row["image"].read() == {"bytes": content, "path": None}


@fault("an image becomes a link to a file elsewhere after its data were loaded", "the error names the row")
def test_a_file_that_becomes_a_link(tmp_path):
    path, *_ = own_files(tmp_path, ["photos/1.png"])
    (row,) = undecoded_rows(load_own(path, "quality"))
    assert row["image"].read()["path"] == str(tmp_path / "data" / "photos" / "1.png")
    (tmp_path / "data" / "photos").rename(tmp_path / "data" / "old")
    (tmp_path / "data" / "photos").symlink_to("old")
    with pytest.raises(BadImageError, match=r"1\.png, row 1: it became a link"):
        row["image"].read()


@fault("a table that `datasets` loaded has the path of an image and not its bytes", "the error names row and path")
def test_a_path_in_a_loaded_table(tmp_path):
    *_, path = own_files(tmp_path, ["{folder}/secret.png"] * 1001)
    *_, row = undecoded_rows(datasets.load_dataset("parquet", data_files=str(path), split="train"))
    with pytest.raises(BadImageError, match=r"secret\.png, row 1001: a table may not choose which files are read"):
        row["image"].read()
