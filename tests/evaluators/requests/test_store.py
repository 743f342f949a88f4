import contextlib
import os
import sqlite3
import subprocess
import sys

import pytest

from eyechart.datasets_scripts.common.errors import StoreError, UsageError
from eyechart.evaluators.requests import store as responses
from eyechart.evaluators.requests.store import ResponseStore

DAY = 86_400


def keys(count, start=0):
    return [i.to_bytes(32, "big") for i in range(start, start + count)]


def fill(path, count, model="a/b", size=1000):
    with ResponseStore.open(path) as store:
        store.put(model, {key: {"text": key.hex() * (size // 64)} for key in keys(count)})


@pytest.fixture
def path(tmp_path):
    return tmp_path / "home" / "responses.sqlite"


def test_it_lies_under_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("EYECHART_HOME", str(tmp_path / "new"))
    with ResponseStore.open() as store:
        assert store.path == tmp_path / "new" / "responses.sqlite" == responses.default_path()
        assert store.path.is_file()


def test_values_come_back_exactly_after_closing(path):
    value = {"text": "\ud83d\ude00 é\n", "logits": {"poor": 0.1 + 0.2, "good": -5e-324}, "losses": [[1e300, 3]]}
    with ResponseStore.open(path) as store:
        store.put("a/b", {b"one": value, b"two": {}})
    with ResponseStore.open(path) as store:
        assert store.get([b"one", b"two", b"three"]) == {b"one": value, b"two": {}}
        assert list(store.get([b"one"])[b"one"]["logits"]) == ["poor", "good"]
        assert store.get([]) == {}


def test_more_keys_than_a_query_takes(path):
    fill(path, 1200, size=64)
    with ResponseStore.open(path) as store:
        assert set(store.get([*keys(1300), *keys(5)])) == set(keys(1200))


def test_what_is_stored_stays_as_it_is(path):
    with ResponseStore.open(path) as store:
        store.put("a/b", {b"one": {"text": "first"}})
        store.put("c", {b"one": {"text": "second"}, b"two": {}})
        assert store.get([b"one"]) == {b"one": {"text": "first"}}
        assert [model.name for model in store.models()] == ["a/b", "c"]


def test_a_batch_is_stored_whole_or_not_at_all(path):
    with ResponseStore.open(path) as store:
        store._connection.execute(
            "CREATE TRIGGER stop BEFORE INSERT ON responses WHEN new.key = x'02' "
            "BEGIN SELECT raise(ABORT, 'stopped'); END"
        )
        with pytest.raises(StoreError, match="stopped"):
            store.put("a/b", {b"\x01": {}, b"\x02": {}})
        assert store.get([b"\x01", b"\x02"]) == {}
        store.put("a/b", {b"\x01": {}})
        assert store.get([b"\x01"]) == {b"\x01": {}}


def test_it_is_in_wal_mode_and_a_reader_sees_what_another_wrote(path):
    with ResponseStore.open(path) as one, ResponseStore.open(path) as two:
        one.put("a/b", {b"one": {}})
        assert two.get([b"one"]) == {b"one": {}}
        assert path.with_name("responses.sqlite-wal").exists()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_file_system_without_wal_is_refused(path):
    """No such file system is at hand; a database in memory answers as one does."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection, pytest.raises(StoreError, match="WAL mode"):
        responses._use_wal(connection, path, timeout=0)


def test_models_are_told_with_answers_size_and_time(path):
    fill(path, 3, "a/b")
    fill(path, 4, "c")
    with ResponseStore.open(path) as store:
        store.put("c", {b"one": {"text": "x"}})
        (stored, other) = store.models()
        assert (stored.name, stored.answers, other.name, other.answers) == ("a/b", 3, "c", 2)
        assert other.bytes == len('{"text":"x"}') + stored.bytes // 3
        assert stored.first <= other.first <= other.last
        assert store.size() >= path.stat().st_size


def test_prune_removes_by_model_and_age(path):
    fill(path, 10, "a/b")
    with ResponseStore.open(path) as store:
        store.put("c", {key: {} for key in keys(5, start=10)})
        store._connection.execute(f"UPDATE responses SET stored_at = stored_at - 3 * {DAY} WHERE key < ?", keys(1, 3))
        store._connection.execute(f"UPDATE responses SET stored_at = stored_at - 3 * {DAY} WHERE key > ?", keys(1, 12))
        assert store.prune(model="c", older_than=2) == {"c": 2}
        assert store.prune(older_than=4) == {}
        assert store.prune(older_than=2) == {"a/b": 3}
        assert store.prune(model="a/b") == {"a/b": 7}
        assert set(store.get(keys(15))) == set(keys(3, start=10))
        with pytest.raises(UsageError, match=r"unknown model in the response store 'a/b'.*Available: c"):
            store.prune(model="a/b")
        assert store.prune() == {"c": 3}


def test_compacting_gives_space_back(path):
    fill(path, 2000)
    before = path.stat().st_size
    with ResponseStore.open(path) as store:
        store.prune()
        store.compact()
        assert path.stat().st_size < before / 20


def open_error(path):
    with pytest.raises(StoreError) as caught:
        ResponseStore.open(path, timeout=0.1)
    message = str(caught.value)
    assert str(path) in message and "EYECHART_HOME" in message and "--no-store" in message
    return message


def test_a_file_that_is_no_database_is_left_alone(path):
    path.parent.mkdir()
    path.write_text("my diary\n" * 1000)
    assert "file is not a database. Move the file away" in open_error(path)
    with pytest.raises(StoreError):
        responses.clear(path)
    assert path.read_text() == "my diary\n" * 1000


def test_the_database_of_another_program_is_left_alone(path):
    path.parent.mkdir()
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE diary (day)")
    other.close()
    before = path.read_bytes()
    assert "no response store" in open_error(path)
    with pytest.raises(StoreError):
        responses.clear(path)
    assert path.read_bytes() == before


def test_a_newer_store_is_left_alone(path):
    fill(path, 3)
    other = sqlite3.connect(path)
    other.execute(f"PRAGMA user_version = {responses.SCHEMA + 1}")
    other.close()
    before = path.read_bytes()
    assert "newer eyechart (schema 2; this one knows 1). Update eyechart" in open_error(path)
    with pytest.raises(StoreError, match="newer"):
        responses.clear(path)
    assert path.read_bytes() == before


def test_an_empty_file_becomes_a_store(path):
    path.parent.mkdir()
    path.touch()
    fill(path, 1)


def test_folders_that_cannot_be_made_or_are_in_the_way_are_named(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "responses.sqlite").mkdir()
    open_error(tmp_path / "file" / "responses.sqlite")
    assert "unable to open database file" in open_error(tmp_path / "responses.sqlite")


def test_a_damaged_store_is_told_from_its_contents_and_can_be_cleared(path):
    fill(path, 500)
    data = bytearray(path.read_bytes())
    data[4096:] = os.urandom(len(data) - 4096)
    path.write_bytes(data)
    with ResponseStore.open(path) as store:
        with pytest.raises(StoreError, match=r"is damaged: .*`eyechart store prune --all`"):
            store.check()
        with pytest.raises(StoreError, match=r"malformed.*`eyechart store prune --all`"):
            store.get(keys(1))
        with pytest.raises(StoreError, match=r"malformed.*`eyechart store prune --all`"):
            store.put("a/b", {b"one": {}})
    assert responses.clear(path) == {}
    fill(path, 3)
    with ResponseStore.open(path) as store:
        store.check()
        assert len(store.get(keys(3))) == 3


def test_an_answer_that_is_no_json_is_damage(path):
    fill(path, 3)
    with ResponseStore.open(path) as store:
        store._connection.execute("UPDATE responses SET value = x'7b' WHERE key = ?", keys(1))
        with pytest.raises(StoreError, match="damaged: an answer is no JSON"):
            store.get(keys(1))
        assert len(store.get(keys(2, start=1))) == 2


def test_a_store_that_another_process_writes_to_for_too_long(path):
    fill(path, 3)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert "database is locked. Another process is writing to it" in open_error(path)
    other.execute("ROLLBACK")
    with ResponseStore.open(path, timeout=0.1) as store:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="Another process"):
            store.put("a/b", {b"one": {}})
        assert len(store.get(keys(3))) == 3
        other.execute("ROLLBACK")
        store.put("a/b", {b"one": {}})
    other.close()


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


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write where the mode says otherwise")
@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_read_only_file_or_folder_is_told_before_anything_is_asked(path, what):
    fill(path, 3)
    target, mode = (path, 0o400) if what == "file" else (path.parent, 0o500)
    target.chmod(mode)
    try:
        open_error(path)
    finally:
        target.chmod(0o700)
    with ResponseStore.open(path) as store:
        assert len(store.get(keys(3))) == 3


def put_until_full(path):
    """Store until it fails; the number of answers stored before, and the message."""
    with ResponseStore.open(path) as store, pytest.raises(StoreError) as caught:
        for count in range(10_000):
            store.put("a/b", {keys(1, start=count)[0]: {"text": "x" * 1000}})
    return count, str(caught.value)


def test_a_full_disk_loses_nothing(disk):
    path = disk / "responses.sqlite"
    (disk / "others").write_bytes(bytes(1_000_000))
    count, message = put_until_full(path)
    assert count > 100
    assert "What was stored before is kept" in message and "--no-store" in message and "Free some space" in message
    with ResponseStore.open(path) as store:
        store.check()
        assert set(store.get(keys(count + 1))) == set(keys(count))
    (disk / "others").unlink()
    with ResponseStore.open(path) as store:
        store.put("a/b", {b"one": {}})
        assert len(store.get([*keys(count), b"one"])) == count + 1


def test_a_store_on_a_full_disk_can_be_cleared(disk):
    path = disk / "responses.sqlite"
    put_until_full(path)
    (disk / "others").write_bytes(bytes(os.statvfs(disk).f_bavail * os.statvfs(disk).f_bsize))
    responses.clear(path)
    fill(path, 3)


def test_a_store_that_may_not_grow_keeps_what_it_has(path):
    fill(path, 3)
    with ResponseStore.open(path) as store:
        store._connection.execute("PRAGMA max_page_count = 20")
        with pytest.raises(StoreError, match=r"full.*What was stored before is kept"):
            for start in range(100, 200):
                store.put("a/b", {keys(1, start)[0]: {"text": "x" * 3000}})
        assert len(store.get(keys(3))) == 3
        store.check()


OPEN_AND_PUT = """
import sys
from pathlib import Path
from eyechart.evaluators.requests.store import ResponseStore
path, number = Path(sys.argv[1]), int(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
with ResponseStore.open(path) as store:
    for i in range(100):
        store.put(f"model {number}", {f"{number} {i}".encode(): {"text": "x"}, f"all {i}".encode(): {"text": "x"}})
"""


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


def test_a_store_that_another_process_creates_meanwhile_is_not_taken_for_something_else(tmp_path):
    path = tmp_path / "responses.sqlite"
    connection = sqlite3.connect(path, isolation_level=None)
    created = []

    def create(statement):
        if "user_version" in statement and not created:
            created.append(statement)
            # It may have to wait for the reading to end.
            with contextlib.suppress(StoreError):
                ResponseStore.open(path, timeout=0.1).close()

    connection.set_trace_callback(create)
    responses._prepare(connection, path, 10.0)
    assert created
    connection.close()
    with ResponseStore.open(path) as store:
        store.check()
