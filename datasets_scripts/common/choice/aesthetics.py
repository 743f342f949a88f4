"""The groups of AesBench's questions, and the CSV file in which users can supply them."""

import difflib
import os
import re
from collections.abc import Mapping

from eyechart.datasets_scripts.common.choice.vlmevalkit import lookup, meanings, plain, read_table, warn_of_categories
from eyechart.datasets_scripts.common.errors import BadAnnotationError
from eyechart.datasets_scripts.common.files.readers import ROW_ERROR, Row, clean_text, read_csv_rows

DIMENSIONS = {
    "AesP": ("technical quality", "color and light", "composition", "content"),
    "AesE": ("emotion", "interest", "uniqueness", "vibe"),
}
"""Dimensions of perception and empathy (Sec. 3.1 and 3.2 of the paper), as the columns of its Tables 2 and 3."""
SOURCES = ("natural", "artistic", "AI-generated")
TYPES = ("yes-or-no", "what", "how", "why")
PARTS = {"perception": "AesP", "empathy": "AesE", "assessment": "AesA1", "interpretation": "AesI"}
"""The release's name of each configuration's part, in some copies with "_data" added."""
COLUMNS = ("image", "task", "dimension", "source", "type")
"""Columns of the CSV file."""
_KNOWN = {
    "part": lookup(PARTS.values(), {"AesA": "AesA1"} | PARTS | {f"aesthetic {name}": PARTS[name] for name in PARTS}),
    "dimension": lookup(name for names in DIMENSIONS.values() for name in names),
    "image_source": lookup(SOURCES),
    "question_type": lookup(TYPES, {"yes-no": "yes-or-no"}),
}
_TASKS = lookup(PARTS.values(), {"AesA": "AesA1"})
_INDEX = re.compile(r"(aes[pei]|aesa1?)(?![a-z0-9])", re.IGNORECASE)
# The question of assessment, the same in all 2,800 rows of the release.
_ASSESSMENT = "how is the aesthetic quality of this image?"
_OURS = {"dimension": "dimension", "source": "image_source", "type": "question_type"}
_SOURCES = {
    # Names begin with that of the dataset: AADB, PARA, TAD66K, LITE (Unsplash), Impressions, SPAQ, KonIQ-10k.
    "natural": re.compile(r"(aadb|para|tad66k|lite|impression|spaq|koniq)_", re.IGNORECASE),
    # DiffusionDB names its images by version-4 UUIDs, the AGIQA datasets by the generator. "fuchun" is neither, but is
    # the only image left that can complete Table 1's number of generated images.
    "AI-generated": re.compile(
        r"[0-9a-f]{8}[-_][0-9a-f]{4}[-_]4[0-9a-f]{3}[-_][89ab][0-9a-f]{3}[-_][0-9a-f]{12}\.\w+$"
        r"|(attngan|dalle2|deepai|dreamstudio|glide|midjourney|sd1\.5|xl2\.2)_|fuchun\d",
        re.IGNORECASE,
    ),
    # BAID (also plain numbers), CAD (also "44296041_77.jpg"), ArtEmis (also WikiArt's "artist-name_title.jpg").
    "artistic": re.compile(r"(baid|artemis|cad)_|\d+(_\d+)?\.jpg$|[a-z][a-z.-]*_[a-z].*\.jpg$"),
}


def image_source(name: str) -> str:
    """The source of an image, read from its name; "" if that is not certain.

    For the release's 2,800 names, this gives 1,246 natural, 802 artistic and 752 AI-generated images, as in the paper's
    Table 1.

    Examples:
        >>> image_source("baid_131430.jpg"), image_source("midjourney_normal_231.jpg"), image_source("55168.png")
        ('artistic', 'AI-generated', '')
    """
    return next((source for source, pattern in _SOURCES.items() if pattern.match(name)), "")


def comparable(text: str) -> str:
    """Return an option or answer for comparison: without case, outer blanks and a final full stop."""
    return clean_text(text).rstrip(".").casefold()


def question_type(question: str, options: list[str]) -> str:
    """The type of a question, read from its wording; "" if that is not certain.

    Examples:
        >>> question_type("Does the image look calm?", ["Yes", "No"]), question_type("Which is it?", ["Red", "Blue"])
        ('yes-or-no', '')
    """
    # One question of the release is in quotation marks.
    first = question.lstrip("\"'").partition(" ")[0].casefold()
    # Two questions of the release have "Yes" as their only option.
    yes_no = {comparable(option) for option in options if option} <= {"yes", "no"}
    if first in ("what", "how", "why"):
        return "" if yes_no else first
    return "yes-or-no" if yes_no else ""


def read_groups(path: str) -> dict[tuple[str, str], tuple[int, dict[str, str]]]:
    """Read the CSV file of groups.

    Args:
        path: A CSV file with the columns `COLUMNS`: an image's name, one of `PARTS` (or "AesA"), and the question's
            groups: one of the task's `DIMENSIONS`, of `SOURCES`, of `TYPES` (or "yes-no"). Case does not matter; an
            empty cell leaves a group as it is.

    Returns:
        By image and task: the row's number, and the groups by our column names.

    Raises:
        MissingFileError: The file is missing.
        BadAnnotationError: A column is missing, a value is not allowed, or two rows about one question disagree.
    """
    found: dict[tuple[str, str], tuple[int, dict[str, str]]] = {}
    for number, row in read_csv_rows(path, COLUMNS):
        if ROW_ERROR in row:
            raise BadAnnotationError(row[ROW_ERROR], path=path, row=number)
        image = clean_text(row["image"])
        task = _value("task", row["task"], _TASKS, path, number)
        if not image or not task:
            raise BadAnnotationError("columns 'image' and 'task' must not be empty", path=path, row=number)
        allowed = {
            "dimension": lookup(DIMENSIONS.get(task, ())),
            "source": _KNOWN["image_source"],
            "type": _KNOWN["question_type"],
        }
        cells = {column: _value(column, row[column], names, path, number, task) for column, names in allowed.items()}
        groups = {_OURS[column]: value for column, value in cells.items() if value}
        former = found.setdefault((image, task), (number, groups))
        if former[1] != groups:
            reason = f"row {former[0]} has other values for {task} of image {image!r}; delete one of the two rows"
            raise BadAnnotationError(reason, path=path, row=number)
    return found


def add_groups(rows: list[Row], part: str, path: str) -> None:
    """Add the groups of the user's file, if it exists, to rows under `_groups`.

    Args:
        rows: The rows of one part, with the image's name under `_name`.
        part: One of `PARTS`.
        path: As for `read_groups`.

    Raises:
        BadAnnotationError: As for `read_groups`, or the file names an image that is not in the release.
    """
    if not os.path.isfile(path):
        return
    groups = read_groups(path)
    names = {raw["_name"] for _, raw in rows if "_name" in raw}
    for (image, _), (number, _) in groups.items():
        if image not in names:
            close = difflib.get_close_matches(image, names, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else "."
            reason = f"image {image!r} is not in the release{hint} Correct the name, or delete the row"
            raise BadAnnotationError(reason, path=path, row=number)
    for _, raw in rows:
        if "_name" in raw:
            raw["_groups"] = raw.get("_groups", {}) | groups.get((raw["_name"], part), (0, {}))[1]


def read_question_table(path: str, *, images: bool) -> list[Row]:
    """Read one of VLMEvalKit's tables of AesBench.

    Args:
        path: The TSV.
        images: Whether to read the images.

    Returns:
        The rows of `read_table`, each also with `_name`, the image's name or the row's index; `part`, one of `PARTS`,
        or "" if unknown; and `_groups`, the groups read from its categories, by our column names.

    Raises:
        MissingFileError: The file is missing.
        BadAnnotationError: It cannot be read, or a column is missing.
    """
    unknown: set[str] = set()
    rows = read_table(path, images=images)
    for _, raw in rows:
        if ROW_ERROR not in raw:
            groups = _groups_of(raw["columns"], unknown)
            part = "AesA1" if raw["question"].casefold() == _ASSESSMENT else groups.get("part", "")
            groups.pop("part", None)
            raw |= {"_name": raw["name"], "part": part, "_groups": groups}
    warn_of_categories(path, unknown, "dimension")
    return rows


def _groups_of(columns: Mapping[str, str], unknown: set[str]) -> dict[str, str]:
    """A row's part and groups, as far as its columns show them."""
    numbered = _INDEX.match(columns["index"])
    # Other toolkits' columns of these names may have other meanings.
    hints = [columns.get(name, "") for name in ("split", "source", "type")]
    texts = [text for text in hints if any(plain(text) in names for names in _KNOWN.values())]
    texts += [columns.get(name, "") for name in ("task", "category", "l2-category", "dimension")]
    found = meanings([numbered[1] if numbered else "", *texts], _KNOWN, "dimension", unknown)
    implied = [part for part, names in DIMENSIONS.items() if found.get("dimension") in names]
    return {"part": implied[0], **found} if implied else found


def _value(column: str, cell: str, known: dict[str, str], path: str, number: int, task: str = "") -> str:
    """A cell's value by our name, or "" for an empty cell."""
    text = clean_text(cell)
    if text and plain(text) not in known:
        of_task = f" for task {task}" if task and column == "dimension" else ""
        listed = f"one of {', '.join(dict.fromkeys(known.values()))}" if known else ""
        allowed = listed if column == "task" else f"{listed}, or empty" if listed else "empty"
        raise BadAnnotationError(f"column {column!r} must be {allowed}{of_task}; found {text!r}", path=path, row=number)
    return known[plain(text)] if text else ""
