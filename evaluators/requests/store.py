"""The response store: answers of models, kept in one SQLite database so that no question is paid for twice.

The database is `responses.sqlite` under `EYECHART_HOME`, in WAL mode: readers and one writer do not wait for each
other, and committed transactions survive a crash of the process. (A power failure may lose the last transactions, but
does not damage the database.) WAL mode needs a local disk, not a network share that several machines write to. Values
are JSON, nothing is pickled, and only the hash of a request is kept.
"""

import contextlib
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eyechart.datasets_scripts.common.errors import StoreError, unknown_name
from eyechart.datasets_scripts.common.paths import eyechart_home
from eyechart.evaluators.requests.stored_form import is_time, read_value, why_unreadable
from eyechart.evaluators.requests.values import brief, encode

FILE = "responses.sqlite"
SCHEMA = 1
"""Version of the tables; a store of a higher version is not touched."""

# "eyec": distinguishes the store from other programs' databases.
_APPLICATION_ID = 0x65796563
_TABLE = """
    CREATE TABLE responses (
        key BLOB PRIMARY KEY,
        model TEXT NOT NULL,
        stored_at REAL NOT NULL,
        value BLOB NOT NULL
    ) WITHOUT ROWID
"""
_COLUMNS = ("key", "model", "stored_at", "value")
_KEYS_PER_QUERY = 500
_BEYOND_WRITING = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)

_ELSEWHERE = "set EYECHART_HOME to another folder, or run with --no-store"
_KEPT = "Stored answers are kept, and running the same command again asks only for the missing ones."
_WRITABLE = f"Make the file and its folder writable, or {_ELSEWHERE}."
_MOVE_AWAY = f"Move the file away, or {_ELSEWHERE}."
_REMOVE_ALL = f"Remove it with `eyechart store prune --all`, or {_ELSEWHERE}."
_REMOVE_UNREADABLE = f"Remove only the unreadable answers with `eyechart store prune --unreadable`, or {_ELSEWHERE}."
_UPDATE = f"Update eyechart, or {_ELSEWHERE}."
_LOCAL_DISK = f"Choose a folder on a local disk: {_ELSEWHERE}."
_ADVICE = {
    sqlite3.SQLITE_FULL: f"{_KEPT} Free some space first, or {_ELSEWHERE}.",
    sqlite3.SQLITE_IOERR: f"The disk may be full or failing. {_KEPT} Free some space first, or {_ELSEWHERE}.",
    sqlite3.SQLITE_BUSY: f"Another process is writing to it. {_KEPT} Wait until it is done, or {_ELSEWHERE}.",
    sqlite3.SQLITE_READONLY: _WRITABLE,
    sqlite3.SQLITE_PERM: _WRITABLE,
    sqlite3.SQLITE_CANTOPEN: _WRITABLE,
    sqlite3.SQLITE_NOTADB: _MOVE_AWAY,
    sqlite3.SQLITE_CORRUPT: _REMOVE_ALL,
}


@dataclass(frozen=True)
class StoredModel:
    """The contents of a store for one model."""

    name: str
    answers: int
    bytes: int
    """Size of the answers, without the overhead of the database."""
    first: float
    """When its oldest answer was stored, in seconds since 1970."""
    last: float
    """When its newest answer was stored, in seconds since 1970."""


class ResponseStore:
    """An open store. Close it, or use it as a context manager.

    Args:
        path: The database.
        connection: A connection to it.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        """Keep both; `ResponseStore.open` makes them."""
        self.path = path
        self._connection = connection

    @classmethod
    def open(cls, path: Path | None = None, *, timeout: float = 60.0) -> "ResponseStore":
        """Open a store; create it if it does not exist.

        Args:
            path: The database; by default the one under `EYECHART_HOME`.
            timeout: How long to wait for other writing processes, in seconds.

        Raises:
            StoreError: The database cannot be created, read or written, is damaged, is not a response store, or was
                written by a newer version.
        """
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

    def __enter__(self) -> "ResponseStore":
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Close the database."""
        self._connection.close()

    def get(self, keys: Iterable[bytes]) -> dict[bytes, dict[str, Any]]:
        """Look up answers.

        Args:
            keys: Keys from `RequestKeys`.

        Returns:
            The stored values by key; keys that are not in the store are absent.

        Raises:
            StoreError: The store cannot be read, or a value does not have this form.
        """
        wanted = list(dict.fromkeys(keys))
        rows: dict[bytes, object] = {}
        with _explained(self.path):
            for start in range(0, len(wanted), _KEYS_PER_QUERY):
                part = wanted[start : start + _KEYS_PER_QUERY]
                query = f"SELECT key, value FROM responses WHERE key IN ({', '.join('?' * len(part))})"
                rows.update(self._connection.execute(query, part))
        try:
            return {key: read_value(value) for key, value in rows.items()}
        except ValueError as error:
            raise self._unreadable_error(str(error)) from error

    def put(self, model: str, values: Mapping[bytes, Any]) -> None:
        """Store answers in one transaction: all of them or none. Existing answers are not changed.

        Args:
            model: The model's name, for `info` and `prune`.
            values: JSON values by key.

        Raises:
            StoreError: The store cannot be written.
        """
        now = time.time()
        rows = [(key, model, now, encode(value)) for key, value in values.items()]
        with _explained(self.path), _transaction(self._connection):
            self._connection.executemany("INSERT INTO responses VALUES (?, ?, ?, ?) ON CONFLICT (key) DO NOTHING", rows)

    def models(self) -> list[StoredModel]:
        """The contents of the store, by model.

        Raises:
            StoreError: The store cannot be read, or a name or time in it is not valid.
        """
        query = (
            "SELECT model, count(*), sum(length(value)), min(stored_at), max(stored_at) FROM responses "
            "GROUP BY model ORDER BY model"
        )
        with _explained(self.path):
            models = [StoredModel(*row) for row in self._connection.execute(query)]
        for model in models:
            if not (isinstance(model.name, str) and is_time(model.first) and is_time(model.last)):
                raise self._unreadable_error(f"the model {brief(model.name)} has an invalid name or time")
        return models

    def size(self) -> int:
        """Size on the disk, in bytes."""
        files = (self.path, *_companions(self.path))
        return sum(file.stat().st_size for file in files if file.exists())

    def check(self) -> None:
        """Check the entire database.

        Raises:
            StoreError: It is damaged.
        """
        with _explained(self.path):
            (first,) = self._connection.execute("PRAGMA integrity_check(1)").fetchone()
        if first != "ok":
            raise _store_error(self.path, f"is damaged: {first.splitlines()[-1]}", _REMOVE_ALL)
        for _, reason in self._unreadable():
            raise self._unreadable_error(reason)

    def prune(self, *, model: str | None = None, older_than: float | None = None) -> dict[str, int]:
        """Remove answers. Call `compact` afterwards to free their disk space.

        Args:
            model: Remove only the answers of this model.
            older_than: Remove only answers stored more than N days ago.

        Returns:
            Number of removed answers, by model.

        Raises:
            UsageError: The model is not in the store.
            StoreError: The store cannot be written.
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
        """Remove only the answers that cannot be read, and return their number.

        Raises:
            StoreError: The store cannot be read or written.
        """
        with _explained(self.path), _transaction(self._connection):
            keys = [(key,) for key, _ in self._unreadable()]
            self._connection.executemany("DELETE FROM responses WHERE key IS ?", keys)
        return len(keys)

    def compact(self) -> None:
        """Rewrite the database without its gaps.

        Raises:
            StoreError: The disk has no room for the copy, or another process is using the store.
        """
        with _explained(self.path):
            self._connection.execute("VACUUM")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _unreadable_error(self, reason: str) -> StoreError:
        return _store_error(self.path, f"is damaged: {reason}", _REMOVE_UNREADABLE)

    def _unreadable(self) -> Iterator[tuple[object, str]]:
        """The key of each row that cannot be read, and why it cannot."""
        with _explained(self.path):
            for row in self._connection.execute("SELECT key, model, stored_at, value FROM responses"):
                if (reason := why_unreadable(*row)) is not None:
                    yield row[0], reason


def clear(path: Path | None = None) -> dict[str, int]:
    """Remove all answers. If the database is damaged or the disk is too full to write to it, remove the database.

    Args:
        path: The database; by default the one under `EYECHART_HOME`.

    Returns:
        Number of removed answers, by model; empty if the database could not be read.

    Raises:
        StoreError: The store was written by a newer version, is not a response store, or cannot be written.
    """
    path = path or default_path()
    try:
        with ResponseStore.open(path) as store:
            removed = store.prune()
            store.compact()
            return removed
    except StoreError as error:
        if _primary_code(error.__cause__) not in _BEYOND_WRITING:
            raise
    with _explained(path):
        for file in (*_companions(path), path):
            file.unlink(missing_ok=True)
    return {}


def default_path() -> Path:
    """Where the store is: under `EYECHART_HOME`."""
    return eyechart_home() / FILE


def _companions(path: Path) -> tuple[Path, Path]:
    """The files that SQLite keeps next to a database while it is in use."""
    return path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")


def _prepare(connection: sqlite3.Connection, path: Path, timeout: float) -> None:
    """Create the table in a new database, and check that it can be written."""
    # Before writing, as the file may be another program's; in a transaction, as another process may be creating it.
    with _transaction(connection, "BEGIN"):
        _check_kind(connection, path)
    _use_wal(connection, path, timeout)
    connection.execute("PRAGMA synchronous = NORMAL")
    # Also if there is nothing to create: only a transaction shows whether the file can be written.
    with _transaction(connection):
        if _check_kind(connection, path):
            connection.execute(_TABLE)
            connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {SCHEMA}")


def _check_kind(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether the database is empty; otherwise it must be a response store of a known version."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application == 0 and not tables:
        return True
    if application != _APPLICATION_ID:
        raise _store_error(path, "is a database, but not a response store", _MOVE_AWAY)
    if version > SCHEMA:
        problem = f"was written by a newer eyechart (schema {version}; this one knows {SCHEMA})"
        raise _store_error(path, problem, _UPDATE)
    columns = [name for _, name, *_ in connection.execute("PRAGMA table_info(responses)")]
    if columns != list(_COLUMNS):
        table = f"has the columns {', '.join(columns)}" if columns else "is missing"
        problem = f"is damaged: its table {table}; expected the columns {', '.join(_COLUMNS)}"
        raise _store_error(path, problem, _MOVE_AWAY)
    # A trigger may remove stored answers, and a view cannot be written to.
    for kind, name in connection.execute("SELECT type, name FROM sqlite_master WHERE type IN ('trigger', 'view')"):
        raise _store_error(path, f"was changed: it contains the {kind} {brief(name)}", _MOVE_AWAY)
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
        problem = f"cannot be used: its file system does not support SQLite's WAL mode (the mode stays {mode})"
        raise _store_error(path, problem, _LOCAL_DISK)


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection, begin: str = "BEGIN IMMEDIATE") -> Iterator[None]:
    """Write all or nothing; with "BEGIN", read a consistent state.

    "BEGIN IMMEDIATE" locks for writing at once, because a reader that becomes a writer cannot wait for another writer.
    """
    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # SQLite has already rolled back if the disk is full or failing.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn errors of SQLite and the system into a `StoreError` that names the store and says how to continue."""
    try:
        yield
    except OSError as error:
        raise _store_error(path, f"cannot be used: {error.strerror or error}", _WRITABLE) from error
    except sqlite3.Error as error:
        advice = _ADVICE.get(_primary_code(error), f"To continue, {_ELSEWHERE}.")
        raise _store_error(path, f"cannot be used: {error}", advice) from error


def _store_error(path: Path, problem: str, advice: str) -> StoreError:
    """Make an error about the store."""
    return StoreError(f"the response store {path} {problem}. {advice}")


def _primary_code(error: BaseException | None) -> int:
    """SQLite's primary code of an error, such as `sqlite3.SQLITE_FULL`; `SQLITE_OK` for other errors."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK) & 0xFF
