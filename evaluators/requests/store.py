"""The response store: answers of models, kept in one SQLite database so that no question is paid for twice.

In WAL mode, readers and one writer do not wait for each other; it needs a local disk. Requests are kept as hashes.
"""

import contextlib
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

import pydantic.dataclasses
from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict, override

from eyechart.datasets_scripts.common.errors import unknown_name
from eyechart.datasets_scripts.common.paths import eyechart_home
from eyechart.evaluators.requests.errors import StoreError
from eyechart.evaluators.requests.types import Answer
from eyechart.evaluators.requests.values import brief, decode, encode

SCHEMA = 1
"""Version of the tables; a store of a higher version is not touched."""
# "eyec": distinguishes the store from other programs' databases.
_APPLICATION_ID = 0x65796563
_TABLE = """CREATE TABLE responses (
        key BLOB PRIMARY KEY,
        model TEXT NOT NULL,
        stored_at REAL NOT NULL,
        value BLOB NOT NULL
    ) WITHOUT ROWID"""

_MOVE_AWAY = "Move the file away"
_MAKE_WRITABLE = "Make the file and its folder writable"
_REMOVE_ALL = "Remove it with `eyechart store prune --all`"
_KEPT = "Stored answers are kept, and running the same command again asks only for the missing ones."
_ADVICE = {
    sqlite3.SQLITE_FULL: f"{_KEPT} Free some space first",
    sqlite3.SQLITE_IOERR: f"The disk may be full or failing. {_KEPT} Free some space first",
    sqlite3.SQLITE_BUSY: f"Another process is writing to it. {_KEPT} Wait until it is done",
    sqlite3.SQLITE_READONLY: _MAKE_WRITABLE,
    sqlite3.SQLITE_PERM: _MAKE_WRITABLE,
    sqlite3.SQLITE_CANTOPEN: _MAKE_WRITABLE,
    sqlite3.SQLITE_NOTADB: _MOVE_AWAY,
    sqlite3.SQLITE_CORRUPT: _REMOVE_ALL,
}

_Text = Annotated[str, Field(strict=True)]
# Seconds since 1970, within the range of Python's dates.
_Time = Annotated[float, Field(strict=True, ge=0, lt=2.5e11)]


def _decoded(stored: object) -> object:
    """A stored value: JSON as bytes, or as text if the database was edited by hand."""
    data = stored.encode("utf-8", "surrogatepass") if isinstance(stored, str) else stored
    try:
        return decode(data) if isinstance(data, bytes) else data
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is not JSON: {error}") from error


_Value = Annotated[Answer, BeforeValidator(_decoded)]


class Row(TypedDict):
    """A row of the store."""

    key: Annotated[bytes, Field(strict=True)]
    model: _Text
    stored_at: _Time
    value: _Value


_VALUE: TypeAdapter[Answer] = TypeAdapter(_Value)
_ROW: TypeAdapter[Row] = TypeAdapter(Row)


def _encoded(answer: Answer) -> bytes | None:
    """The fields of an answer that are not empty, as JSON; None if it cannot be read back, as with a logit of NaN."""
    try:
        checked = _VALUE.validate_python({field.name: getattr(answer, field.name) for field in fields(Answer)})
    except ValidationError:
        return None
    return encode({name: value for name, value in vars(checked).items() if value not in (None, (), {})})


@pydantic.dataclasses.dataclass(frozen=True)
class StoredModel:
    """The contents of a store for one model."""

    name: _Text
    answers: int
    bytes: int
    """Size of the answers, without the overhead of the database."""
    first: _Time
    last: _Time
    """When its oldest and its newest answer were stored, in seconds since 1970."""


@dataclass(frozen=True)
class ResponseStore(contextlib.AbstractContextManager["ResponseStore"]):
    """A store, opened with `open`; every method raises `StoreError` if the database cannot be read or written."""

    path: Path
    _connection: sqlite3.Connection

    @classmethod
    def open(cls, path: Path | None = None, *, timeout: float = 60.0) -> "ResponseStore":
        """Open or create a store, by default under `EYECHART_HOME`; waits up to `timeout` seconds for other writers."""
        path = path or default_path()
        with _explained(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(path, timeout=timeout, isolation_level=None)
            try:
                _prepare(connection, path, timeout)
            except BaseException:
                connection.close()
                raise
        return cls(path, connection)

    @override
    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def get(self, keys: Iterable[bytes]) -> dict[bytes, Answer]:
        """The stored answers by key; keys that are not in the store are absent."""
        query = "SELECT value FROM responses WHERE key = ?"
        with _explained(self.path):
            rows = {key: self._connection.execute(query, (key,)).fetchone() for key in keys}
            return {key: _VALUE.validate_python(row[0]) for key, row in rows.items() if row}

    def put(self, model: str, answers: Mapping[bytes, Answer]) -> None:
        """Store answers of a model by key in one transaction: all or none. Existing answers are not changed.

        Answers that cannot be scored, such as a logit of NaN, are left out.
        """
        now = time.time()
        rows = [(key, model, now, value) for key, answer in answers.items() if (value := _encoded(answer)) is not None]
        with _explained(self.path), _transaction(self._connection):
            self._connection.executemany("INSERT INTO responses VALUES (?, ?, ?, ?) ON CONFLICT (key) DO NOTHING", rows)

    def models(self) -> list[StoredModel]:
        """The contents of the store, by model."""
        query = (
            "SELECT model, count(*), sum(length(value)), min(stored_at), max(stored_at) FROM responses "
            "GROUP BY model ORDER BY model"
        )
        with _explained(self.path):
            return [StoredModel(*row) for row in self._connection.execute(query)]

    def size(self) -> int:
        """Size on the disk, in bytes."""
        return sum(file.stat().st_size for file in _files(self.path) if file.exists())

    def check(self) -> None:
        """Check the entire database; raises `StoreError` if it is damaged."""
        with _explained(self.path):
            (first,) = self._connection.execute("PRAGMA integrity_check(1)").fetchone()
            if first != "ok":
                raise _store_error(self.path, f"is damaged: {first.splitlines()[-1]}", _REMOVE_ALL)
            for _, error in self._unreadable():
                raise error

    def prune(self, *, model: str | None = None, older_than: float | None = None) -> dict[str, int]:
        """Remove answers (of `model`, more than `older_than` days old), and return their number by model.

        Raises `UsageError` for an unknown model. Call `compact` afterwards to free their disk space.
        """
        if model is not None and model not in (names := [stored.name for stored in self.models()]):
            raise unknown_name("model", model, names, "in the response store")
        before = None if older_than is None else time.time() - older_than * 86_400
        condition = "(:model IS NULL OR model = :model) AND (:before IS NULL OR stored_at < :before)"
        values = {"model": model, "before": before}
        with _explained(self.path), _transaction(self._connection):
            query = f"SELECT model, count(*) FROM responses WHERE {condition} GROUP BY model ORDER BY model"
            removed = dict(self._connection.execute(query, values).fetchall())
            self._connection.execute(f"DELETE FROM responses WHERE {condition}", values)
        return removed

    def remove_unreadable(self) -> int:
        """Remove only the answers that cannot be read, and return their number."""
        with _explained(self.path), _transaction(self._connection):
            keys = [(key,) for key, _ in self._unreadable()]
            self._connection.executemany("DELETE FROM responses WHERE key IS ?", keys)
        return len(keys)

    def compact(self) -> None:
        """Rewrite the database without its gaps; fails if the disk has no room, or another process uses the store."""
        with _explained(self.path):
            self._connection.execute("VACUUM")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _unreadable(self) -> Iterator[tuple[object, ValidationError]]:
        """The key of each row that cannot be read, and why it cannot."""
        names = ("key", "model", "stored_at", "value")
        for row in self._connection.execute(f"SELECT {', '.join(names)} FROM responses"):
            try:
                _ROW.validate_python(dict(zip(names, row, strict=True)))
            except ValidationError as error:
                yield row[0], error


def clear(path: Path | None = None) -> dict[str, int]:
    """Remove all answers, and return their number by model; a damaged database, or one on a full disk, is removed."""
    path = path or default_path()
    try:
        with ResponseStore.open(path) as store:
            removed = store.prune()
            store.compact()
            return removed
    except StoreError as error:
        if _primary_code(error.__cause__) not in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
            raise
    with _explained(path):
        for file in _files(path):
            file.unlink(missing_ok=True)
    return {}


def default_path() -> Path:
    """Where the store is: under `EYECHART_HOME`."""
    return eyechart_home() / "responses.sqlite"


def _files(path: Path) -> tuple[Path, ...]:
    """The files that SQLite keeps next to a database while it is in use, and the database."""
    return path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm"), path


def _prepare(connection: sqlite3.Connection, path: Path, timeout: float) -> None:
    """Create the table in a new database, and check that it can be written."""
    # Also if there is nothing to create: only a transaction shows whether the file can be written.
    with _transaction(connection):
        if _check_kind(connection, path):
            connection.execute(_TABLE)
            connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {SCHEMA}")
    _use_wal(connection, path, timeout)
    connection.execute("PRAGMA synchronous = NORMAL")


def _check_kind(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether the database is empty; otherwise it must be a response store of a known version."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    statements = [statement for (statement,) in connection.execute("SELECT sql FROM sqlite_master")]
    if application == 0 and not statements:
        return True
    if application != _APPLICATION_ID:
        raise _store_error(path, "is a database, but not a response store", _MOVE_AWAY)
    if version > SCHEMA:
        reason = f"was written by a newer eyechart (schema {version}; this one knows {SCHEMA})"
        raise _store_error(path, reason, "Update eyechart")
    # A trigger may remove stored answers, and a view cannot be written to.
    if statements != [_TABLE]:
        raise _store_error(path, f"was changed: it contains {'; '.join(statements) or 'no table'}", _MOVE_AWAY)
    return False


def _use_wal(connection: sqlite3.Connection, path: Path, timeout: float) -> None:
    """Switch to WAL mode. Unlike for a transaction, SQLite does not wait for other processes here."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
            break
        except sqlite3.OperationalError as error:
            if _primary_code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
    if mode != "wal":
        reason = f"cannot be used: its file system does not support SQLite's WAL mode (the mode stays {mode})"
        raise _store_error(path, reason, "Choose a folder on a local disk")


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Write all or nothing."""
    with connection:
        # This locks for writing at once, because a reader that becomes a writer cannot wait for another one.
        connection.execute("BEGIN IMMEDIATE")
        yield


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn errors of SQLite, the system and the form of rows into a `StoreError` that says how to continue."""
    try:
        yield
    except OSError as error:
        raise _store_error(path, f"cannot be used: {error.strerror or error}", _MAKE_WRITABLE) from error
    except sqlite3.Error as error:
        advice = _ADVICE.get(_primary_code(error), "Try again")
        raise _store_error(path, f"cannot be used: {error}", advice) from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = ".".join(map(str, first["loc"])) or "value"
        reason = f"is damaged: an answer has the invalid field {name!r}: {brief(first['input'])} ({first['msg']})"
        advice = "Remove only the unreadable answers with `eyechart store prune --unreadable`"
        raise _store_error(path, reason, advice) from error


def _store_error(path: Path, reason: str, advice: str) -> StoreError:
    elsewhere = "set EYECHART_HOME to another folder, or run with --no-store"
    return StoreError(f"the response store {path} {reason}. {advice}, or {elsewhere}.")


def _primary_code(error: BaseException | None) -> int:
    """SQLite's primary code of an error, such as `sqlite3.SQLITE_FULL`; `SQLITE_OK` for other errors."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK) & 0xFF
