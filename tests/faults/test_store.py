"""Store and weights: damaged, edited or locked stores, full disks, and replaced weights."""

import contextlib
import hashlib
import math
import os
import shutil
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


LACKING = "ALTER TABLE responses DROP COLUMN model"
FOREIGN = "PRAGMA application_id = 2000000000"
NEWER = f"PRAGMA user_version = {responses.SCHEMA + 1}"
TRIGGER = "CREATE TRIGGER gone AFTER INSERT ON responses BEGIN DELETE FROM responses; END"
VIEW = "ALTER TABLE responses RENAME TO others; CREATE VIEW responses AS SELECT * FROM others"


@pytest.mark.parametrize(
    ("make", "reason"),
    rows(
        "it is refused before any request, and not changed, not even by `prune --all`",
        ("another program's text file has the store's name", diary, "file is not a database. Move the file away"),
        ("another program's database", database("CREATE TABLE diary (day)", 0), "not a response store"),
        ("another program's empty database", database(FOREIGN, 0), "not a response store"),
        ("a newer version wrote the store", database(NEWER), "schema 2; this one knows 1). Update eyechart"),
        ("the store's table lacks a column", database(LACKING), "was changed: it contains CREATE TABLE"),
        ("the store has no table", database("DROP TABLE responses"), "was changed: it contains no table. Move"),
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


@fault("an empty file has the store's name", "it is turned into a store")
def test_an_empty_file_becomes_a_store(path):
    path.parent.mkdir()
    path.touch()
    fill(path, 1)
    with ResponseStore.open(path) as store:
        store.check()
        assert list(store.get(keys(2))) == keys(1)


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


@fault("a store on a full disk is cleared", "it is cleared, although SQLite cannot write")
def test_a_store_on_a_full_disk_can_be_cleared(disk):
    path = disk / "responses.sqlite"
    put_until_full(path)
    (disk / "others").write_bytes(bytes(os.statvfs(disk).f_bavail * os.statvfs(disk).f_bsize))
    responses.clear(path)
    fill(path, 3)
    with ResponseStore.open(path) as store:
        store.check()
        assert sorted(store.get(keys(10))) == keys(3)


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
        ("a stored answer is a number", "value = 7", "'value': 7"),
        ("a stored answer is a JSON list", "value = '[1]'", "should be a dictionary"),
        ("a stored answer has a field from another version", """value = '{"a": 1}'""", "a': 1"),
        ("the text of a stored answer is a number", """value = '{"text": 5, "reasoning": 6}'""", "text': 5"),
        ("a stored logit is infinite", """value = '{"logits": {"good": 1e999}}'""", "logits.good': inf"),
        ("a stored logit is a text", """value = '{"logits": {"good": "0.5"}}'""", "logits.good': '0.5'"),
        ("a stored loss covers no tokens", """value = '{"losses": [[0.5, 0]]}'""", "losses.0.1': 0"),
        ("a stored count of tokens is negative", """value = '{"usage": {"n": -1}}'""", "usage.n': -1"),
        ("a stored count of tokens is too large", f"""value = '{{"usage": {{"n": {2**63}}}}}'""", f"usage.n': {2**63}"),
        ("a stored answer nests lists deeply", f"value = '{'[' * 9000}'", "not JSON"),
        ("the time of a stored answer is before 1970", "stored_at = -0.5", "'stored_at': -0.5"),
        ("the time of a stored answer is after any date", "stored_at = 2.5e11", "'stored_at': 250000000000.0"),
        ("the time of a stored answer is binary", "stored_at = x'35'", "'stored_at': b'5'"),
        ("the key of a stored answer is text", "key = 'a'", "'key': 'a'"),
        ("the model of a stored answer is not text", "model = x'00'", "'model': b"),
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


@fault("a store with an edited row is cleared by `eyechart store prune --all`", "all answers are removed")
def test_a_store_with_an_edited_row_can_be_cleared(path):
    fill(path, 3)
    with ResponseStore.open(path) as store:
        store._connection.execute("UPDATE responses SET stored_at = 'yesterday' WHERE key = ?", keys(1))
    assert responses.clear(path) == {"a/b": 3}


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


CONFIG = SimpleNamespace(_commit_hash="commit")
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


def replace(file):
    """Replace a file like `rsync -t`: a new file with the same size and modification time."""
    new = file.with_name("new")
    shutil.copy2(file, new)
    overwrite(new)
    new.replace(file)


def of_model(folder):
    return model_fingerprint(str(folder), CONFIG)


def of_adapter(folder):
    return model_fingerprint("org/model", CONFIG, str(folder))


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
        ("a served adapter is overwritten", "adapter_model.safetensors", overwrite, of_served_adapter),
        ("another part of a served model is overwritten", "model-00002-of-00002.gguf", overwrite, of_served_file),
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


@fault("a weight file was written less than two seconds ago", "its hash is not cached, because file times are rounded")
def test_a_file_that_was_just_written(weights, tmp_path, monkeypatch):
    folder, _ = weights()
    monkeypatch.setattr(digests, "_ROUNDING", 60)
    files_digest(folder)
    assert not (tmp_path / "home" / "file_digests").exists()


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


@fault("one of several answers cannot be stored", "none of them is stored; later answers are")
def test_a_batch_is_stored_whole_or_not_at_all(path):
    trigger = "CREATE TRIGGER stop BEFORE INSERT ON responses WHEN new.key = x'02' "
    with ResponseStore.open(path) as store:
        store._connection.execute(trigger + "BEGIN SELECT raise(ABORT, 'stopped'); END")
        with pytest.raises(StoreError, match="stopped"):
            store.put("a/b", {b"\x01": Answer(), b"\x02": Answer()})
        assert store.get([b"\x01", b"\x02"]) == {}
        store.put("a/b", {b"\x01": Answer()})
        assert store.get([b"\x01"]) == {b"\x01": Answer()}


@fault("the store is truncated in the middle", "reading reports it; `prune --all` clears it")
def test_a_store_that_is_cut_off(path):
    fill(path, 500)
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(StoreError, match=r"malformed.*`eyechart store prune --all`"), ResponseStore.open(path) as store:
        store.check()
    assert responses.clear(path) == {}
