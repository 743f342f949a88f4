"""Store and weights: damaged, edited or locked stores, full disks, and replaced weights."""

import contextlib
import hashlib
import math
import os
import sqlite3
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from eyechart.evaluators.backends.endpoint import serving
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.backends.local.loading import model_fingerprint
from eyechart.evaluators.backends.stored import StoredBackend
from eyechart.evaluators.requests import keys as digests
from eyechart.evaluators.requests import store as responses
from eyechart.evaluators.requests.errors import StoreError
from eyechart.evaluators.requests.keys import files_digest
from eyechart.evaluators.requests.store import ResponseStore
from eyechart.evaluators.requests.types import Answer, Request, Response
from tests.evaluators.backends.logging_model import LoggingModel, make_requests, plain
from tests.evaluators.command_line import invoke
from tests.evaluators.test_requests import fill
from tests.evaluators.test_requests import numbered_keys as keys
from tests.faults.fault import fault, rows


@pytest.fixture
def path(tmp_path):
    return tmp_path / "home" / "responses.sqlite"


@fault("the store's file system has no WAL mode (a network drive)", "it is refused before any request")
def test_a_file_system_without_wal_is_refused(path):
    """An in-memory database behaves like a database on a file system without WAL."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection, pytest.raises(StoreError, match="WAL mode"):
        responses._use_wal(connection, path, timeout=0)


def open_error(path):
    with pytest.raises(StoreError) as caught:
        ResponseStore.open(path, timeout=0.1)
    message = str(caught.value)
    assert str(path) in message and "EYECHART_HOME" in message and "--no-store" in message
    return message


def diary(path):
    path.parent.mkdir()
    path.write_text("my diary\n" * 1000)


def database(statements, stored=3):
    """A store with answers, or another program's database, that was changed."""

    def make(path):
        path.parent.mkdir()
        if stored:
            fill(path, stored)
        with contextlib.closing(sqlite3.connect(path)) as other:
            other.executescript(statements)

    return make


NEWER = f"PRAGMA user_version = {responses.SCHEMA + 1}"
TRIGGER = "CREATE TRIGGER gone AFTER INSERT ON responses BEGIN DELETE FROM responses; END"
VIEW = "ALTER TABLE responses RENAME TO others; CREATE VIEW responses AS SELECT * FROM others"


@pytest.mark.parametrize(
    ("make", "reason"),
    rows(
        "it is refused before any request, and not changed, not even by `prune --all`",
        ("another program's text file has the store's name", diary, "file is not a database. Move the file away"),
        ("another program's database", database("CREATE TABLE diary (day)", 0), "not a response store"),
        ("a newer version wrote the store", database(NEWER), "schema 2; this one knows 1). Update eyechart"),
        ("a database trigger deletes each stored answer", database(TRIGGER), "CREATE TRIGGER gone"),
        ("the store's table is a view, which takes no rows", database(VIEW), "CREATE VIEW responses"),
    ),
)
def test_what_is_no_store_of_ours(path, make, reason):
    make(path)
    before = path.read_bytes()
    assert reason in open_error(path)
    with pytest.raises(StoreError):
        responses.clear(path)
    assert path.read_bytes() == before


@fault("a folder has the store's name, or a file has the name of its folder", "the error names it and what to do")
def test_folders_that_cannot_be_made_or_are_in_the_way_are_named(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "responses.sqlite").mkdir()
    open_error(tmp_path / "file" / "responses.sqlite")
    assert "unable to open database file" in open_error(tmp_path / "responses.sqlite")


@fault("all pages of the store but the first are overwritten", "reading and writing report it; `prune --all` clears it")
def test_a_damaged_store_is_told_from_its_contents_and_can_be_cleared(path):
    fill(path, 500)
    data = bytearray(path.read_bytes())
    data[4096:] = os.urandom(len(data) - 4096)
    path.write_bytes(data)
    with ResponseStore.open(path) as store:
        with pytest.raises(StoreError, match=r"is damaged: [^*].*`eyechart store prune --all`"):
            store.check()
        with pytest.raises(StoreError, match=r"malformed.*`eyechart store prune --all`"):
            store.get(keys(1))
        with pytest.raises(StoreError, match=r"malformed.*`eyechart store prune --all`"):
            store.put("a/b", {b"one": Answer()})
    assert responses.clear(path) == {}
    fill(path, 3)
    with ResponseStore.open(path) as store:
        store.check()
        assert len(store.get(keys(3))) == 3


@fault(
    "another process locks the store for longer than a minute", "the error says so; stored answers can still be read"
)
def test_a_store_that_another_process_writes_to_for_too_long(path):
    fill(path, 3)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert "database is locked. Another process is writing to it" in open_error(path)
    other.execute("ROLLBACK")
    with ResponseStore.open(path, timeout=0.1) as store:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="Another process"):
            store.put("a/b", {b"one": Answer()})
        assert len(store.get(keys(3))) == 3
        other.execute("ROLLBACK")
        store.put("a/b", {b"one": Answer()})
    other.close()


@fault("the store's disk is read-only", "the run reports it before any request; nothing is lost")
def test_a_read_only_disk_is_told_before_anything_is_asked(disk):
    path = disk / "home" / "responses.sqlite"
    fill(path, 3)
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    open_error(path)
    open_error(disk / "other" / "responses.sqlite")
    with pytest.raises(StoreError):
        responses.clear(path)
    subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
    with ResponseStore.open(path) as store:
        assert len(store.get(keys(3))) == 3


def put_until_full(path):
    """Store answers until it fails; return the number of stored answers and the error message."""
    with ResponseStore.open(path) as store, pytest.raises(StoreError) as caught:
        for count in range(10_000):
            store.put("a/b", {keys(1, start=count)[0]: Answer(text="x" * 1000)})
    return count, str(caught.value)


@fault("the store's disk becomes full", "stored answers are kept; new ones are stored once there is space")
def test_a_full_disk_loses_nothing(disk):
    path = disk / "responses.sqlite"
    (disk / "others").write_bytes(bytes(1_000_000))
    count, message = put_until_full(path)
    assert count > 100
    assert "Stored answers are kept" in message and "--no-store" in message and "Free some space" in message
    with ResponseStore.open(path) as store:
        store.check()
        assert set(store.get(keys(count + 1))) == set(keys(count))
    (disk / "others").unlink()
    with ResponseStore.open(path) as store:
        store.put("a/b", {b"one": Answer()})
        assert len(store.get([*keys(count), b"one"])) == count + 1


OPEN_AND_PUT = """
import sys
from pathlib import Path
from eyechart.evaluators.requests.store import ResponseStore
from eyechart.evaluators.requests.types import Answer
path, number = Path(sys.argv[1]), int(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
with ResponseStore.open(path) as store:
    for i in range(100):
        store.put(f"model {number}", dict.fromkeys((f"{number} {i}".encode(), f"all {i}".encode()), Answer(text="x")))
"""


@fault("four processes create the store and write to it at the same time", "every answer is stored exactly once")
def test_processes_that_create_and_write_a_store_at_once(path):
    command = [sys.executable, "-c", OPEN_AND_PUT, str(path)]
    children = [
        subprocess.Popen([*command, str(number)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for number in range(4)
    ]
    for child in children:
        child.stdout.readline()
    for child in children:
        child.stdin.write("go\n")
        child.stdin.flush()
    for child in children:
        child.communicate(timeout=1800)
        assert child.returncode == 0
    with ResponseStore.open(path) as store:
        store.check()
        assert sum(model.answers for model in store.models()) == 4 * 100 + 100


READ_ON = "the error names the store and the command that removes only this answer"


@pytest.mark.parametrize(
    ("change", "reason"),
    rows(
        READ_ON,
        ("a stored answer is not JSON", "value = x'7b'", "not JSON"),
        ("a stored answer has a field from another version", """value = '{"a": 1}'""", "a': 1"),
        ("a stored logit is infinite", """value = '{"logits": {"good": 1e999}}'""", "logits.good': inf"),
        ("the key of a stored answer is text", "key = 'a'", "'key': 'a'"),
    ),
)
def test_answers_that_were_edited(path, change, reason):
    fill(path, 3)
    with ResponseStore.open(path) as store:
        store._connection.execute(f"UPDATE responses SET {change} WHERE key = ?", keys(1))
        with pytest.raises(StoreError, match=rf"is damaged: .*{reason}.*`eyechart store prune --unreadable`"):
            store.check()
        if change.startswith("value"):
            with pytest.raises(StoreError, match=rf"is damaged: .*{reason}.*`eyechart store prune --unreadable`"):
                store.get(keys(3))
        assert len(store.get(keys(2, start=1))) == 2
        assert store.remove_unreadable() == 1
        store.check()
        assert set(store.get(keys(3))) == set(keys(2, start=1))
        assert [model.answers for model in store.models()] == [2]


@fault("a stored answer lacks the requested value", "it is asked for again")
def test_an_answer_that_is_empty(path):
    asked = make_requests(3)
    with ResponseStore.open(path) as store:
        backend = StoredBackend(LoggingModel({"model": "known"}), store)
        before = plain(backend.answer(asked))
        store._connection.execute("UPDATE responses SET value = '{}'")
        responses = list(backend.answer(asked))
        assert plain(responses) == before and not any(response.stored for response in responses)


@fault("answers in edited rows are removed with `eyechart store prune --unreadable`", "the other answers are kept")
def test_the_command_that_removes_what_cannot_be_read():
    fill(responses.default_path(), 3)
    with ResponseStore.open() as store:
        store._connection.execute("UPDATE responses SET value = x'7b', model = x'00' WHERE key = ?", keys(1))
    done = invoke("store", "info")
    assert done.exit_code == 1 and "eyechart store prune --unreadable" in done.output
    assert "1 answer removed" in invoke("store", "prune", "--unreadable").output
    assert "2 answers" in invoke("store", "info").output


@fault("a custom backend returns a logit of NaN", "it is not stored, so no later run fails because of it")
def test_what_cannot_be_scored_is_not_stored(path):
    class Broken(FunctionBackend):
        def identity(self):
            return {"name": "broken"}

        def answer(self, requests):
            yield from (Response(request, logits={"good": math.nan, "poor": 1.0}) for request in requests)

    with ResponseStore.open(path) as store:
        list(StoredBackend(Broken(len), store).answer([Request("x", ("?",), (), words=("good", "poor"))]))
        assert not store.models()


MODEL = SimpleNamespace(config=SimpleNamespace(_commit_hash="commit"))
LARGE = 5 * 2**20
WEIGHTS = "model.safetensors"


@pytest.fixture
def weights(tmp_path, monkeypatch):
    """Creates a model folder with one large file; returns the folder and the file."""
    monkeypatch.setenv("EYECHART_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(digests, "_ROUNDING", 0.02)

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


def of_model(folder):
    return model_fingerprint(str(folder), MODEL)


def of_served_file(folder):
    return serving._fingerprint(str(folder / "model-00001-of-00002.gguf"), ())


@pytest.mark.parametrize(
    ("name", "change", "fingerprint"),
    rows(
        "it counts as a different model; no stored answer is used",
        ("a model's weights are overwritten with others of the same size and time", WEIGHTS, overwrite, of_model),
        ("a served model's file is overwritten", "model-00001-of-00002.gguf", overwrite, of_served_file),
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


@fault("a weight file changes while it is hashed, on a drive whose clock is behind", "its hash is not cached")
def test_a_file_that_changes_meanwhile(weights, tmp_path, monkeypatch):
    folder, file = weights()
    monkeypatch.setattr(digests, "time", SimpleNamespace(time=lambda: time.time() + 60))
    digest = hashlib.file_digest

    def changing(opened, algorithm):
        hashed = digest(opened, algorithm)
        if opened.name == str(file):
            overwrite(file)
        return hashed

    monkeypatch.setattr(hashlib, "file_digest", changing)
    before = files_digest(folder)
    assert not (tmp_path / "home" / "file_digests").exists()
    monkeypatch.undo()
    assert files_digest(folder) != before


@fault("a model folder contains a named pipe and a broken link", "they are ignored, without waiting")
def test_what_is_no_file(weights):
    folder, _ = weights()
    before = files_digest(folder)
    os.mkfifo(folder / "pipe")
    (folder / "link").symlink_to("nowhere")
    assert files_digest(folder) == before
