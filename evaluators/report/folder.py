"""The folder of a report: its page, and beside it the files of its figures and tables.

The files are named in a list among them, so that the next report in the same folder removes these and no others.
"""

from collections.abc import Mapping
from pathlib import Path

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
    _remove_former(files)
    if contents:
        files.mkdir(exist_ok=True)
        # First, so that what is cut off is removed by the next report too.
        (files / LIST_FILE).write_text("".join(f"{name}\n" for name in contents), encoding="utf-8")
    for name, content in contents.items():
        (files / name).write_bytes(content)
    (folder / REPORT_FILE).write_text(page, encoding="utf-8")


def _remove_former(files: Path) -> None:
    """Remove the files that a former report wrote, and the folder if it held nothing else."""
    if not (files / LIST_FILE).is_file():
        return
    for name in (files / LIST_FILE).read_text(encoding="utf-8", errors="replace").splitlines():
        # A list that was edited may name any file.
        if Path(name).name == name and (files / name).is_file():
            (files / name).unlink()
    (files / LIST_FILE).unlink(missing_ok=True)
    if not any(files.iterdir()):
        files.rmdir()
