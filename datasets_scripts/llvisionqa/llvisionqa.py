"""LLVisionQA, the perception part of Q-Bench: multiple-choice questions about low-level vision.

Q-Bench: A Benchmark for General-Purpose Foundation Models on Low-level Vision, https://arxiv.org/abs/2309.14181,
Sec. 2.2. 1,495 questions each in `dev` and `test`, 2 to 4 options, one correct; the answers of `test` are private.

Layouts that are read:

- the release: `llvisionqa_dev.json` and `llvisionqa_test.json`, the images beside them or in one of `IMAGE_FOLDERS`;
- the Hub's Parquet form: `dev*.parquet` and `test*.parquet` in the folder or in its `data/`, with the columns of
  `PARQUET_COLUMNS`, where missing options are "N/A".

The JSON has no ids. A row's id is `<split>-<img_path>`; further questions on the same image of the same split get `-2`,
`-3`, ... in file order. Parquet rows keep their own id, prefixed in the same way. Options keep the release's order,
which is already shuffled.
"""

import glob
import os
from typing import Any

import datasets

from eyechart.datasets_scripts.common.builder import Annotation
from eyechart.datasets_scripts.common.builder import BenchmarkBuilder
from eyechart.datasets_scripts.common.data_files import chosen_data_files
from eyechart.datasets_scripts.common.errors import MissingFileError
from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.datasets_scripts.common.errors import unknown_name
from eyechart.datasets_scripts.common.multiple_choice import checked_letter
from eyechart.datasets_scripts.common.multiple_choice import clean_options
from eyechart.datasets_scripts.common.multiple_choice import letter_of_text
from eyechart.datasets_scripts.common.multiple_choice import multiple_choice_features
from eyechart.datasets_scripts.common.parquet import read_parquet_rows
from eyechart.datasets_scripts.common.paths import first_file
from eyechart.datasets_scripts.common.paths import release_folder
from eyechart.datasets_scripts.common.readers import Row
from eyechart.datasets_scripts.common.readers import clean_text
from eyechart.datasets_scripts.common.readers import code_field
from eyechart.datasets_scripts.common.readers import read_json_rows
from eyechart.datasets_scripts.common.readers import text_field

QUESTION_TYPES = ("yes-or-no", "what", "how")
"""Meaning of `type`, in code order (checked on the release: 550, 452 and 493 questions in dev)."""
CONCERNS = ("distortion", "other", "in-context distortion", "in-context other")
"""Meaning of `concern`, in code order."""
PARQUET_COLUMNS = ("id", "question", "question_type", "question_concern", "option0", "option1", "correct_choice")
"""Columns of the Parquet form besides `image`; `option2` and `option3` may follow."""
IMAGE_FOLDERS = ("", "images_llvisionqa", "images")
"""Where the images may be, relative to the JSON files' folder."""
_HUB = "https://huggingface.co/datasets/teowu/LLVisionQA-QBench"
_DOWNLOADS = {
    "dev": f"{_HUB}/resolve/main/llvisionqa_dev.json",
    "test": f"{_HUB}/resolve/main/llvisionqa_test.json",
    "images": f"{_HUB}/resolve/main/images_llvisionqa.tar",
}
_HOW_TO_GET = (
    f"LLVisionQA comes from {_HUB} (images_llvisionqa.tar, llvisionqa_dev.json, llvisionqa_test.json): unpack the "
    "images beside the JSON files and give their folder as data_dir."
)
_CITATION = """\
@inproceedings{wu2024qbench,
  title     = {Q-Bench: A Benchmark for General-Purpose Foundation Models on Low-level Vision},
  author    = {Wu, Haoning and Zhang, Zicheng and Zhang, Erli and Chen, Chaofeng and Liao, Liang and
               Wang, Annan and Li, Chunyi and Sun, Wenxiu and Yan, Qiong and Zhai, Guangtao and
               Lin, Weisi},
  booktitle = {International Conference on Learning Representations},
  year      = {2024}
}
"""


class LLVisionQA(BenchmarkBuilder):
    """Loads LLVisionQA from its release, from its Parquet form, or from the Hub."""

    SPLITS = ("dev", "test")

    def _info(self) -> datasets.DatasetInfo:
        return datasets.DatasetInfo(
            description="Multiple-choice questions on low-level vision, the perception part of Q-Bench.",
            features=multiple_choice_features(["question_type", "concern"]),
            homepage=_HUB,
            license="cc-by-nc-sa-4.0",
            citation=_CITATION,
        )

    def _annotations(self, dl_manager: datasets.DownloadManager) -> list[Annotation]:
        chosen = chosen_data_files(self.config, (".json", ".parquet"))
        data_dir = None if self.config.data_dir is None else release_folder(self.config.data_dir)
        if chosen is not None:
            return _chosen_annotations(chosen, data_dir)
        if data_dir is not None:
            return _release_annotations(data_dir)
        if dl_manager.is_streaming:
            raise UsageError(f"streaming needs data_dir: the release's images are one archive. {_HOW_TO_GET}")
        wanted = _DOWNLOADS if self.config.images == "load" else {split: _DOWNLOADS[split] for split in self.SPLITS}
        paths = dl_manager.download_and_extract(wanted)
        folders = _image_folders(paths["images"]) if "images" in paths else ()
        return [Annotation(split, (paths[split],), folders) for split in self.SPLITS]

    def _read(self, path: str) -> list[Row]:
        if _is_parquet(path):
            rows = read_parquet_rows(path, list(PARQUET_COLUMNS), ["image"])
            _mark(
                rows,
                [_text_of(raw["id"]) for _, raw in rows],
                private=all(_is_pad(r["correct_choice"]) for _, r in rows),
            )
        else:
            rows = read_json_rows(path)
            _mark(rows, _keys(rows), private=not any("correct_ans" in raw for _, raw in rows))
        return rows

    def _example(self, raw: dict[str, Any], *, annotation: Annotation, path: str, number: int) -> dict[str, Any]:
        fields = _parquet_fields if _is_parquet(path) else _json_fields
        row_id = f"{annotation.split}-{raw['_key']}"
        example = {"id": row_id, "question_id": row_id, "rotation": 0, "hint": ""}
        return example | {"question": text_field(raw, "question", path=path, number=number)} | fields(raw, path, number)


def _json_fields(raw: dict[str, Any], path: str, number: int) -> dict[str, Any]:
    options = clean_options(raw.get("candidates"), path=path, number=number)
    answer = "" if raw["_private"] else letter_of_text(raw.get("correct_ans"), options, path=path, number=number)
    return {
        "images": [text_field(raw, "img_path", path=path, number=number)],
        "options": options,
        "answer": answer,
        "question_type": code_field(raw, "type", QUESTION_TYPES, path=path, number=number),
        "concern": code_field(raw, "concern", CONCERNS, path=path, number=number),
    }


def _parquet_fields(raw: dict[str, Any], path: str, number: int) -> dict[str, Any]:
    padded = [raw.get(f"option{index}") for index in range(4)]
    while padded and _is_pad(padded[-1]):
        padded.pop()
    options = clean_options(padded, path=path, number=number)
    answer = "" if raw["_private"] else checked_letter(raw["correct_choice"], options, path=path, number=number)
    return {
        "images": [raw["image"]],
        "options": options,
        "answer": answer,
        "question_type": code_field(raw, "question_type", QUESTION_TYPES, path=path, number=number),
        "concern": code_field(raw, "question_concern", CONCERNS, path=path, number=number),
    }


def _mark(rows: list[Row], keys: list[str], *, private: bool) -> None:
    """Add to every row what only the whole file tells: its id within the split, and whether answers are private."""
    for (_, raw), key in zip(rows, keys, strict=True):
        raw.update({"_key": key, "_private": private})


def _keys(rows: list[Row]) -> list[str]:
    questions: dict[str, list[str]] = {}
    keys = []
    for _, raw in rows:
        image, question = _text_of(raw.get("img_path")), _text_of(raw.get("question"))
        asked = questions.setdefault(image, [])
        # A question that is repeated word for word gets the same id again, which the loader reports.
        if question not in asked:
            asked.append(question)
        place = asked.index(question) + 1
        keys.append(image if place == 1 else f"{image}-{place}")
    return keys


def _text_of(value: Any) -> str:
    return clean_text(str(value))


def _is_pad(value: Any) -> bool:
    return value is None or _text_of(value) in ("", "N/A")


def _is_parquet(path: str) -> bool:
    return path.lower().endswith(".parquet")


def _image_folders(folder: str) -> tuple[str, ...]:
    return tuple(os.path.join(folder, name) if name else folder for name in IMAGE_FOLDERS)


def _release_annotations(data_dir: str) -> list[Annotation]:
    annotations = []
    for split in LLVisionQA.SPLITS:
        file = first_file(data_dir, [f"llvisionqa_{split}.json"])
        files = [file] if file else _parquet_files(data_dir, split)
        if files:
            annotations.append(Annotation(split, tuple(files), _image_folders(data_dir)))
    if not annotations:
        wanted = "llvisionqa_dev.json, llvisionqa_test.json, dev*.parquet or test*.parquet"
        raise MissingFileError(f"the folder holds none of {wanted}. {_HOW_TO_GET}", path=data_dir)
    return annotations


def _parquet_files(data_dir: str, split: str) -> list[str]:
    folders = (data_dir, os.path.join(data_dir, "data"))
    found = (sorted(glob.glob(os.path.join(glob.escape(folder), f"{split}*.parquet"))) for folder in folders)
    return next(filter(None, found), [])


def _chosen_annotations(chosen: dict[str, list[str]], data_dir: str | None) -> list[Annotation]:
    files: dict[str, list[str]] = {}
    for key, paths in chosen.items():
        for path in paths:
            files.setdefault(_split_of(key, path), []).append(path)
    return [
        Annotation(split, tuple(paths), _image_folders(data_dir or os.path.dirname(paths[0])))
        for split, paths in files.items()
    ]


def _split_of(key: str, path: str) -> str:
    """Read a split from a key of `data_files`, or from the file's name where no split was named."""
    if key == "validation":
        return "dev"
    if key != "train":
        if key not in LLVisionQA.SPLITS:
            raise unknown_name("split in data_files", key, LLVisionQA.SPLITS)
        return key
    named = [split for split in LLVisionQA.SPLITS if split in os.path.basename(path)]
    if len(named) != 1:
        raise UsageError(f"which split is {path}? Say data_files={{'dev': ...}} or data_files={{'test': ...}}")
    return named[0]
