"""Every exception that eyechart raises on purpose.

::

    EyechartError
    ├── UsageError (also a ValueError)   unknown name or bad argument; the command line exits with code 2
    ├── DataError                        something is wrong with a file that was read
    │   ├── MissingFileError             a folder or an annotation file is not there
    │   ├── MissingImagesError           annotated images are not there
    │   ├── BadAnnotationError           an annotation file, or one row of it, is malformed
    │   ├── BadImageError                an image is empty, corrupt, truncated, too large, or not an image
    │   ├── BadArchiveError              an archive is corrupt, locked, too large, or would write where it must not
    │   ├── BadResultsError              a run's results were edited, or are of another schema
    │   ├── EndpointError                a server did not answer one request, or not in the form it must have
    │   └── MissingPredictionError       a predictions file has no answer to one request
    ├── OutputError                      what a command made cannot be written: the disk is full
    ├── HubError                         the Hub refused what was asked of it, or cannot be reached
    ├── ModelError                       a model cannot be used for what is asked of it
    │   └── QuotaError                   a server's account has nothing left to spend
    └── StoreError                       the store of answers cannot be read or written
"""

import difflib
import os
from collections.abc import Iterable


class EyechartError(Exception):
    """Base of all errors raised on purpose."""

    def explain(self) -> str:
        """The message with its notes, which say how to go on: what a command prints."""
        return "\n".join([str(self), *getattr(self, "__notes__", [])])


class UsageError(EyechartError, ValueError):
    """An unknown name or a bad argument."""


class DataError(EyechartError):
    """Something is wrong with a file.

    Attributes:
        path: The file or folder, or None.
        row: Line number, row number or row id inside the file, or None.
        reason: What is wrong, without the file's name.
    """

    def __init__(
        self, reason: str, *, path: str | os.PathLike[str] | None = None, row: int | str | None = None
    ) -> None:
        """Compose the message `<path>, row <row>: <reason>`."""
        self.path = None if path is None else os.fspath(path)
        self.row = row
        self.reason = reason
        where = ", ".join(([] if self.path is None else [self.path]) + ([] if row is None else [f"row {row}"]))
        super().__init__(f"{where}: {reason}" if where else reason)


class MissingFileError(DataError):
    """A folder or an annotation file is not there."""


class MissingImagesError(DataError):
    """Images that the annotations list are not there."""


class BadAnnotationError(DataError):
    """An annotation file, or one row of it, is malformed."""


class BadImageError(DataError):
    """An image is empty, corrupt, truncated, too large, or not an image."""


class BadArchiveError(DataError):
    """An archive is corrupt, locked, too large, or would write where it must not."""


class BadResultsError(DataError):
    """A run's results or predictions are not in the form in which they were written, or of another schema."""


class EndpointError(DataError):
    """A server did not answer one request, or not in the form it must have.

    Attributes:
        status: The HTTP status of a refusal; None where there was no answer, or one that cannot be used.
    """

    def __init__(self, reason: str, *, status: int | None = None) -> None:
        """Keep the reason and the status."""
        super().__init__(reason)
        self.status = status


class MissingPredictionError(DataError):
    """A predictions file has no answer to one request; what it has to others is not in doubt."""


class OutputError(EyechartError):
    """What a command made cannot be written: the disk is full."""


class HubError(EyechartError):
    """The Hub refused what was asked of it, or cannot be reached."""


class ModelError(EyechartError):
    """A model cannot be used for what is asked of it."""


class QuotaError(ModelError):
    """The account on a server has nothing left to spend."""


class StoreError(EyechartError):
    """The store of answers cannot be read or written; what it holds is kept."""


class MiniDataWarning(UserWarning):
    """Scores are of a mini release, whose items are synthetic."""


def unknown_name(kind: str, given: object, allowed: Iterable[str]) -> UsageError:
    """Make the error for a name that does not exist.

    Args:
        kind: What the name stands for, for example "dataset".
        given: The name as it was given.
        allowed: The names that exist.

    Returns:
        The error, to be raised by the caller.

    Examples:
        >>> print(unknown_name("split", "tset", ["dev", "test"]))
        unknown split 'tset'; did you mean 'test'? Available: dev, test
    """
    names = list(allowed)
    return UsageError(f"unknown {kind} {given!r}; {_hint(given, names)}Available: {', '.join(names) or 'none'}")


def missing_column(name: str, found: Iterable[str], why: str = "") -> str:
    """The message for data without a column.

    Examples:
        >>> missing_column("answer", ["id", "Answer"], " (needed by mmbench/en)")
        "missing column 'answer' (needed by mmbench/en); did you mean 'Answer'? found: id, Answer"
    """
    names = list(found)
    return f"missing column {name!r}{why}; {_hint(name, names)}found: {', '.join(names) or 'none'}"


def _hint(given: object, names: Iterable[str]) -> str:
    by_lower_case = {name.lower(): name for name in names}
    close = difflib.get_close_matches(str(given).lower(), by_lower_case, n=1)
    return f"did you mean '{by_lower_case[close[0]]}'? " if close else ""
