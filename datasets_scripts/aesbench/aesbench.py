"""AesBench: questions on the aesthetics of 2,800 images, and interpretations of them.

AesBench: An Expert Benchmark for Multimodal Large Language Models on Image Aesthetics Perception,
https://arxiv.org/abs/2401.08276. Configurations, one question each on every image: `perception` (AesP), `empathy`
(AesE) and `assessment` (AesA) are multiple choice, `interpretation` (AesI) asks for a text. The one split is `test`.

The release is an archive with a password: give the unpacked folder. `AesBench_evaluation.json` maps an image's name,
which is the row's id, to its parts `AesP`, `AesE`, `AesA1` and `AesI`, also seen as `AesP_data` and so on. A part has
a `Question`; `Options`, one string with a line `A) ...` for each option; and, for those who have it, an `Answer`: a
letter, an option (`B) No`, `No`), or the text of an interpretation. Where no row of a part has one, answers are
private and empty; where some have, a row without is an error.

`released_options` keeps the one string as it is, as the released prompts show it; some of its options lack the blank
behind the bracket.

What the release does not tell is told only where it is certain, and is "" elsewhere:

- `question_type`, from the wording: "yes-or-no" where the options are yes and no, else the question's first word where
  it is what, how or why;
- `image_source`, from the image's name, which often says from which data set of the paper's Table 1 it is;
- `dimension` is "" in every row.

The question of `interpretation` states the true aesthetic level, which its `level` repeats. It must never be shown
before the question of `assessment` on the same image has been answered, nor in the same conversation.
"""

import os
import re
from string import ascii_uppercase
from typing import Any
from typing import ClassVar

import datasets

from eyechart.datasets_scripts.common.builder import Annotation
from eyechart.datasets_scripts.common.builder import BenchmarkBuilder
from eyechart.datasets_scripts.common.builder import BenchmarkConfig
from eyechart.datasets_scripts.common.data_files import chosen_data_files
from eyechart.datasets_scripts.common.description import description_features
from eyechart.datasets_scripts.common.errors import BadAnnotationError
from eyechart.datasets_scripts.common.errors import MissingFileError
from eyechart.datasets_scripts.common.multiple_choice import checked_letter
from eyechart.datasets_scripts.common.multiple_choice import clean_options
from eyechart.datasets_scripts.common.multiple_choice import multiple_choice_features
from eyechart.datasets_scripts.common.paths import first_file
from eyechart.datasets_scripts.common.paths import release_folder
from eyechart.datasets_scripts.common.readers import ROW_ERROR
from eyechart.datasets_scripts.common.readers import Row
from eyechart.datasets_scripts.common.readers import clean_text
from eyechart.datasets_scripts.common.readers import read_json_object
from eyechart.datasets_scripts.common.readers import text_field

PARTS = {"perception": "AesP", "empathy": "AesE", "assessment": "AesA1", "interpretation": "AesI"}
"""The release's name of each configuration's part; "_data" may follow it."""
GROUPS = ("question_type", "dimension", "image_source")
ANNOTATION_FILES = ("AesBench_evaluation.json", "EAPD_release/AesBench_evaluation.json")
IMAGE_FOLDERS = ("images", "EAPD_release/images", "")
LEVELS = ("high", "medium", "low")
"""Aesthetic levels, the best first."""
_SOURCES = {
    # Names begin with the data set's: AADB, PARA, TAD66K, LITE (Unsplash), SPAQ, KonIQ-10k; BAID, ArtEmis.
    "natural": re.compile(r"(aadb|para|tad66k|lite|spaq|koniq)_", re.IGNORECASE),
    "artistic": re.compile(r"(baid|artemis)_", re.IGNORECASE),
    # DiffusionDB names its images by version-4 UUIDs, the AGIQA data sets by the generator.
    "AI-generated": re.compile(
        r"[0-9a-f]{8}[-_][0-9a-f]{4}[-_]4[0-9a-f]{3}[-_][89ab][0-9a-f]{3}[-_][0-9a-f]{12}\.\w+$"
        r"|(attngan|dalle2|deepai|dreamstudio|glide|midjourney|sd1\.5|xl2\.2)_",
        re.IGNORECASE,
    ),
}
_OPTION = re.compile(r"([A-Z])\)\s*(.*)")
_ANSWER = re.compile(r"([A-Z])(?:\)\s*(.*))?", re.IGNORECASE | re.DOTALL)
_LEVEL = re.compile(rf"\bwith ({'|'.join(LEVELS)}) aesthetics\b", re.IGNORECASE)
_HOME = "https://github.com/yipoh/AesBench"
_HOW_TO_GET = (
    "AesBench is an archive with a password, for non-commercial research and not for training: download "
    "EAPD_release.zip from https://huggingface.co/datasets/qyuan/EAPD_release (or Baidu or Google Drive, see "
    f"{_HOME}/tree/main/data_release), ask Yipo Huang (huangyipo@stu.xidian.edu.cn) for the password with your name, "
    "affiliation and purpose, unpack the archive, and give the folder that holds AesBench_evaluation.json and images/ "
    "as data_dir."
)
_CITATION = """\
@article{huang2024aesbench,
  title   = {{AesBench}: An Expert Benchmark for Multimodal Large Language Models on Image Aesthetics Perception},
  author  = {Huang, Yipo and Yuan, Quan and Sheng, Xiangfei and Yang, Zhichao and Wu, Haoning and
             Chen, Pengfei and Yang, Yuzhe and Li, Leida and Lin, Weisi},
  journal = {arXiv preprint arXiv:2401.08276},
  year    = {2024}
}
"""


class AesBench(BenchmarkBuilder):
    """Loads one part of AesBench from the unpacked release."""

    BUILDER_CONFIGS: ClassVar[list[BenchmarkConfig]] = [BenchmarkConfig(name=name) for name in PARTS]
    DEFAULT_CONFIG_NAME = "perception"
    SPLITS = ("test",)

    def _info(self) -> datasets.DatasetInfo:
        text = self.config.name == "interpretation"
        return datasets.DatasetInfo(
            description="Questions on the aesthetics of images, with the answers for those who have them.",
            features=_interpretation_features() if text else _choice_features(),
            homepage=_HOME,
            license="cc-by-nc-4.0",
            citation=_CITATION,
        )

    def _annotations(self, dl_manager: datasets.DownloadManager) -> list[Annotation]:
        chosen = chosen_data_files(self.config, (".json",))
        data_dir = None if self.config.data_dir is None else release_folder(self.config.data_dir)
        if chosen is not None:
            files = tuple(file for part in chosen.values() for file in part)
            return [Annotation("test", files, _image_folders(data_dir or os.path.dirname(files[0])))]
        if data_dir is None:
            raise MissingFileError(f"subset {self.name!r} needs data_dir. {_HOW_TO_GET}")
        file = first_file(data_dir, ANNOTATION_FILES)
        if file is None:
            raise MissingFileError(f"the folder holds no {ANNOTATION_FILES[0]}. {_HOW_TO_GET}", path=data_dir)
        return [Annotation("test", (file,), _image_folders(data_dir))]

    def _read(self, path: str) -> list[Row]:
        part = PARTS[self.config.name]
        rows = [(number, _part(name, entry, part)) for number, (name, entry) in enumerate(_entries(path), 1)]
        private = not any(raw.get("Answer") for _, raw in rows)
        for _, raw in rows:
            raw["_private"] = private
        return rows

    def _example(self, raw: dict[str, Any], *, annotation: Annotation, path: str, number: int) -> dict[str, Any]:
        parse = _interpretation if self.config.name == "interpretation" else _multiple_choice
        try:
            return parse(raw, path, number)
        except BadAnnotationError as error:
            # A reader finds an image's name in the file more easily than its place.
            raise BadAnnotationError(f"image {raw['_name']!r}: {error.reason}", path=path, row=number) from error


def _choice_features() -> datasets.Features:
    return datasets.Features({**multiple_choice_features(GROUPS), "released_options": datasets.Value("string")})


def _interpretation_features() -> datasets.Features:
    return datasets.Features({**description_features(), "question": datasets.Value("string")})


def _image_folders(data_dir: str) -> tuple[str, ...]:
    return tuple(os.path.join(data_dir, *folder.split("/")) for folder in IMAGE_FOLDERS)


def _entries(path: str) -> list[tuple[str, Any]]:
    return [(clean_text(name), entry) for name, entry in read_json_object(path).items()]


def _part(name: str, entry: Any, part: str) -> dict[str, Any]:
    """Return one part of an image's entry with the image's name, or a `ROW_ERROR`."""
    found = [key for key in (part, f"{part}_data") if isinstance(entry, dict) and key in entry]
    if len(found) != 1 or not isinstance(entry[found[0]], dict):
        return {ROW_ERROR: f"image {name!r}: expected an object under either {part!r} or '{part}_data'"}
    return {**entry[found[0]], "_name": name}


def _multiple_choice(raw: dict[str, Any], path: str, number: int) -> dict[str, Any]:
    question = text_field(raw, "Question", path=path, number=number)
    options = clean_options(_options(raw, path, number), path=path, number=number)
    return {
        "id": raw["_name"],
        "question_id": raw["_name"],
        "rotation": 0,
        "images": [raw["_name"]],
        "question": question,
        "hint": "",
        "options": options,
        "answer": "" if raw["_private"] else _letter(raw, options, path, number),
        "question_type": question_type(question, options),
        "dimension": "",
        "image_source": image_source(raw["_name"]),
        "released_options": raw["Options"],
    }


def answered_question(name: str, entry: Any, part: str) -> dict[str, Any] | None:
    """One multiple-choice question with its answer, as a row without images.

    Args:
        name: The image's name.
        entry: What the annotation file holds of the image.
        part: "AesP", "AesE" or "AesA1".

    Returns:
        The row; None where the entry has no such question, or no answer that is one of its options.
    """
    raw = _part(name, entry, part)
    try:
        return None if ROW_ERROR in raw else _multiple_choice({**raw, "_private": False}, "", 0)
    except BadAnnotationError:
        return None


def interpretation_text(name: str, entry: Any) -> str | None:
    """The golden text of an image's interpretation; None where the entry has none.

    Args:
        name: The image's name.
        entry: What the annotation file holds of the image.
    """
    text = _part(name, entry, PARTS["interpretation"]).get("Answer")
    return text if isinstance(text, str) else None


def _interpretation(raw: dict[str, Any], path: str, number: int) -> dict[str, Any]:
    question = text_field(raw, "Question", path=path, number=number)
    level = _LEVEL.search(question)
    if level is None:
        raise BadAnnotationError(f"the question names no aesthetic level: {question!r}", path=path, row=number)
    return {
        "id": raw["_name"],
        "image": raw["_name"],
        "description": "" if raw["_private"] else text_field(raw, "Answer", path=path, number=number),
        "level": level[1].lower(),
        "question": question,
    }


def _options(raw: dict[str, Any], path: str, number: int) -> list[str]:
    """Split the one string of options; a blank after the bracket may be missing."""
    lines = [line.strip() for line in text_field(raw, "Options", path=path, number=number).splitlines()]
    matches = [_OPTION.fullmatch(line) for line in lines if line]
    letters = [match[1] for match in matches if match is not None]
    if None in matches or letters != list(ascii_uppercase[: len(letters)]):
        raise BadAnnotationError(f"expected lines A) ..., B) ..., found {raw['Options']!r}", path=path, row=number)
    return [match[2] for match in matches if match is not None]


def _letter(raw: dict[str, Any], options: list[str], path: str, number: int) -> str:
    """Return the letter of an answer that is a letter, an option's text, or both."""
    answer = text_field(raw, "Answer", path=path, number=number)
    texts = [_comparable(option) for option in options]
    labelled = _ANSWER.fullmatch(answer)
    if labelled is None:
        if _comparable(answer) not in texts:
            raise BadAnnotationError(f"answer {answer!r} is none of the options {options}", path=path, row=number)
        return ascii_uppercase[texts.index(_comparable(answer))]
    letter = checked_letter(labelled[1], options, path=path, number=number)
    if labelled[2] and _comparable(labelled[2]) != texts[ascii_uppercase.index(letter)]:
        raise BadAnnotationError(f"answer {answer!r} is none of the options {options}", path=path, row=number)
    return letter


def _comparable(text: str) -> str:
    return clean_text(text).rstrip(".").casefold()


def question_type(question: str, options: list[str]) -> str:
    """Tell a question's type from its wording; "" where that is not certain.

    Examples:
        >>> question_type("Does the image look calm?", ["Yes", "No"]), question_type("Which is it?", ["Red", "Blue"])
        ('yes-or-no', '')
    """
    first = question.split(maxsplit=1)[0].casefold()
    yes_no = {_comparable(option) for option in options} == {"yes", "no"}
    if first in ("what", "how", "why"):
        return "" if yes_no else first
    return "yes-or-no" if yes_no else ""


def image_source(name: str) -> str:
    """Tell from an image's name what kind of picture it is; "" where that is not certain.

    Examples:
        >>> image_source("baid_131430.jpg"), image_source("midjourney_normal_231.jpg"), image_source("55168.jpg")
        ('artistic', 'AI-generated', '')
    """
    return next((source for source, pattern in _SOURCES.items() if pattern.match(name)), "")
