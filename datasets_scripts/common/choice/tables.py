"""Reading the tables of MMBench's releases, the form in which VLMEvalKit keeps all benchmarks.

VLMEvalKit (https://github.com/open-compass/VLMEvalKit) has one TSV for each split: `index`, `question`, the options in
`A`, `B` and so on, `answer` (a letter; missing or empty if answers are private), `image` (base64, or the index of the
row whose image to use) and, in some tables, `hint`, `category`, `l2-category`, `split`, `image_name` and others, whose
meaning depends on the benchmark. On the Hub, MMBench has Parquet files with the same columns.

An empty cell is also null, or "nan", which pandas writes for one. Every other text is kept, such as "NA", "null" or
"0"; a "nan" option is missing only if no option follows.
"""

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from string import ascii_uppercase
from typing import Any

from eyechart.datasets_scripts.common.choice.columns import checked_letter, clean_options
from eyechart.datasets_scripts.common.files.image_cells import ImageCell
from eyechart.datasets_scripts.common.files.parquet import read_parquet_rows
from eyechart.datasets_scripts.common.files.readers import ROW_ERROR, Row, clean_text, iterate_table

# Columns that may contain the name of a row's image.
_IMAGE_NAMES = ("image_name", "img_path", "image_path")


class CategoryWarning(UserWarning):
    """A table has unknown categories."""


@dataclass(frozen=True)
class _NoImage(ImageCell):
    """A cell that names no image."""

    problem: str

    def load(self) -> bytes:
        raise ValueError(self.problem)


def read_table(path: str, required: Sequence[str] = ("index", "question", "A"), *, images: bool = True) -> list[Row]:
    """Read a TSV or Parquet file.

    Returns:
        For each row: `index`; `name` (the image's name if the table has it, else the index); `question`, `hint`,
        `options`, `answer`, `category` and `l2_category`, "" if missing; the cell `image`; and `columns`, all texts.

    Raises:
        MissingFileError: The file is missing.
        BadAnnotationError: It cannot be read, or a column is missing.
    """
    if path.lower().endswith(".parquet"):
        rows = read_parquet_rows(path, list(required), ["image"])
    else:
        rows = list(iterate_table(path, required, delimiter="\t", image_columns=["image"], images=images))
    return [(number, raw if ROW_ERROR in raw else _fields(raw, images)) for number, raw in rows]


def _fields(raw: Mapping[str, Any], images: bool) -> dict[str, Any]:
    columns = {name: clean_text(value) for name, value in raw.items() if isinstance(value, str) and name != "image"}
    try:
        index, answer = _text(raw, "index"), _text(raw, "answer").upper()
        options = [_text(raw, letter, nan="nan") for letter in takewhile(raw.__contains__, ascii_uppercase)]
        while options and options[-1] in ("", "nan"):
            options.pop()
        return {
            "index": index,
            "name": next((columns[name] for name in _IMAGE_NAMES if columns.get(name) not in (None, "", "nan")), index),
            "question": _text(raw, "question"),
            "hint": _text(raw, "hint"),
            "options": options,
            "answer": "" if answer in ("NAN", "NONE") else answer,
            "category": _text(raw, "category"),
            "l2_category": _text(raw, "l2-category") or _text(raw, "L2-category"),
            "image": raw.get("image") if images else None,
            "columns": {name: "" if text == "nan" else text for name, text in columns.items()},
        }
    except ValueError as error:
        return {ROW_ERROR: str(error)}


def _text(raw: Mapping[str, Any], name: str, nan: str = "") -> str:
    value = raw.get(name)
    # pandas marks an empty cell with NaN.
    if value is None or value != value:
        return ""
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise ValueError(f"field {name!r} must be text, found {value!r}")
    text = clean_text(str(value))
    return nan if text == "nan" else text


def link_rows(raws: Iterable[dict[str, Any]]) -> None:
    """Replace each cell that names another row by that row's image, and mark all rows as private if no one answers."""
    good = [raw for raw in raws if ROW_ERROR not in raw]
    cells = {raw["index"]: raw["image"] for raw in reversed(good)}
    private = not any(raw["answer"] for raw in good)
    for raw in good:
        raw["private"] = private
        if isinstance(raw["image"], str):
            index = clean_text(raw["image"])
            image = cells.get(index)
            if not isinstance(image, ImageCell):
                image = _NoImage(f"the image cell names the row with index {index!r}, which has no image")
            raw["image"] = image if index else None


def question_columns(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The question, hint, options and answer of a row that `link_rows` has seen, checked.

    Raises:
        ValueError: There is no question or no option, or the answer is not the letter of an option.
    """
    if not raw["question"]:
        raise ValueError("field 'question' is empty")
    options = clean_options(raw["options"])
    answer = "" if raw["private"] else checked_letter(raw["answer"], options)
    return {"question": raw["question"], "hint": raw["hint"], "options": options, "answer": answer}


def plain(text: str) -> str:
    """Return a category without case, and with blanks for dashes, slashes and underscores.

    Examples:
        >>> plain("In-context_Distortion"), plain(" Yes-or-No")
        ('in context distortion', 'yes or no')
    """
    return re.sub(r"[\s_/-]+", " ", text.strip()).casefold()


def lookup(names: Iterable[str], spellings: Mapping[str, str] | None = None) -> dict[str, str]:
    """Map the plain form of each name, and of its other spellings, to the name.

    Examples:
        >>> lookup(["yes-or-no", "what"], {"yes-no": "yes-or-no"})
        {'yes or no': 'yes-or-no', 'what': 'what', 'yes no': 'yes-or-no'}
    """
    return {plain(name): name for name in names} | {plain(text): name for text, name in (spellings or {}).items()}


class Categories:
    """Sorts the categories in a table's cells into our columns.

    Examples:
        >>> categories = Categories("concern", question_type=lookup(["how"]), concern=lookup(["distortion"]))
        >>> categories.sort(["How_(distortion)"]), categories.sort(["lens distortion"])
        ({'question_type': 'how', 'concern': 'distortion'}, {'concern': 'lens distortion'})
    """

    def __init__(self, other: str, **known: Mapping[str, str]) -> None:
        """`known` has a `lookup` for each column; `other` is the column that keeps cells that are not understood."""
        self._other = other
        self._known = {name: (column, ours) for column, names in known.items() for name, ours in names.items()}
        self._name = "|".join(rf"\b{re.escape(name)}\b" for name in sorted(self._known, key=len, reverse=True))
        self._unknown: set[str] = set()

    def sort(self, texts: Iterable[str], hints: Iterable[str] = ()) -> dict[str, str]:
        """A row's values by column, without columns that have no category.

        Each text may contain several categories, such as "how, distortion"; one with other words, or with two
        categories of one column, is unknown. Hints are used only if they are one known category.
        """
        sorted_in: dict[str, str] = {}
        for text in [*(hint for hint in hints if plain(hint) in self._known), *filter(None, texts)]:
            names = re.findall(self._name, plain(text))
            values = dict(self._known[name] for name in names)
            if len(values) < len(names) or re.search(r"\w", re.sub(self._name, " ", plain(text))):
                self._unknown.add(text)
                sorted_in.setdefault(self._other, text)
            else:
                sorted_in |= values
        return sorted_in

    def warn(self, path: str) -> None:
        """Warn of the unknown categories that were met in a file."""
        listed = sorted(self._unknown)
        if listed:
            more = f" and {len(listed) - 8} more" if len(listed) > 8 else ""
            message = f"unknown categories {listed[:8]}{more}; they are kept unchanged in the column {self._other!r}"
            warnings.warn(f"{path}: {message}", CategoryWarning, stacklevel=2)
