"""AesBench: questions on the aesthetics of 2,800 images, and interpretations of them.

AesBench: An Expert Benchmark for Multimodal Large Language Models on Image Aesthetics Perception,
https://arxiv.org/abs/2401.08276. Each configuration has one question on every image: `perception` (AesP), `empathy`
(AesE) and `assessment` (AesA) are multiple choice, `interpretation` (AesI) asks for a text. The only split is `test`.

The release is an archive with a password: pass the unpacked folder. `AesBench_evaluation.json` maps an image's name,
which is the row's id, to its parts `AesP`, `AesE`, `AesA1` and `AesI` (in some copies `AesP_data` and so on). A part
has a `Question`; `Options`, one string with a line `A) ...` for each option, kept as `released_options`; and, in some
copies, an `Answer`: a letter, an option (`B) No`, `No`), or the text of an interpretation. If no row of a part has one,
the answers are private; if only some rows have one, a row without is an error. Three questions of the release have a
second option without a text, or with the letter of the first option: an option's letter is its position.

VLMEvalKit's tables of the multiple-choice parts need no password. `AesBench_TEST.tsv`, which is downloaded without
`data_dir`, has the questions without answers. `AesBench_VAL.tsv`, which VLMEvalKit calls a toy version, has answers; it
is read as `test` if it is named or is the only file in the folder. The part of a row is read from its category, from
its index, or from the question of `assessment`, which is always the same; a row with none of these is an error.

The release does not have the groups: `question_type` is read from the wording, `image_source` from the image's name, ""
if that is not certain; `dimension` is "".

The question of `interpretation` states the true aesthetic level, which is also its `level`. It must never be shown
before the question of `assessment` on the same image has been answered, nor in the same conversation.
"""

import os
import re
import warnings
from string import ascii_uppercase
from typing import Any

import datasets

from eyechart.datasets_scripts.common.builder import Annotation, BenchmarkBuilder
from eyechart.datasets_scripts.common.choice.aesthetics import (
    PARTS,
    add_table_groups,
    comparable,
    image_source,
    question_type,
)
from eyechart.datasets_scripts.common.choice.columns import description_features, multiple_choice_features
from eyechart.datasets_scripts.common.choice.tables import link_rows, question_columns, read_table
from eyechart.datasets_scripts.common.errors import PASS_FOLDER, BadAnnotationError, MissingFileError, numbered_steps
from eyechart.datasets_scripts.common.files.downloads import check_md5
from eyechart.datasets_scripts.common.files.readers import ROW_ERROR, Row, clean_text, read_json_object, text_field
from eyechart.datasets_scripts.common.paths import first_file

ANNOTATION_FILES = ("AesBench_evaluation.json", "EAPD_release/AesBench_evaluation.json")
TABLES = ("AesBench_TEST.tsv", "AesBench_VAL.tsv")
"""VLMEvalKit's tables, the complete one first."""
_CHECKSUM = "58b1f7ba2cc32e1d68896d6ee716bbf8"
IMAGE_FOLDERS = ("images", "EAPD_release/images", "")
LEVELS = ("high", "medium", "low")
"""Aesthetic levels, the best first."""
# A second label in a line is not text of the option, but the next option without its line break.
_OPTION = re.compile(r"([A-Z])\)\s*((?:(?!\s[A-Z]\)).)*)")
_ANSWER = re.compile(r"([A-Z])(?:\)\s*(.*))?", re.IGNORECASE | re.DOTALL)
_LEVEL = re.compile(rf"\bwith ({'|'.join(LEVELS)}) aesthetics\b", re.IGNORECASE)
_HOME = "https://github.com/yipoh/AesBench"
_TABLES_HOME = "https://huggingface.co/datasets/VLMEval/AesBench/resolve/main/"
_HOW_TO_GET = numbered_steps(
    "To get AesBench (for non-commercial research, not for training)",
    "Download EAPD_release.zip from https://huggingface.co/datasets/qyuan/EAPD_release (or from Baidu or Google Drive, "
    f"see {_HOME}/tree/main/data_release)",
    "Ask Yipo Huang (huangyipo@stu.xidian.edu.cn) for the password; state your name, affiliation and purpose",
    "Unpack the archive to a folder with AesBench_evaluation.json and images/",
    PASS_FOLDER,
    otherwise=numbered_steps(
        "Without a password, for perception, empathy and assessment only",
        f"Download {' (no answers) or '.join(_TABLES_HOME + name for name in TABLES)} (a small part, with answers) to "
        "a folder",
        PASS_FOLDER,
    ),
)


class AesBench(BenchmarkBuilder):
    """Loads one part of AesBench from the unpacked release, or from VLMEvalKit's tables."""

    @property
    def _is_text(self) -> bool:
        return bool(self.config.name == "interpretation")

    def _about(self) -> tuple[datasets.Features, str, str]:
        features = multiple_choice_features(("question_type", "dimension", "image_source", "released_options"))
        if self._is_text:
            features = datasets.Features({**description_features(), "question": datasets.Value("string")})
        return features, _HOME, "cc-by-nc-4.0"

    def by_hand(self) -> str:
        """How to get `interpretation`, which only the archive with a password contains."""
        return _HOW_TO_GET if self._is_text else ""

    def _annotations(self, dl_manager: datasets.DownloadManager) -> list[Annotation]:
        chosen, folder = self._given(".json", ".tsv")
        if folder is None:
            return [Annotation("test", (self._downloaded(dl_manager),), ())]
        files = tuple(file for part in chosen.values() for file in part) if chosen else (_release_file(folder),)
        return [Annotation("test", files, tuple(os.path.join(folder, *name.split("/")) for name in IMAGE_FOLDERS))]

    def _downloaded(self, dl_manager: datasets.DownloadManager) -> str:
        if self._is_text:
            reason = f"dataset {self.name!r}, config 'interpretation', needs data_dir: it cannot be downloaded"
            raise MissingFileError(f"{reason}\n{_HOW_TO_GET}")
        path = self._fetch(dl_manager, _TABLES_HOME + TABLES[0], _HOW_TO_GET)
        check_md5(path, _CHECKSUM, _TABLES_HOME + TABLES[0])
        return path

    def _read(self, path: str) -> list[Row]:
        if path.lower().endswith(".json"):
            entries = read_json_object(path).items()
            rows = [(number, _part(*entry, PARTS[self.config.name])) for number, entry in enumerate(entries, 1)]
            private = not any(raw.get("Answer") for _, raw in rows)
            for _, raw in rows:
                raw["private"] = private
        elif self._is_text:
            reason = f"VLMEvalKit's tables have no interpretations; use the release\n{_HOW_TO_GET}"
            raise BadAnnotationError(reason, path=path)
        else:
            rows = read_table(path, images=self.config.images == "load")
            link_rows(raw for _, raw in rows)
            add_table_groups(rows, path)
        return rows

    def _example(self, raw: dict[str, Any], *, annotation: Annotation, path: str, number: int) -> dict[str, Any] | None:
        name, private = raw["name"], raw["private"]
        if "columns" in raw:
            return self._table_example(raw)
        try:
            question = text_field(raw, "Question", path=path, number=number)
            if not self._is_text:
                labelled = _options(text_field(raw, "Options", path=path, number=number))
                answer = "" if private else _letter(text_field(raw, "Answer", path=path, number=number), labelled)
                columns = {"question": question, "options": [option for _, option in labelled], "answer": answer}
                return _row(raw, columns | {"images": [name], "hint": "", "released_options": raw["Options"]})
            level = _LEVEL.search(question)
            if level is None:
                raise ValueError(f"no aesthetic level ({', '.join(LEVELS)}) in the question {question!r}")
            text = "" if private else text_field(raw, "Answer", path=path, number=number)
            return {"id": name, "image": name, "description": text, "level": level[1].lower(), "question": question}
        except (BadAnnotationError, ValueError) as error:
            # In the file, an image's name is easier to find than its row.
            raise ValueError(f"image {name!r}: {getattr(error, 'reason', error)}") from error

    def _table_example(self, raw: dict[str, Any]) -> dict[str, Any] | None:
        part = PARTS[self.config.name]
        if not raw["part"] and part != "AesA1":
            raise ValueError(
                f"unknown part: neither index {raw['index']!r} nor a category shows whether this question belongs to "
                f"AesP or AesE; found columns: {', '.join(raw['columns'])}. Add a column 'task' with AesP, AesE or "
                "AesA1 to the file"
            )
        if raw["part"] != part:
            return None
        return _row(raw, question_columns(raw) | {"images": [raw["image"]], "released_options": ""})


def _release_file(data_dir: str) -> str:
    file = first_file(data_dir, (*ANNOTATION_FILES, *TABLES))
    if file is None:
        wanted = ", ".join((ANNOTATION_FILES[0], *TABLES))
        raise MissingFileError(f"no annotation file; expected one of: {wanted}\n{_HOW_TO_GET}", path=data_dir)
    if os.path.basename(file) == "AesBench_VAL.tsv":
        message = f"{file} is VLMEvalKit's toy version of AesBench: it has less than 5 % of the questions"
        warnings.warn(message, stacklevel=2)
    return file


def _part(name: str, entry: Any, part: str) -> dict[str, Any]:
    """Return one part of an image's entry with the image's name, or a `ROW_ERROR`."""
    name = clean_text(name)
    found = [key for key in (part, f"{part}_data") if isinstance(entry, dict) and key in entry]
    if len(found) != 1 or not isinstance(entry[found[0]], dict):
        return {ROW_ERROR: f"image {name!r}: expected an object under either {part!r} or '{part}_data'", "name": name}
    return {**entry[found[0]], "name": name}


def _row(raw: dict[str, Any], columns: dict[str, Any]) -> dict[str, Any]:
    """A row of multiple choice; the groups that are not given are read from wording and name."""
    groups = {
        "question_type": question_type(columns["question"], columns["options"]),
        "dimension": "",
        "image_source": image_source(raw["name"]),
    }
    return {"id": raw["name"], "question_id": raw["name"], "rotation": 0} | columns | groups | raw.get("_groups", {})


def _options(text: str) -> list[tuple[str, str]]:
    """Split the string of options into letters and texts; the blank after the bracket may be missing."""
    matches = [_OPTION.fullmatch(line.strip()) for line in text.splitlines() if line.strip()]
    labelled = [(match[1], match[2]) for match in matches if match is not None]
    # The release has a question with "A) Yes" and "A) No"; but a letter that is skipped means a missing option.
    if None in matches or any(letter > place for (letter, _), place in zip(labelled, ascii_uppercase, strict=False)):
        raise ValueError(f"options must be lines 'A) ...', 'B) ...', found {text!r}")
    if not any(option for _, option in labelled) or len(labelled) > len(ascii_uppercase):
        raise ValueError(f"expected 1 to 26 options, found {text!r}")
    return labelled


def _letter(answer: str, labelled: list[tuple[str, str]]) -> str:
    """Return the letter, by position, of an answer that is a letter, an option's text, or both."""
    match = _ANSWER.fullmatch(answer)
    letter, text = (match[1].upper(), match[2] or "") if match else ("", answer)
    places = [
        place
        for place, (label, option) in enumerate(labelled)
        if letter in ("", label) and comparable(text) in ("", comparable(option))
    ]
    if not places or (letter and len(places) > 1):
        what = "matches several" if places else "is not one"
        options = [f"{label}) {option}" for label, option in labelled]
        raise ValueError(f"answer {answer!r} {what} of the options {options}")
    return ascii_uppercase[places[0]]
