"""LLDescribe, the description part of Q-Bench: images to describe, with golden texts if your copy has them.

Q-Bench: A Benchmark for General-Purpose Foundation Models on Low-level Vision, https://arxiv.org/abs/2309.14181,
Sec. 2.3. The only split, `test`, has all images of the folder (499 in the release), sorted by name. The golden
descriptions are private; without them `description` is empty in every row.

The images are in `images_lldescribe/`, in `images/`, in the folder itself, or in `images_lldescribe.tar`; their names
are the ids. Golden texts are read from `descriptions.json` (a list of objects), `descriptions.jsonl` (one object per
line) or `descriptions.csv` (with a header) in `data_dir`, or from such a file named with `data_files`. Each row has
exactly one of `NAME_KEYS` and one of `TEXT_KEYS`; other keys are ignored.

A golden text without its image is a missing image. An image without a golden text is kept, with an empty description:
a model can describe it, but the description is never scored.
"""

import os
from collections.abc import Iterable, Sequence
from typing import Any

import datasets

from eyechart.datasets_scripts.common.builder import Annotation, BenchmarkBuilder
from eyechart.datasets_scripts.common.choice.columns import description_features
from eyechart.datasets_scripts.common.errors import PASS_FOLDER, MissingFileError, UsageError, numbered_steps
from eyechart.datasets_scripts.common.files.archives import image_folders
from eyechart.datasets_scripts.common.files.readers import (
    Row,
    clean_text,
    iterate_jsonl_rows,
    iterate_table,
    read_json_rows,
    text_field,
)
from eyechart.datasets_scripts.common.left_out import LeftOut
from eyechart.datasets_scripts.common.paths import is_image

NAME_KEYS = ("img_path", "image", "id")
TEXT_KEYS = ("description", "golden_description", "text")
GOLDEN_FILES = ("descriptions.json", "descriptions.jsonl", "descriptions.csv")
IMAGE_FOLDERS = ("images_lldescribe", "images", "")
"""Folders that may contain the images; the first one with an image is used."""
IMAGE_ARCHIVE = "images_lldescribe.tar"
_HUB = "https://huggingface.co/datasets/teowu/LLDescribe-QBench"
_HOW_TO_GET = numbered_steps(
    "To get LLDescribe's images by hand",
    f"Download {IMAGE_ARCHIVE} from {_HUB}",
    "Put the archive, or the unpacked images, into a folder",
    PASS_FOLDER,
)


class LLDescribe(BenchmarkBuilder):
    """Loads LLDescribe's images, and golden texts if there are any, from a folder or from the Hub."""

    def _about(self) -> tuple[datasets.Features, str, str]:
        return description_features(), _HUB, "cc-by-nc-sa-4.0"

    def _annotations(self, dl_manager: datasets.DownloadManager) -> list[Annotation]:
        chosen, data_dir = self._given(".json", ".jsonl", ".csv")
        golden = [file for part in (chosen or {}).values() for file in part]
        if data_dir is None:
            data_dir = self._unpack(self._fetch(dl_manager, f"{_HUB}/resolve/main/{IMAGE_ARCHIVE}", _HOW_TO_GET))
        golden = golden or _golden_files(data_dir)
        # Unpacked even if no image is loaded: without golden texts, the images' names are the only annotations.
        folders = image_folders(data_dir, IMAGE_FOLDERS, [IMAGE_ARCHIVE], self._unpacked_folder)
        folder = next((folder for folder in folders if _image_names(folder)), None)
        if folder is None and not golden:
            raise MissingFileError(f"no image in this folder\n{_HOW_TO_GET}", path=data_dir)
        return [Annotation("test", tuple(golden) or (folder or data_dir,), (folder or data_dir,))]

    def _read(self, path: str) -> Iterable[Row]:
        if os.path.isdir(path):
            return [(number, {"image": name, "text": ""}) for number, name in enumerate(_image_names(path), 1)]
        if path.lower().endswith(".csv"):
            return iterate_table(path, [])
        return iterate_jsonl_rows(path) if path.lower().endswith(".jsonl") else read_json_rows(path)

    def _example(self, raw: dict[str, Any], *, annotation: Annotation, path: str, number: int) -> dict[str, Any]:
        name = text_field(raw, _only_key(raw, NAME_KEYS), path=path, number=number)
        text = text_field(raw, _only_key(raw, TEXT_KEYS), path=path, number=number, empty=True)
        return {"id": name, "image": name, "description": text, "level": None}

    def _parse(self, annotation: Annotation, left_out: LeftOut) -> list[dict[str, Any]]:
        described = super()._parse(annotation, left_out)
        if annotation.files == annotation.image_folders:
            return described
        known = {example["id"] for example in described}
        images = super()._parse(Annotation("test", annotation.image_folders, annotation.image_folders), left_out)
        return sorted(described + [one for one in images if one["id"] not in known], key=lambda example: example["id"])


def _golden_files(data_dir: str) -> list[str]:
    present = [name for name in GOLDEN_FILES if os.path.isfile(os.path.join(data_dir, name))]
    if len(present) > 1:
        raise UsageError(f"{data_dir} contains {' and '.join(present)}; choose one with data_files=...")
    return [os.path.join(data_dir, name) for name in present]


def _only_key(raw: dict[str, Any], keys: Sequence[str]) -> str:
    found = [key for key in keys if key in raw]
    if len(found) != 1:
        raise ValueError(f"expected exactly one of the fields {', '.join(keys)}; found {found or list(raw)}")
    return found[0]


def _image_names(folder: str) -> list[str]:
    """Return the sorted names of the images in a folder, without hidden files, which some archives contain."""
    if not os.path.isdir(folder):
        return []
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries if is_image(entry.name) and entry.is_file()]
    return sorted(clean_text(name) for name in names if not name.startswith("."))
