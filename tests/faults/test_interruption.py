"""Interruption: processes that are killed while they write."""

import signal

import pytest

from eyechart.datasets_scripts.common.whole import UNFINISHED, whole_folder, write_whole
from tests.faults.disk import writing
from tests.faults.fault import fault, row


def hidden(folder):
    return [path.name for path in folder.iterdir() if path.name.startswith(UNFINISHED)]


@pytest.mark.parametrize(
    ("kind", "before"),
    [
        row("a kill while a file of a run is replaced", "the former file is whole", "file", b"former"),
        row("a kill while a folder is made", "it is not there, and made by the next start", "folder", None),
    ],
)
def test_killed(kind, before, tmp_path):
    target = tmp_path / "target"
    if before is not None:
        target.write_bytes(before)
    with writing(kind, target) as child:
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert (target.read_bytes() if target.exists() else None) == before
    assert len(hidden(tmp_path)) == 1
    if kind == "file":
        write_whole(target, b"new")
        assert target.read_bytes() == b"new"
    else:
        with whole_folder(target) as unfinished:
            (unfinished / "a").write_bytes(b"whole")
        assert (target / "a").read_bytes() == b"whole"


@fault("a kill leaves a hidden folder", "the next one that writes there removes it")
def test_left(tmp_path):
    with writing("folder", tmp_path / "one") as child:
        child.kill()
        child.wait()
    assert len(hidden(tmp_path)) == 1
    write_whole(tmp_path / "other", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


@fault("two processes write into a folder at once", "neither removes what the other has begun")
def test_alive(tmp_path):
    with writing("folder", tmp_path / "one"):
        begun = hidden(tmp_path)
        write_whole(tmp_path / "other", "text")
        assert hidden(tmp_path) == begun and len(begun) == 1


@fault("Ctrl-C while a file is written", "the former file is whole, and nothing is left beside it")
def test_interrupted(tmp_path):
    (tmp_path / "target").write_bytes(b"former")
    with writing("file", tmp_path / "target") as child:
        child.send_signal(signal.SIGINT)
        child.wait()
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("target", b"former")]
