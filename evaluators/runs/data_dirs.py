"""Parse `--data-dir`, the folders of releases on the command line."""

from collections.abc import Sequence
from pathlib import Path

from eyechart.datasets_scripts.common.errors import UsageError, unknown_name
from eyechart.datasets_scripts.common.paths import check_not_empty


def parse_data_dirs(values: Sequence[str], names: Sequence[str], kind: str = "dataset") -> dict[str, str]:
    """Dataset or configuration to folder; the key is "" for a folder without a name.

    Raises:
        UsageError: A name is unknown or given twice, or a path is empty.
    """
    folders: dict[str, str] = {}
    for value in values:
        name, equals, path = value.partition("=")
        # A path may contain "=".
        if not equals or Path(value).exists():
            name, path = "", value
        elif name not in names:
            raise unknown_name(kind, name, names, "in --data-dir")
        check_not_empty(f"--data-dir {name}".rstrip(), path)
        if name in folders:
            form = f"write --data-dir {kind.upper()}=PATH, with {kind.upper()} one of: {', '.join(names)}"
            which = (
                f"two folders of the {kind} {name}" if name else f"two folders without the name of their {kind}; {form}"
            )
            raise UsageError(f"--data-dir {folders[name]} and --data-dir {path} are {which}")
        folders[name] = path
    return folders
