import contextlib
import sqlite3
import time
from dataclasses import FrozenInstanceError

import pytest

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.requests import store as responses
from eyechart.evaluators.requests.store import ResponseStore
from eyechart.evaluators.requests.types import Answer

DAY = 86_400


def keys(count, start=0):
    return [i.to_bytes(32, "big") for i in range(start, start + count)]


def fill(path, count, model="a/b", size=1000):
    with ResponseStore.open(path) as store:
        store.put(model, {key: Answer(text=key.hex() * (size // 64)) for key in keys(count)})


@pytest.fixture
def path(tmp_path):
    return tmp_path / "home" / "responses.sqlite"


def test_it_lies_under_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("EYECHART_HOME", str(tmp_path / "new"))
    with ResponseStore.open() as store:
        assert store.path == tmp_path / "new" / "responses.sqlite" == responses.default_path()
        assert store.path.is_file()


def test_what_is_stored_stays_as_it_is(path):
    with ResponseStore.open(path) as store:
        store.put("a/b", {b"one": Answer(text="first")})
        store.put("c", {b"one": Answer(text="second"), b"two": Answer()})
        assert store.get([b"one"]) == {b"one": Answer(text="first")}
        assert [model.name for model in store.models()] == ["a/b", "c"]


def test_it_is_in_wal_mode_and_a_reader_sees_what_another_wrote(path):
    with ResponseStore.open(path) as one, ResponseStore.open(path) as two:
        one.put("a/b", {b"one": Answer()})
        assert two.get([b"one"]) == {b"one": Answer()}
        assert path.with_name("responses.sqlite-wal").exists()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        values = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "application_id")]
        assert values == ["wal", int.from_bytes(b"eyec")]


def test_the_switch_to_wal_mode_waits_for_readers_until_the_timeout(tmp_path):
    with contextlib.closing(sqlite3.connect(tmp_path / "a")) as reader:
        reader.executescript("CREATE TABLE a (b); BEGIN; SELECT * FROM a")
        started = time.monotonic()
        connection = sqlite3.connect(tmp_path / "a", timeout=0)
        with contextlib.closing(connection), pytest.raises(sqlite3.OperationalError, match="locked"):
            responses._use_wal(connection, tmp_path / "a", timeout=0.3)
        assert 0.3 <= time.monotonic() - started < 20


def test_models_are_told_with_answers_size_and_time(path):
    fill(path, 3, "a/b")
    fill(path, 4, "c")
    with ResponseStore.open(path) as store:
        store.put("c", {b"one": Answer(text="x")})
        (stored, other) = store.models()
        assert (stored.name, stored.answers, other.name, other.answers) == ("a/b", 3, "c", 2)
        assert other.bytes == len('{"text":"x"}') + stored.bytes // 3
        assert stored.first <= other.first <= other.last
        for record, name in ((store, "path"), (stored, "name")):
            with pytest.raises(FrozenInstanceError):
                setattr(record, name, "other")
        assert store.size() == sum(file.stat().st_size for file in path.parent.iterdir()) > path.stat().st_size


def test_prune_removes_by_model_and_age(path):
    fill(path, 10, "a/b")
    with ResponseStore.open(path) as store:
        store.put("c", {key: Answer() for key in keys(5, start=10)})
        old = f"UPDATE responses SET stored_at = stored_at - 3000 * {DAY}"
        store._connection.execute(f"{old} WHERE key < ?", keys(1, 3))
        store._connection.execute(f"{old} WHERE key > ?", keys(1, 12))
        assert store.prune(model="c", older_than=3000) == {"c": 2}
        assert store.prune(older_than=3000.01) == {}
        assert store.prune(older_than=1) == {"a/b": 3}
        assert store.prune(model="a/b") == {"a/b": 7}
        assert set(store.get(keys(15))) == set(keys(3, start=10))
        with pytest.raises(UsageError, match=r"unknown model 'a/b' in the response store.*available: c"):
            store.prune(model="a/b")
        assert store.prune() == {"c": 3}


def test_compacting_gives_space_back(path):
    fill(path, 2000)
    before = path.stat().st_size
    with ResponseStore.open(path) as store:
        store.prune()
        store.compact()
        assert path.stat().st_size < before / 20
