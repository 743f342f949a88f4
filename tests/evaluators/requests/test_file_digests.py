"""Digests of model files; what they must not miss is in `tests/faults/test_weights.py`."""

import hashlib
import time

import pytest

from eyechart.evaluators.requests import keys
from eyechart.evaluators.requests.keys import files_digest


@pytest.fixture
def hashed(monkeypatch, tmp_path):
    """The names of the large files that were read."""
    monkeypatch.setenv("EYECHART_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(keys, "_ROUNDING", 0.02)
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
    for name in ("a", "b"):
        (folder / name).write_bytes(name.encode() * 5 * 2**20)
    time.sleep(0.05)
    before = files_digest(folder)
    assert sorted(hashed) == [str(folder / "a"), str(folder / "b")]
    assert files_digest(folder) == before and len(hashed) == 2
    time.sleep(0.05)
    folder.rename(tmp_path / "moved")
    assert files_digest(tmp_path / "moved") == before
    assert len(list((tmp_path / "home" / "file_digests").iterdir())) == 2, "one for each file, however often it changes"


def test_a_large_file_that_changed_just_now_is_read_again(tmp_path, hashed, monkeypatch):
    monkeypatch.setattr(keys, "_ROUNDING", 0.9)
    (tmp_path / "a").write_bytes(bytes(5 * 2**20))
    assert files_digest(tmp_path / "a") == files_digest(tmp_path / "a") and len(hashed) == 2


def test_much_to_read_is_said_before_it_is_read_and_once(tmp_path, hashed, monkeypatch, capsys):
    monkeypatch.setattr(keys, "_MUCH", 2**23)
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "small").write_bytes(b"x")
    (folder / "a").write_bytes(bytes(5 * 2**20))
    time.sleep(0.05)
    files_digest(folder)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(hashlib, "file_digest", lambda file, algorithm: pytest.fail("read"))
    (folder / "b").write_bytes(bytes(10 * 2**20))
    with pytest.raises(pytest.fail.Exception):
        files_digest(folder)
    assert capsys.readouterr() == ("", "Hashing 0.0 GB of weights, once, to identify the model\n")


def test_names_count_and_hidden_files_do_not(tmp_path):
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "a").write_text("x")
    before = files_digest(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "index").write_text("x")
    assert files_digest(tmp_path) == before
    (tmp_path / "part" / "a").rename(tmp_path / "part" / "b")
    assert files_digest(tmp_path) != before
