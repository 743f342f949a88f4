"""The folder of a report: its page, and beside it the files of its figures and tables.

The files are named in a list among them, so that the next report in the same folder removes these and no others.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from eyechart.datasets_scripts.common.whole import write_whole

REPORT_FILE = "report.html"
FILES_FOLDER = "report_files"
LIST_FILE = "written_by_eyechart.txt"
"""In `report_files`: the names of the files that the report wrote there, one on each line."""


def write_files(folder: Path, page: str, contents: Mapping[str, bytes]) -> None:
    """Write a report in place of the one that was there.

    Args:
        folder: Created if absent.
        page: The text of `report.html`.
        contents: Files for `report_files`, by name; if there are none, that folder is not made, and removed where
            nothing is left in it.

    Raises:
        OSError: Something cannot be written or removed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = folder / FILES_FOLDER
    former = _former(files)
    if contents:
        files.mkdir(exist_ok=True)
        # First, so that the next report removes what this one wrote before it was cut off.
        _write_list(files, {**former, **contents})
    for name, content in contents.items():
        write_whole(files / name, content)
    write_whole(folder / REPORT_FILE, page)
    for name in former.keys() - contents.keys():
        (files / name).unlink(missing_ok=True)
    if contents:
        _write_list(files, contents)
    elif (files / LIST_FILE).is_file():
        (files / LIST_FILE).unlink()
        if not any(files.iterdir()):
            files.rmdir()


def _former(files: Path) -> dict[str, None]:
    """The files that a former report wrote; empty where there was none."""
    if not (files / LIST_FILE).is_file():
        return {}
    names = (files / LIST_FILE).read_text(encoding="utf-8", errors="replace").splitlines()
    # A list that was edited may name any file.
    return dict.fromkeys(
        name for name in names if name != LIST_FILE and Path(name).name == name and (files / name).is_file()
    )


def _write_list(files: Path, names: Iterable[str]) -> None:
    write_whole(files / LIST_FILE, "".join(f"{name}\n" for name in names))
