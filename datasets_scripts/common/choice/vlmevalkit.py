"""Reading the tables in which VLMEvalKit keeps benchmarks (https://github.com/open-compass/VLMEvalKit).

One TSV for each split: `index`, `question`, the options in `A`, `B` and so on, `answer` (a letter; missing or empty if
answers are private), `image` (base64, or the index of the row whose image to use) and, in some tables, `hint`,
`category`, `l2-category`, `split`, `image_name` and others, whose meaning depends on the benchmark.
"""

import re
import warnings
from collections.abc import Iterable, Mapping
from itertools import takewhile
from string import ascii_uppercase
from typing import Any

from eyechart.datasets_scripts.common.files.image_cells import ImageCell
from eyechart.datasets_scripts.common.files.readers import ROW_ERROR, Row, clean_text
from eyechart.datasets_scripts.common.files.tsv import read_tsv_rows

SUFFIX = ".tsv"
_NAMES = ("image_name", "img_path", "image_path")
"""Columns that may contain the name of a row's image."""


class CategoryWarning(UserWarning):
    """A table has unknown categories."""


def read_table(path: str, *, images: bool = True) -> list[Row]:
    """Read a table's rows.

    Args:
        path: The file.
        images: Whether to read the images.

    Returns:
        For each row: `name` (the image's name if the table has it, else the index), `question`, `hint`, `options`,
        `answer` ("" if missing), `image` (a `Base64Cell`, or None if missing), `private` (True if no row of the table
        has an answer), and `columns`, the texts of all columns by name.

    Raises:
        MissingFileError: The file is missing.
        BadAnnotationError: It cannot be read, or a column is missing.
    """
    rows = read_tsv_rows(path, ("index", "question", "A"), images=images)
    good = [raw for _, raw in rows if ROW_ERROR not in raw]
    cells = {clean_text(raw["index"]): raw.get("image") for raw in reversed(good)}
    private = not any(cell_text(raw, "answer") for raw in good)
    return [(number, raw if ROW_ERROR in raw else _fields(raw, cells, private)) for number, raw in rows]


def meanings(
    texts: Iterable[str], known: Mapping[str, Mapping[str, str]], column: str, unknown: set[str]
) -> dict[str, str]:
    """Sort a row's categories into our columns.

    Args:
        texts: Cells; each may contain several categories, such as "how, distortion".
        known: Our columns, each with a map from its categories, in the form of `plain`, to our names of them.
        column: The column that keeps an unknown cell: one with words that are not known categories, or with two
            categories of one column.
        unknown: Unknown cells are added to it.

    Returns:
        Values by column, without columns that have no category.

    Examples:
        >>> known = {"question_type": {"how": "how"}, "concern": {"distortion": "distortion"}}
        >>> meanings(["How_(distortion)"], known, "concern", set())
        {'question_type': 'how', 'concern': 'distortion'}
        >>> meanings(["lens distortion"], known, "concern", set())
        {'concern': 'lens distortion'}
    """
    columns = {name: place for place, names in known.items() for name in names}
    any_name = "|".join(rf"\b{re.escape(name)}\b" for name in sorted(columns, key=len, reverse=True))
    found: dict[str, str] = {}
    for text in filter(None, texts):
        names = re.findall(any_name, plain(text))
        named = {columns[name]: known[columns[name]][name] for name in names}
        if len(named) < len(names) or re.search(r"\w", re.sub(any_name, " ", plain(text))):
            unknown.add(text)
            found.setdefault(column, text)
        else:
            found |= named
    return found


def plain(text: str) -> str:
    """Return a category without case, and with blanks for dashes, slashes and underscores.

    Examples:
        >>> plain("In-context_Distortion"), plain(" Yes-or-No")
        ('in context distortion', 'yes or no')
    """
    return re.sub(r"[\s_/-]+", " ", text.strip()).casefold()


def lookup(names: Iterable[str], spellings: Mapping[str, str] | None = None) -> dict[str, str]:
    """Make a map for `meanings`: each name by its plain form, and by its other spellings.

    Examples:
        >>> lookup(["yes-or-no", "what"], {"yes-no": "yes-or-no"})
        {'yes or no': 'yes-or-no', 'what': 'what', 'yes no': 'yes-or-no'}
    """
    return {plain(name): name for name in names} | {plain(text): name for text, name in (spellings or {}).items()}


def warn_of_categories(path: str, unknown: Iterable[str], column: str) -> None:
    """Warn of a table's unknown categories, if there are any."""
    listed = sorted(unknown)
    if listed:
        more = f" and {len(listed) - 8} more" if len(listed) > 8 else ""
        message = f"{path}: unknown categories {listed[:8]}{more}; they are kept unchanged in the column {column!r}"
        warnings.warn(message, CategoryWarning, stacklevel=2)


def cell_text(raw: Mapping[str, Any], name: str) -> str:
    """Return a cell's text; "" if it is missing or empty, which pandas also writes as "nan".

    Raises:
        ValueError: The cell is neither text nor a whole number.
    """
    text = _option_text(raw, name)
    return "" if text == "nan" else text


def row_options(raw: Mapping[str, Any]) -> list[str]:
    """Return the options in a row's columns A, B and so on; "nan" is an option unless it comes after all others.

    Raises:
        ValueError: As for `cell_text`.
    """
    options = [_option_text(raw, letter) for letter in takewhile(raw.__contains__, ascii_uppercase)]
    while options and options[-1] in ("", "nan"):
        options.pop()
    return options


def row_image(index: str, cell: Any, cells: Mapping[str, Any]) -> ImageCell | None:
    """Return a row's image: its own cell, or the cell of the row that it names.

    Args:
        index: The row's index.
        cell: The cell of its image column.
        cells: The image cells of all rows, by index.

    Returns:
        The image, or None if it is missing.

    Raises:
        ValueError: The cell does not name another row with an image.
    """
    if not isinstance(cell, str):
        return cell
    reference = clean_text(cell)
    if not reference:
        return None
    target = cells.get(reference)
    if reference == index or not isinstance(target, ImageCell):
        raise ValueError(f"the image cell names the row with index {reference!r}, which has no image")
    return target


def _fields(raw: Mapping[str, Any], cells: Mapping[str, Any], private: bool) -> dict[str, Any]:
    columns = {name: cell_text(raw, name) for name in raw if name != "image"}
    index = columns["index"]
    try:
        image = row_image(index, raw.get("image"), cells)
    except ValueError as error:
        return {ROW_ERROR: str(error)}
    return {
        "name": next((columns[name] for name in _NAMES if columns.get(name)), index),
        "question": columns["question"],
        "hint": columns.get("hint", ""),
        "options": row_options(raw),
        "answer": columns.get("answer", ""),
        "image": image,
        "private": private,
        "columns": columns,
    }


def _option_text(raw: Mapping[str, Any], name: str) -> str:
    value = raw.get(name)
    # pandas marks an empty cell with NaN.
    if value is None or value != value:
        return ""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise ValueError(f"field {name!r} must be text, found {value!r}")
    return clean_text(value)
