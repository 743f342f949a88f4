"""Reading the question sets of Q-Bench (single images and pairs) in three forms: the release, Parquet and TSV.

The release has a JSON list or JSON Lines per split and an archive of images. The form on the Hub is Parquet in the
folder or in its `data/`, with the columns `PARQUET_COLUMNS`; missing options are "N/A". VLMEvalKit's form is one table
per split (see `common/choice/tables.py`): type and concern are read from its columns of these names, or from its
categories. An unknown category is kept in `concern`, and a warning names it.

The release has no ids. A row's id is `<split>-<image name>`, for a pair `<split>-<first>_cat_<second>`; further
questions on the same images of the same split get `-2`, `-3`, ... in file order. Parquet rows, and rows of a table
without image names, keep their own id with the split as prefix. Options keep the release's order, which is already
shuffled; a few questions list an option twice or have a single option. The correct option is the one with the row's
letter, or if the row has only a text, the first option with that text. If no row of a file has an answer, the answers
are private.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_uppercase
from typing import Any, ClassVar

import datasets

from eyechart.datasets_scripts.common.builder import Annotation, BenchmarkBuilder
from eyechart.datasets_scripts.common.choice.columns import (
    checked_letter,
    clean_options,
    letter_of_text,
    multiple_choice_features,
)
from eyechart.datasets_scripts.common.choice.tables import Categories, link_rows, lookup, question_columns, read_table
from eyechart.datasets_scripts.common.errors import PASS_FOLDER, numbered_steps
from eyechart.datasets_scripts.common.files.data_files import files_by_split, release_files
from eyechart.datasets_scripts.common.files.parquet import read_parquet_rows
from eyechart.datasets_scripts.common.files.readers import (
    ROW_ERROR,
    Row,
    clean_text,
    code_field,
    iterate_jsonl_rows,
    read_json_rows,
    text_field,
)

QUESTION_TYPES = ("yes-or-no", "what", "how")
"""Meaning of `type`, in code order (checked on the release: 550, 452 and 493 questions in LLVisionQA's dev)."""
PARQUET_COLUMNS = ("id", "question", "question_type", "question_concern", "option0", "option1", "correct_choice")
"""Columns of the Parquet form in addition to the images; `option2` and `option3` are optional."""
# Columns of a table that may contain the codes, or their meanings.
_CODES = (("question_type", "type"), ("question_concern", "concern"))


@dataclass(frozen=True)
class QuestionSet:
    """One set of questions: where it is published, and how its files differ from those of the other set."""

    title: str
    hub: str
    license: str
    files: Mapping[str, str]
    """Annotation file of each split."""
    image_archive: str
    image_folders: tuple[str, ...]
    """Folders that may contain the images, relative to the annotation files' folder; "" is the folder itself."""
    image_columns: tuple[str, ...]
    """Image columns of the Parquet form."""
    image_names: Callable[[str], Sequence[str]]
    """Returns the names of the images from the field `img_path`, or raises ValueError."""
    concerns: tuple[str, ...]
    """Meaning of `concern`, in code order."""
    tables: Mapping[str, str] = field(default_factory=dict)
    """VLMEvalKit's table of each split, if there is one."""

    @property
    def how_to_get(self) -> str:
        """Steps to get the set by hand: what to download, from where, and where to put it."""
        files = ", ".join([self.image_archive, *self.files.values()])
        download = f"Download these files from {self.hub}: {files}"
        return numbered_steps(f"To get {self.title} by hand", download, "Put them into one folder", PASS_FOLDER)


class QuestionBuilder(BenchmarkBuilder):
    """Base of the scripts of question sets."""

    SPLITS = ("dev", "test")
    QUESTION_SETS: ClassVar[Mapping[str, QuestionSet]]
    """The question set that each configuration reads."""
    GROUPS: ClassVar[tuple[str, ...]] = ("question_type", "concern")

    @property
    def _questions(self) -> QuestionSet:
        return self.QUESTION_SETS[self.config.name]

    def _about(self) -> tuple[datasets.Features, str, str]:
        return multiple_choice_features(self.GROUPS), self._questions.hub, self._questions.license

    def _annotations(self, dl_manager: datasets.DownloadManager) -> list[Annotation]:
        questions = self._questions
        chosen, data_dir = self._given(".json", ".jsonl", ".parquet", *([".tsv"] if questions.tables else []))
        if chosen is not None:
            files = files_by_split(chosen, self.SPLITS)
        elif data_dir:
            names = {split: [file] for split, file in questions.files.items()}
            for split, table in questions.tables.items():
                names[split].append(table)
            files = release_files(data_dir, names, ("", "data"), questions.how_to_get)
        else:
            files = {split: [self._official(dl_manager, file)] for split, file in questions.files.items()}
            if self.config.images == "load":
                data_dir = self._unpack(self._official(dl_manager, questions.image_archive))
        folders = self._image_folders(data_dir or "", questions.image_folders, [questions.image_archive])
        return [Annotation(split, tuple(paths), folders) for split, paths in files.items()]

    def _official(self, dl_manager: datasets.DownloadManager, file: str) -> str:
        return self._fetch(dl_manager, f"{self._questions.hub}/resolve/main/{file}", self._questions.how_to_get)

    def _read(self, path: str) -> list[Row]:
        questions, suffix = self._questions, os.path.splitext(path)[1].lower()
        if suffix == ".parquet":
            rows = read_parquet_rows(path, list(PARQUET_COLUMNS), list(questions.image_columns))
            private = all(_is_pad(raw["correct_choice"]) for _, raw in rows)
            return [(number, raw | {"_key": clean_text(str(raw["id"])), "private": private}) for number, raw in rows]
        if suffix == ".tsv":
            rows = read_table(path, images=self.config.images == "load")
            link_rows(raw for _, raw in rows)
            self._sort_categories(rows, path)
        else:
            rows = list(iterate_jsonl_rows(path)) if suffix == ".jsonl" else read_json_rows(path)
            private = not any(raw.get(name) for _, raw in rows for name in ("correct_ans", "correct_choice"))
            rows = [(number, raw | {"private": private}) for number, raw in rows]
        asked: dict[str, list[str]] = {}
        for _, raw in rows:
            key, question = self._image_key(raw), clean_text(str(raw.get("question")))
            others = asked.setdefault(key, [])
            # A question repeated word for word gets the same id, so that the loader reports the duplicate; so does an
            # index, which rows cannot share, unlike an image.
            if question not in others:
                others.append(question)
            place = 0 if raw.get("index") == key else others.index(question)
            raw["_key"] = f"{key}-{place + 1}" if place else key
        return rows

    def _image_key(self, raw: dict[str, Any]) -> str:
        if "columns" in raw:
            return str(raw["name"])
        text = clean_text(str(raw.get("img_path")))
        try:
            return "_cat_".join(self._questions.image_names(text))
        except ValueError:
            # The error is reported when the row is parsed.
            return text

    def _sort_categories(self, rows: list[Row], path: str) -> None:
        """Add type and concern to the rows of a table, and warn of unknown categories."""
        concerns = self._questions.concerns
        categories = Categories(
            "concern",
            question_type=lookup(QUESTION_TYPES, {"yes-no": "yes-or-no"}),
            concern=lookup(concerns, {f"{concern}s": concern for concern in concerns}),
        )
        for _, raw in rows:
            if ROW_ERROR not in raw:
                texts = [raw["category"], raw["l2_category"]]
                for names, meanings in zip(_CODES, (QUESTION_TYPES, concerns), strict=True):
                    text = next((raw["columns"][name] for name in names if raw["columns"].get(name)), "")
                    texts.append(meanings[int(text)] if text.isdecimal() and int(text) < len(meanings) else text)
                raw["groups"] = {"question_type": "", "concern": ""} | categories.sort(texts)
        categories.warn(path)

    def _example(self, raw: dict[str, Any], *, annotation: Annotation, path: str, number: int) -> dict[str, Any]:
        row_id = f"{annotation.split}-{raw['_key']}"
        example = {"id": row_id, "question_id": row_id, "rotation": 0, "hint": ""}
        if "columns" in raw:
            return example | question_columns(raw) | {"images": [raw["image"]]} | raw["groups"]
        example["question"] = text_field(raw, "question", path=path, number=number)
        prefix, candidates = "", raw.get("candidates")
        if is_parquet := path.lower().endswith(".parquet"):
            if raw["id"] is None:
                raise ValueError("field 'id' is empty")
            prefix, candidates = "question_", [raw.get(f"option{index}") for index in range(4)]
            while candidates and _is_pad(candidates[-1]):
                candidates.pop()
        options = clean_options(candidates)
        if is_parquet:
            images = [raw[column] for column in self._questions.image_columns]
        else:
            images = list(self._questions.image_names(text_field(raw, "img_path", path=path, number=number)))
        return example | {
            "images": images,
            "options": options,
            "answer": "" if raw["private"] else _letter(raw, options, is_parquet),
            "question_type": code_field(raw, f"{prefix}type", QUESTION_TYPES, path=path, number=number),
            "concern": code_field(raw, f"{prefix}concern", self._questions.concerns, path=path, number=number),
        }


def _letter(raw: dict[str, Any], options: Sequence[str], is_parquet: bool) -> str:
    """The correct option's letter; the release gives the option's text, for pairs also the letter, as Parquet does."""
    if is_parquet:
        return checked_letter(raw["correct_choice"], options)
    letter = letter_of_text(raw.get("correct_ans"), options)
    if "correct_choice" not in raw:
        return letter
    choice = checked_letter(raw["correct_choice"], options)
    # Compared by text: if the correct option is listed twice, the letter may be that of the second one.
    if options[ascii_uppercase.index(choice)] != options[ascii_uppercase.index(letter)]:
        raise ValueError(
            f"'correct_ans' is option {letter}, but 'correct_choice' is option {choice} of {list(options)}"
        )
    return choice


def _is_pad(value: Any) -> bool:
    return value is None or clean_text(str(value)) in ("", "N/A")
