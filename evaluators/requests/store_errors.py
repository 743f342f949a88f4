"""What can go wrong with the response store, and how to go on."""

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

from eyechart.datasets_scripts.common.errors import StoreError
from eyechart.evaluators.requests.values import brief

_ELSEWHERE = "set EYECHART_HOME to another folder, or run with --no-store"
_KEPT = "What was stored before is kept, and the same command run again asks only what is missing."
_HOW_TO_GO_ON = {
    sqlite3.SQLITE_FULL: f"{_KEPT} Free some space first, or {_ELSEWHERE}.",
    sqlite3.SQLITE_IOERR: f"The disk may be full or failing. {_KEPT} Free some space first, or {_ELSEWHERE}.",
    sqlite3.SQLITE_BUSY: f"Another process is writing to it. {_KEPT} Wait for the other one, or {_ELSEWHERE}.",
    sqlite3.SQLITE_READONLY: f"Make the file and its folder writable, or {_ELSEWHERE}.",
    sqlite3.SQLITE_PERM: f"Make the file and its folder writable, or {_ELSEWHERE}.",
    sqlite3.SQLITE_CANTOPEN: f"Make the file and its folder writable, or {_ELSEWHERE}.",
    sqlite3.SQLITE_NOTADB: f"Move the file away, or {_ELSEWHERE}.",
    sqlite3.SQLITE_CORRUPT: f"Remove it with `eyechart store prune --all`, or {_ELSEWHERE}.",
}


@contextlib.contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn what SQLite raises into a `StoreError` that names the store and says how to go on.

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
        advice = _HOW_TO_GO_ON.get(primary_code(error), f"To go on, {_ELSEWHERE}.")
        raise StoreError(f"the response store {path} cannot be used: {error}. {advice}") from error


def primary_code(error: BaseException | None) -> int:
    """SQLite's code of an error without its details, such as `sqlite3.SQLITE_FULL`; `SQLITE_OK` for other errors."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK) & 0xFF


def damaged(path: Path, reason: str) -> StoreError:
    """Make the error for a store whose contents make no sense."""
    advice = _HOW_TO_GO_ON[sqlite3.SQLITE_CORRUPT]
    return StoreError(f"the response store {path} is damaged: {reason}. {advice}")


def unreadable(path: Path, reason: str) -> StoreError:
    """Make the error for a store in which single answers make no sense."""
    return StoreError(
        f"the response store {path} is damaged: {reason}. Remove what cannot be read, and nothing else, with "
        f"`eyechart store prune --unreadable`, or {_ELSEWHERE}."
    )


def other_columns(path: Path, found: Sequence[str], expected: Sequence[str]) -> StoreError:
    """Make the error for a store whose table was changed."""
    return StoreError(
        f"the response store {path} is damaged: its answers have the columns {', '.join(found) or 'of no table'}; "
        f"expected {', '.join(expected)}. {_HOW_TO_GO_ON[sqlite3.SQLITE_NOTADB]}"
    )


def other_contents(path: Path, kind: str, name: str) -> StoreError:
    """Make the error for a store that has more than its table, which changes what is stored."""
    advice = _HOW_TO_GO_ON[sqlite3.SQLITE_NOTADB]
    return StoreError(f"the response store {path} was changed: it has the {kind} {brief(name)}. {advice}")


def foreign(path: Path) -> StoreError:
    """Make the error for a database of some other program."""
    advice = _HOW_TO_GO_ON[sqlite3.SQLITE_NOTADB]
    return StoreError(f"{path} is a database, but no response store. {advice}")


def newer(path: Path, version: int, known: int) -> StoreError:
    """Make the error for a store that this version does not know."""
    return StoreError(
        f"the response store {path} was written by a newer eyechart (schema {version}; this one knows {known}). "
        f"Update eyechart, or {_ELSEWHERE}."
    )


def without_wal(path: Path, mode: str) -> StoreError:
    """Make the error for a file system on which processes cannot share a database."""
    return StoreError(
        f"the response store {path} cannot be used: its file system does not allow SQLite's WAL mode (it stays in "
        f"mode {mode}). Choose a folder on a disk of this machine: {_ELSEWHERE}."
    )
