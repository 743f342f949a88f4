"""Errors of the response store, with advice on how to continue."""

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

from eyechart.datasets_scripts.common.errors import StoreError
from eyechart.evaluators.requests.values import brief

_ELSEWHERE = "set EYECHART_HOME to another folder, or run with --no-store"
_KEPT = "Stored answers are kept, and running the same command again asks only for the missing ones."
_HOW_TO_GO_ON = {
    sqlite3.SQLITE_FULL: f"{_KEPT} Free some space first, or {_ELSEWHERE}.",
    sqlite3.SQLITE_IOERR: f"The disk may be full or failing. {_KEPT} Free some space first, or {_ELSEWHERE}.",
    sqlite3.SQLITE_BUSY: f"Another process is writing to it. {_KEPT} Wait until it is done, or {_ELSEWHERE}.",
    sqlite3.SQLITE_READONLY: f"Make the file and its folder writable, or {_ELSEWHERE}.",
    sqlite3.SQLITE_PERM: f"Make the file and its folder writable, or {_ELSEWHERE}.",
    sqlite3.SQLITE_CANTOPEN: f"Make the file and its folder writable, or {_ELSEWHERE}.",
    sqlite3.SQLITE_NOTADB: f"Move the file away, or {_ELSEWHERE}.",
    sqlite3.SQLITE_CORRUPT: f"Remove it with `eyechart store prune --all`, or {_ELSEWHERE}.",
}


@contextlib.contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn SQLite errors into a `StoreError` that names the store and says how to continue.

    Args:
        path: The database.
    """
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"the response store {path} cannot be used: {error.strerror or error}. "
            f"{_HOW_TO_GO_ON[sqlite3.SQLITE_CANTOPEN]}"
        ) from error
    except sqlite3.Error as error:
        advice = _HOW_TO_GO_ON.get(primary_code(error), f"To continue, {_ELSEWHERE}.")
        raise StoreError(f"the response store {path} cannot be used: {error}. {advice}") from error


def primary_code(error: BaseException | None) -> int:
    """SQLite's primary code of an error, such as `sqlite3.SQLITE_FULL`; `SQLITE_OK` for other errors."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK) & 0xFF


def damaged(path: Path, reason: str) -> StoreError:
    """Make the error for a store with damaged contents."""
    advice = _HOW_TO_GO_ON[sqlite3.SQLITE_CORRUPT]
    return StoreError(f"the response store {path} is damaged: {reason}. {advice}")


def unreadable(path: Path, reason: str) -> StoreError:
    """Make the error for a store in which some answers cannot be read."""
    return StoreError(
        f"the response store {path} is damaged: {reason}. Remove only the unreadable answers with "
        f"`eyechart store prune --unreadable`, or {_ELSEWHERE}."
    )


def other_columns(path: Path, found: Sequence[str], expected: Sequence[str]) -> StoreError:
    """Make the error for a store whose table was changed."""
    what = f"its table has the columns {', '.join(found)}" if found else "its table is missing"
    return StoreError(
        f"the response store {path} is damaged: {what}; expected the columns {', '.join(expected)}. "
        f"{_HOW_TO_GO_ON[sqlite3.SQLITE_NOTADB]}"
    )


def other_contents(path: Path, kind: str, name: str) -> StoreError:
    """Make the error for a store with further contents, which can change the stored answers."""
    advice = _HOW_TO_GO_ON[sqlite3.SQLITE_NOTADB]
    return StoreError(f"the response store {path} was changed: it contains the {kind} {brief(name)}. {advice}")


def foreign(path: Path) -> StoreError:
    """Make the error for a database of another program."""
    advice = _HOW_TO_GO_ON[sqlite3.SQLITE_NOTADB]
    return StoreError(f"{path} is a database, but not a response store. {advice}")


def newer(path: Path, version: int, known: int) -> StoreError:
    """Make the error for a store with a schema that this version does not know."""
    return StoreError(
        f"the response store {path} was written by a newer eyechart (schema {version}; this one knows {known}). "
        f"Update eyechart, or {_ELSEWHERE}."
    )


def without_wal(path: Path, mode: str) -> StoreError:
    """Make the error for a file system on which processes cannot share a database."""
    return StoreError(
        f"the response store {path} cannot be used: its file system does not support SQLite's WAL mode (the mode "
        f"stays {mode}). Choose a folder on a local disk: {_ELSEWHERE}."
    )
