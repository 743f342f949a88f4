"""Weights: replaced weights count as a different model, without stored answers."""

import hashlib
import os
import shutil
import time
from types import SimpleNamespace

import pytest

from eyechart.evaluators.backends.endpoint import serving
from eyechart.evaluators.backends.local.loading import model_fingerprint
from eyechart.evaluators.requests import keys
from eyechart.evaluators.requests.keys import files_digest
from tests.faults.fault import fault, rows

MODEL = SimpleNamespace(config=SimpleNamespace(_commit_hash="commit"))
LARGE = 5 * 2**20
WEIGHTS = "model.safetensors"


@pytest.fixture
def weights(tmp_path, monkeypatch):
    """Creates a model folder with one large file; returns the folder and the file."""
    monkeypatch.setenv("EYECHART_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(keys, "_ROUNDING", 0.02)

    def make(name="model.safetensors"):
        folder = tmp_path / "model"
        folder.mkdir()
        (folder / "config.json").write_text("{}")
        (folder / name).write_bytes(bytes(LARGE))
        time.sleep(0.05)
        return folder, folder / name

    return make


def overwrite(file):
    """Overwrite a file like `cp -p`: different contents with the same size and modification time."""
    times = file.stat()
    with file.open("r+b") as opened:
        opened.seek(LARGE // 2)
        opened.write(b"other")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


def replace(file):
    """Replace a file like `rsync -t`: a new file with the same size and modification time."""
    new = file.with_name("new")
    shutil.copy2(file, new)
    overwrite(new)
    new.replace(file)


def of_model(folder):
    return model_fingerprint(str(folder), MODEL)


def of_adapter(folder):
    return model_fingerprint("org/model", MODEL, str(folder))


def of_served_file(folder):
    return serving._fingerprint(str(folder / "model-00001-of-00002.gguf"), ())


def of_served_adapter(folder):
    return serving._fingerprint("org/model", ("--lora-modules", f"a={folder}"))


@pytest.mark.parametrize(
    ("name", "change", "fingerprint"),
    rows(
        "it counts as a different model; no stored answer is used",
        ("a model's weights are overwritten with others of the same size and time", WEIGHTS, overwrite, of_model),
        ("a model's weights are replaced by others of the same size and time", WEIGHTS, replace, of_model),
        ("an adapter's weights are overwritten", "adapter_model.safetensors", overwrite, of_adapter),
        ("a served model's file is overwritten", "model-00001-of-00002.gguf", overwrite, of_served_file),
        ("another part of a served model is overwritten", "model-00002-of-00002.gguf", overwrite, of_served_file),
        ("a served adapter is overwritten", "adapter_model.safetensors", overwrite, of_served_adapter),
    ),
)
def test_replaced_weights_are_another_model(weights, name, change, fingerprint):
    folder, file = weights(name)
    (folder / "model-00001-of-00002.gguf").open("ab").close()
    before = fingerprint(folder)
    assert fingerprint(folder) == before
    change(file)
    assert fingerprint(folder) not in (before, None)


@fault("the cached hash of a weight file is truncated", "the file is hashed again")
def test_a_kept_digest_that_is_damaged_is_not_used(weights, tmp_path):
    folder, _ = weights()
    before = files_digest(folder)
    (cached,) = (tmp_path / "home" / "file_digests").iterdir()
    content = cached.read_text()
    cached.write_text(content[:-1])
    assert files_digest(folder) == before and cached.read_text() == content


@fault(
    "the hash of a weight file cannot be cached because the home folder is a file", "the file is hashed at every start"
)
def test_digests_that_cannot_be_kept(weights, tmp_path):
    folder, file = weights()
    (tmp_path / "home").write_text("in the way")
    before = files_digest(folder)
    overwrite(file)
    assert files_digest(folder) != before


@pytest.mark.parametrize(
    "change",
    rows(
        "its hash is not cached",
        ("a weight file changes while it is being hashed, on a drive whose clock is behind", overwrite),
        ("a weight file is cut off while it is being hashed", lambda file: os.truncate(file, LARGE - 2**19)),
    ),
)
def test_a_file_that_changes_meanwhile(weights, tmp_path, monkeypatch, change):
    folder, file = weights()
    monkeypatch.setattr(keys, "time", SimpleNamespace(time=lambda: time.time() + 60))
    digest = hashlib.file_digest

    def changing(opened, algorithm):
        hashed = digest(opened, algorithm)
        if opened.name == str(file):
            change(file)
        return hashed

    monkeypatch.setattr(hashlib, "file_digest", changing)
    before = files_digest(folder)
    assert not (tmp_path / "home" / "file_digests").exists()
    monkeypatch.undo()
    assert files_digest(folder) != before


@fault("a weight file was written less than two seconds ago", "its hash is not cached, because file times are rounded")
def test_a_file_that_was_just_written(weights, tmp_path, monkeypatch):
    folder, _ = weights()
    monkeypatch.setattr(keys, "_ROUNDING", 60)
    files_digest(folder)
    assert not (tmp_path / "home" / "file_digests").exists()


@fault("a model folder contains a named pipe and a broken link", "they are ignored, without waiting")
def test_what_is_no_file(weights):
    folder, _ = weights()
    before = files_digest(folder)
    os.mkfifo(folder / "pipe")
    (folder / "link").symlink_to("nowhere")
    assert files_digest(folder) == before
