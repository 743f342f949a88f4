import io
import os
import tarfile
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.datasets_scripts.common.errors import BadArchiveError
from eyechart.datasets_scripts.common.files import archives
from eyechart.datasets_scripts.common.files.archives import image_folders, unpack

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


@pytest.mark.parametrize("name", WRITERS)
def test_plain_files_come_out_as_they_went_in(tmp_path: Path, name: str) -> None:
    folder = unpack(str(WRITERS[name](tmp_path / name, FILES)), str(tmp_path / "out"))
    assert contents(folder) == dict(FILES)
    assert os.listdir(tmp_path / "out") == [os.path.basename(folder)]


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


def test_folders_and_odd_names_are_fine(tmp_path: Path) -> None:
    names = ["./", "./images/", "./images/a b.png", "./images/été.png", "..a/b..png"]
    members = [special(name, tarfile.DIRTYPE) if name.endswith("/") else (name, b"x") for name in names]
    folder = unpack(str(write_tar(tmp_path / "a.tar", members)), str(tmp_path / "out"))
    assert set(contents(folder)) == {"images/a b.png", "images/été.png", "..a/b..png"}
    folder = unpack(str(write_zip(tmp_path / "a.zip", [("images\\c.png", b"x")])), str(tmp_path / "out"))
    assert set(contents(folder)) == {"images/c.png"}


@pytest.fixture(scope="module")
def small_archives(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    folder = tmp_path_factory.mktemp("small")
    return [write(folder / name, FILES).read_bytes() for name, write in WRITERS.items()]


@settings(max_examples=60, deadline=None)
@given(which=st.integers(0, 3), damage=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=8))
def test_damaged_archives_unpack_or_are_refused_but_raise_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, small_archives: list[bytes], which: int, damage: list[tuple[int, int]]
) -> None:
    folder = tmp_path_factory.mktemp("damaged")
    data = bytearray(small_archives[which])
    for place, value in damage:
        data[place % len(data)] = value
    (folder / "a").write_bytes(data)
    try:
        unpack(str(folder / "a"), str(folder / "out"))
    except BadArchiveError:
        assert list((folder / "out").iterdir()) == []
    assert {path.name for path in folder.iterdir()} == {"a", "out"}


def test_another_process_may_be_faster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive, out = write_zip(tmp_path / "a.zip", FILES), tmp_path / "out"
    unpack_zip = archives._unpack_zip

    def slow(path: str, folder: Path, check: Callable[[str, int], None]) -> None:
        monkeypatch.setattr(archives, "_unpack_zip", unpack_zip)
        unpack(path, str(out))
        unpack_zip(path, folder, check)

    monkeypatch.setattr(archives, "_unpack_zip", slow)
    folder = unpack(str(archive), str(out))
    assert contents(folder) == dict(FILES) and os.listdir(out) == [os.path.basename(folder)]


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
