"""Digests of model files; what they must not miss is in `tests/faults/test_weights.py`."""

import hashlib
import os
import time
from types import SimpleNamespace

import pytest

from eyechart.evaluators.requests import keys
from eyechart.evaluators.requests.keys import files_digest


@pytest.fixture
def hashed(monkeypatch, tmp_path):
    """The names of the files that were read, a little more than two seconds after they were written."""
    monkeypatch.setenv("EYECHART_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(keys, "time", SimpleNamespace(time=lambda: time.time() + 2.1))
    names = []
    digest = hashlib.file_digest

    def counted(file, algorithm):
        names.append(file.name)
        return digest(file, algorithm)

    monkeypatch.setattr(hashlib, "file_digest", counted)
    return names


def test_large_files_are_read_once(tmp_path, hashed):
    folder = tmp_path / "model"
    folder.mkdir()
    for name, size in (("a", 5 * 2**20), ("b", 4 * 2**20 + 1), ("small", 4 * 2**20)):
        (folder / name).write_bytes(name[:1].encode() * size)
    before = files_digest(folder)
    assert sorted(hashed) == [str(folder / name) for name in ("a", "b", "small")]
    assert files_digest(folder) == before and hashed[3:] == [str(folder / "small")]
    folder.rename(tmp_path / "moved")
    assert files_digest(tmp_path / "moved") == before
    assert len(list((tmp_path / "home" / "file_digests").iterdir())) == 2, "one for each file, however often it changes"


def test_a_large_file_that_changed_just_now_is_read_again(tmp_path, hashed, monkeypatch):
    (tmp_path / "a").write_bytes(bytes(5 * 2**20))
    monkeypatch.setattr(keys, "time", SimpleNamespace(time=lambda: (tmp_path / "a").stat().st_ctime + 2))
    assert files_digest(tmp_path / "a") == files_digest(tmp_path / "a") and len(hashed) == 2


def test_much_to_read_is_said_before_it_is_read_and_once(tmp_path, hashed, monkeypatch, capsys):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "a").write_bytes(bytes(5 * 2**20))
    files_digest(folder)
    monkeypatch.setattr(hashlib, "file_digest", lambda file, algorithm: pytest.fail("read"))
    (folder / "b").touch()
    for size, said in ((2**30, ""), (1_560_000_000, "Hashing 1.6 GB of weights, once, to identify the model\n")):
        os.truncate(folder / "b", size)
        with pytest.raises(pytest.fail.Exception):
            files_digest(folder)
        assert capsys.readouterr() == ("", said)


def test_names_count_and_hidden_files_do_not(tmp_path):
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "a").write_text("x")
    before = files_digest(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "index").write_text("x")
    assert files_digest(tmp_path) == before
    (tmp_path / "part" / "a").rename(tmp_path / "part" / "b")
    assert files_digest(tmp_path) != before
