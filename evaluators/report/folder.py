"""The folder of a report: its page and, next to it, the files of its figures and tables.

A list in the same folder names the files, so that the next report there removes these files and no others.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from eyechart.datasets_scripts.common.whole import write_whole

REPORT_FILE = "report.html"
FILES_FOLDER = "report_files"
LIST_FILE = "written_by_eyechart.txt"
"""In `report_files`: the names of the files that the report wrote there, one per line."""


def write_files(folder: Path, page: str, contents: Mapping[str, bytes]) -> None:
    """Write a report, replacing the previous one.

    Args:
        folder: Created if absent.
        page: The text of `report.html`.
        contents: Files for `report_files`, by name. If there are none, that folder is not created, and it is removed
            if nothing is left in it.

    Raises:
        OSError: Something cannot be written or removed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = folder / FILES_FOLDER
    previous = _previous(files)
    if contents:
        files.mkdir(exist_ok=True)
        # The list is written first: if this report is interrupted, the next one removes its files.
        _write_list(files, {**previous, **contents})
    for name, content in contents.items():
        write_whole(files / name, content)
    write_whole(folder / REPORT_FILE, page)
    for name in previous.keys() - contents.keys():
        (files / name).unlink(missing_ok=True)
    if contents:
        _write_list(files, contents)
    elif (files / LIST_FILE).is_file():
        (files / LIST_FILE).unlink()
        if not any(files.iterdir()):
            files.rmdir()


def _previous(files: Path) -> dict[str, None]:
    """The files that the previous report wrote; empty if there was none."""
    if not (files / LIST_FILE).is_file():
        return {}
    names = (files / LIST_FILE).read_text(encoding="utf-8", errors="replace").splitlines()
    # An edited list could name any file.
    return dict.fromkeys(
        name for name in names if name != LIST_FILE and Path(name).name == name and (files / name).is_file()
    )


def _write_list(files: Path, names: Iterable[str]) -> None:
    write_whole(files / LIST_FILE, "".join(f"{name}\n" for name in names))
