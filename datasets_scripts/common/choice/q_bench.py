"""Reading the question sets of Q-Bench (single images and pairs) in three forms: the release, Parquet and TSV.

The release has a JSON list or JSON Lines per split and an archive of images. If the folder has the archive but no
images, it is unpacked (see `common/files/archives.py`). The form on the Hub is Parquet: `dev*.parquet` and
`test*.parquet` in the folder or in its `data/`, with the columns `PARQUET_COLUMNS`; missing options are "N/A".
VLMEvalKit's form is one table per split (see `common/choice/vlmevalkit.py`): type and concern are read from its columns
of these names, or from its categories. An unknown category is kept in `concern`, and a warning names it.

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
from eyechart.datasets_scripts.common.choice.columns import checked_letter, clean_options, letter_of_text
from eyechart.datasets_scripts.common.choice.vlmevalkit import (
    SUFFIX,
    lookup,
    meanings,
    plain,
    read_table,
    warn_of_categories,
)
from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingFileError, UsageError
from eyechart.datasets_scripts.common.files.data_files import chosen_data_files, files_by_split, split_parquet_files
from eyechart.datasets_scripts.common.files.parquet import read_parquet_rows
from eyechart.datasets_scripts.common.files.readers import (
    ROW_ERROR,
    Row,
    clean_text,
    code_field,
    read_json_rows,
    read_jsonl_rows,
    text_field,
)
from eyechart.datasets_scripts.common.instructions import PASS_FOLDER, numbered_steps
from eyechart.datasets_scripts.common.paths import first_file, release_folder

QUESTION_TYPES = ("yes-or-no", "what", "how")
"""Meaning of `type`, in code order (checked on the release: 550, 452 and 493 questions in LLVisionQA's dev)."""
PARQUET_COLUMNS = ("id", "question", "question_type", "question_concern", "option0", "option1", "correct_choice")
"""Columns of the Parquet form in addition to the images; `option2` and `option3` are optional."""
SPLITS = ("dev", "test")
_CATEGORIES = ("category", "l2-category")
_CODES = (("question_type", ("question_type", "type")), ("concern", ("question_concern", "concern")))


@dataclass(frozen=True)
class QuestionSet:
    """One set of questions: where it is published, and how its files differ from those of the other set."""

    title: str
    """Its name in errors."""
    hub: str
    """Address of the official dataset on the Hub."""
    files: Mapping[str, str]
    """Annotation file of each split."""
    image_archive: str
    """Archive of the images."""
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

    def location(self, file: str) -> str:
        """Return the address of one of the official files."""
        return f"{self.hub}/resolve/main/{file}"


class QuestionBuilder(BenchmarkBuilder):
    """Base of the scripts of question sets."""

    SPLITS = SPLITS
    QUESTION_SETS: ClassVar[Mapping[str, QuestionSet]]
    """The question set that each configuration reads."""

    @property
    def _questions(self) -> QuestionSet:
        return self.QUESTION_SETS[self.config.name]

    def _annotations(self, dl_manager: datasets.DownloadManager) -> list[Annotation]:
        suffixes = (".json", ".jsonl", ".parquet", *([SUFFIX] if self._questions.tables else []))
        chosen = chosen_data_files(self.config, suffixes)
        data_dir = None if self.config.data_dir is None else release_folder(self.config.data_dir)
        if chosen is not None:
            files = files_by_split(chosen, SPLITS)
            return self._splits(files, data_dir or os.path.dirname(next(iter(files.values()))[0]))
        if data_dir is not None:
            return self._splits(self._release_files(data_dir), data_dir)
        return self._download(dl_manager)

    def _splits(self, files: Mapping[str, Sequence[str]], data_dir: str) -> list[Annotation]:
        questions = self._questions
        folders = self._image_folders(data_dir, questions.image_folders, [questions.image_archive])
        return [Annotation(split, tuple(paths), folders) for split, paths in files.items()]

    def _release_files(self, data_dir: str) -> dict[str, list[str]]:
        questions = self._questions
        files = {}
        for split in SPLITS:
            file = first_file(data_dir, [questions.files[split]])
            paths = [file] if file else split_parquet_files((data_dir, os.path.join(data_dir, "data")), split)
            table = first_file(data_dir, [questions.tables[split]] if split in questions.tables else [])
            if not paths and table is not None:
                paths = [table]
            if paths:
                files[split] = paths
        if not files:
            wanted = ", ".join([*questions.files.values(), *questions.tables.values(), "dev*.parquet, test*.parquet"])
            reason = f"no annotation file; expected one or more of: {wanted}\n{questions.how_to_get}"
            raise MissingFileError(reason, path=data_dir)
        return files

    def _download(self, dl_manager: datasets.DownloadManager) -> list[Annotation]:
        questions = self._questions
        if dl_manager.is_streaming:
            reason = "streaming needs data_dir: the images are in an archive, which must be unpacked"
            raise UsageError(f"{reason}\n{questions.how_to_get}")
        files = {split: self._official_file(dl_manager, file) for split, file in questions.files.items()}
        folders: tuple[str, ...] = ()
        if self.config.images == "load":
            unpacked = self._unpack(self._official_file(dl_manager, questions.image_archive))
            folders = self._image_folders(unpacked, questions.image_folders)
        return [Annotation(split, (files[split],), folders) for split in SPLITS]

    def _official_file(self, dl_manager: datasets.DownloadManager, file: str) -> str:
        return self._fetch(dl_manager, self._questions.location(file), self._questions.how_to_get)

    def _read(self, path: str) -> list[Row]:
        if _is_parquet(path):
            rows = read_parquet_rows(path, list(PARQUET_COLUMNS), list(self._questions.image_columns))
            private = all(_is_pad(raw["correct_choice"]) for _, raw in rows)
            return _marked(rows, [clean_text(str(raw["id"])) for _, raw in rows], private=private)
        if path.lower().endswith(SUFFIX):
            rows = read_table(path, images=self.config.images == "load")
            return _marked(_with_groups(rows, path, self._questions.concerns), self._keys(rows), private=False)
        rows = read_jsonl_rows(path) if path.lower().endswith(".jsonl") else read_json_rows(path)
        private = not any(raw.get(name) for _, raw in rows for name in ("correct_ans", "correct_choice"))
        return _marked(rows, self._keys(rows), private=private)

    def _keys(self, rows: list[Row]) -> list[str]:
        questions: dict[str, list[str]] = {}
        keys = []
        for _, raw in rows:
            key, question = self._image_key(raw), clean_text(str(raw.get("question")))
            asked = questions.setdefault(key, [])
            # A question repeated word for word gets the same id, so that the loader reports the duplicate.
            if question not in asked:
                asked.append(question)
            place = asked.index(question) + 1
            if raw.get("columns", {}).get("index") == key:
                # The key is the row's own index, not an image that rows could share; a duplicate is reported.
                place = 1
            keys.append(key if place == 1 else f"{key}-{place}")
        return keys

    def _image_key(self, raw: dict[str, Any]) -> str:
        if "columns" in raw:
            return str(raw["name"])
        text = clean_text(str(raw.get("img_path")))
        try:
            return "_cat_".join(self._questions.image_names(text))
        except ValueError:
            # The error is reported when the row is parsed.
            return text

    def _example(self, raw: dict[str, Any], *, annotation: Annotation, path: str, number: int) -> dict[str, Any]:
        fields = self._parquet_fields if _is_parquet(path) else self._release_fields
        if "columns" in raw:
            fields = _table_fields
        row_id = f"{annotation.split}-{raw['_key']}"
        example = {"id": row_id, "question_id": row_id, "rotation": 0, "hint": ""}
        return example | {"question": text_field(raw, "question", path=path, number=number)} | fields(raw, path, number)

    def _release_fields(self, raw: dict[str, Any], path: str, number: int) -> dict[str, Any]:
        options = clean_options(raw.get("candidates"), path=path, number=number)
        try:
            images = list(self._questions.image_names(text_field(raw, "img_path", path=path, number=number)))
        except ValueError as error:
            raise BadAnnotationError(f"field 'img_path': {error}", path=path, row=number) from error
        return {
            "images": images,
            "options": options,
            "answer": "" if raw["_private"] else _released_letter(raw, options, path, number),
            "question_type": code_field(raw, "type", QUESTION_TYPES, path=path, number=number),
            "concern": code_field(raw, "concern", self._questions.concerns, path=path, number=number),
        }

    def _parquet_fields(self, raw: dict[str, Any], path: str, number: int) -> dict[str, Any]:
        if raw["id"] is None:
            raise BadAnnotationError("field 'id' is empty", path=path, row=number)
        padded = [raw.get(f"option{index}") for index in range(4)]
        while padded and _is_pad(padded[-1]):
            padded.pop()
        options = clean_options(padded, path=path, number=number)
        return {
            "images": [raw[column] for column in self._questions.image_columns],
            "options": options,
            "answer": ""
            if raw["_private"]
            else checked_letter(raw["correct_choice"], options, path=path, number=number),
            "question_type": code_field(raw, "question_type", QUESTION_TYPES, path=path, number=number),
            "concern": code_field(raw, "question_concern", self._questions.concerns, path=path, number=number),
        }


def _released_letter(raw: dict[str, Any], options: Sequence[str], path: str, number: int) -> str:
    """Return the correct option's letter; the release gives the option's text, for pairs also its letter."""
    letter = letter_of_text(raw.get("correct_ans"), options, path=path, number=number)
    if "correct_choice" not in raw:
        return letter
    choice = checked_letter(raw["correct_choice"], options, path=path, number=number)
    # Compared by text: if the correct option is listed twice, the letter may be that of the second one.
    if options[ascii_uppercase.index(choice)] != options[ascii_uppercase.index(letter)]:
        reason = f"'correct_ans' is option {letter}, but 'correct_choice' is option {choice} of {list(options)}"
        raise BadAnnotationError(reason, path=path, row=number)
    return choice


def _with_groups(rows: list[Row], path: str, concerns: Sequence[str]) -> list[Row]:
    """Add type and concern to the rows of a table, and warn of unknown categories."""
    others = {f"{concern}s": concern for concern in concerns}
    known = {"question_type": lookup(QUESTION_TYPES, {"yes-no": "yes-or-no"}), "concern": lookup(concerns, others)}
    codes = {"question_type": QUESTION_TYPES, "concern": concerns}
    unknown: set[str] = set()
    for _, raw in rows:
        if ROW_ERROR in raw:
            continue
        columns = raw["columns"]
        raw["groups"] = meanings([columns.get(name, "") for name in _CATEGORIES], known, "concern", unknown)
        for column, names in _CODES:
            text = next((columns[name] for name in names if columns.get(name)), "")
            if text.isdecimal() and int(text) < len(codes[column]):
                raw["groups"][column] = codes[column][int(text)]
            elif plain(text) in known[column]:
                raw["groups"][column] = known[column][plain(text)]
            elif text:
                unknown.add(text)
    warn_of_categories(path, unknown, "concern")
    return rows


def _table_fields(raw: dict[str, Any], path: str, number: int) -> dict[str, Any]:
    options = clean_options(raw["options"], path=path, number=number)
    return {
        "images": [raw["image"]],
        "hint": raw["hint"],
        "options": options,
        "answer": "" if raw["private"] else checked_letter(raw["answer"], options, path=path, number=number),
        "question_type": raw["groups"].get("question_type", ""),
        "concern": raw["groups"].get("concern", ""),
    }


def _marked(rows: list[Row], keys: list[str], *, private: bool) -> list[Row]:
    """Add to every row its id within the split, and whether the file's answers are private."""
    return [(number, {**raw, "_key": key, "_private": private}) for (number, raw), key in zip(rows, keys, strict=True)]


def _is_pad(value: Any) -> bool:
    return value is None or clean_text(str(value)) in ("", "N/A")


def _is_parquet(path: str) -> bool:
    return path.lower().endswith(".parquet")
