"""The exceptions that eyechart raises on purpose.

::

    EyechartError
    ├── UsageError (also a ValueError; the command line exits with code 2)
    ├── DataError
    │   ├── MissingFileError
    │   ├── MissingImagesError
    │   ├── BadAnnotationError
    │   ├── BadImageError
    │   └── BadArchiveError
    ├── OutputError
    └── HubError

`eyechart.evaluators.requests.errors` adds those of runs, and `eyechart.metrics.scoring.errors` has those of scores.
"""

import difflib
import os
from collections.abc import Iterable

PASS_FOLDER = "Pass that folder as data_dir (command line: --data-dir)"
"""The last of the `numbered_steps` to get most releases by hand."""


class EyechartError(Exception):
    """Base of all errors raised on purpose."""

    def explain(self) -> str:
        """The message with its notes, which say how to continue; commands print this."""
        return "\n".join([str(self), *getattr(self, "__notes__", [])])


class UsageError(EyechartError, ValueError):
    """An unknown name or a bad argument."""


class DataError(EyechartError):
    """A file or folder, or a row of it (its number or id), is missing or invalid; `reason` does not name them."""

    def __init__(
        self, reason: str, *, path: str | os.PathLike[str] | None = None, row: int | str | None = None
    ) -> None:
        """Compose the message `<path>, row <row>: <reason>`."""
        self.path = None if path is None else os.fspath(path)
        self.row = row
        self.reason = reason
        where = ", ".join(filter(None, (self.path, "" if row is None else f"row {row}")))
        super().__init__(f"{where}: {reason}" if where else reason)


class MissingFileError(DataError):
    """A folder or an annotation file is missing."""


class MissingImagesError(DataError):
    """Images that the annotations name are missing."""


class BadAnnotationError(DataError):
    """An annotation file, or one of its rows, is malformed."""


class BadImageError(DataError):
    """An image is empty, corrupt, truncated, too large, or not an image."""


class BadArchiveError(DataError):
    """An archive is corrupt, encrypted, too large, or would write outside its folder."""


class OutputError(EyechartError):
    """A result cannot be written: the disk is full."""


class HubError(EyechartError):
    """The Hub refused a request, or cannot be reached."""


class MiniDataWarning(UserWarning):
    """The scores were computed on synthetic demo data, not on the benchmark."""


def unknown_name(
    kind: str, given: object, allowed: Iterable[str], where: str = "", *, instead: str | None = None
) -> UsageError:
    """Make the error for a name that does not exist; `instead` replaces the list of all names, if there are many.

    Examples:
        >>> print(unknown_name("split", "tset", ["dev", "test"]))
        unknown split 'tset'; did you mean 'test'? Available: dev, test
        >>> print(unknown_name("dataset", "spaq", ["llvisionqa"], "of q_bench/perception"))
        unknown dataset 'spaq' of q_bench/perception; available: llvisionqa
    """
    names = list(allowed)
    hint = _hint(given, names)
    available = f"{'Available' if hint else 'available'}: {', '.join(names) or 'none'}"
    rest = available if instead is None else instead
    return UsageError(f"unknown {kind} {given!r}{where and f' {where}'}; {hint}{rest}".rstrip())


def check_ranges(options: object, **ranges: float | tuple[float, float]) -> None:
    """Raise `UsageError` for a field, unless None, outside of its range: least and greatest value (if missing, 1e9)."""
    for name, limits in ranges.items():
        low, high = limits if isinstance(limits, tuple) else (limits, 1e9)
        value = getattr(options, name)
        if value is not None and not low <= value <= high:
            raise UsageError(f"{name}={value} is not allowed; expected a number from {low:g} to {high:g}.")


def missing_column(name: str, found: Iterable[str], why: str = "") -> str:
    """The message for a missing column, with the columns that were found; `why` follows its name."""
    names = list(found)
    return f"missing column {name!r}{why}; {_hint(name, names)}found: {', '.join(names) or 'none'}"


def numbered_steps(goal: str, *steps: str, otherwise: str = "") -> str:
    """Instructions for the end of an error, one numbered step per line; the last line may be another way."""
    lines = [f"{goal}:", *(f"  {number}. {step}" for number, step in enumerate(steps, 1)), otherwise]
    return "\n".join(filter(None, lines))


def _hint(given: object, names: Iterable[str]) -> str:
    by_lower_case = {name.lower(): name for name in names}
    close = difflib.get_close_matches(str(given).lower(), by_lower_case, n=1)
    return f"did you mean '{by_lower_case[close[0]]}'? " if close else ""
