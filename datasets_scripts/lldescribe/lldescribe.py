"""LLDescribe, the description part of Q-Bench: images to be described, and golden texts for those who have them.

Q-Bench: A Benchmark for General-Purpose Foundation Models on Low-level Vision, https://arxiv.org/abs/2309.14181,
Sec. 2.3. The one split, `test`, holds all images of the folder (499 in the release), in the order of their names. The
golden descriptions are private; without them `description` is empty in every row.

The images lie in `images_lldescribe/`, in `images/`, or in the folder itself, or are still in `images_lldescribe.tar`;
names are ids. Golden texts come from `descriptions.json` (a list of objects),
`descriptions.jsonl` (one object a line) or `descriptions.csv` (with a header) in `data_dir`, or from a file of these
kinds given as `data_files`. Of `NAME_KEYS` and of `TEXT_KEYS`, each row has exactly one; other keys are ignored.

A golden text of an image that is not there is a missing image. An image without a golden text stays, with an empty
description: it can be described, but is never scored.
"""

import os
from collections.abc import Sequence
from typing import Any

import datasets

from eyechart.datasets_scripts.common.builder import Annotation, BenchmarkBuilder
from eyechart.datasets_scripts.common.description import description_features
from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingFileError, UsageError
from eyechart.datasets_scripts.common.files.archives import image_folders
from eyechart.datasets_scripts.common.files.data_files import chosen_data_files
from eyechart.datasets_scripts.common.files.readers import (
    Row,
    clean_text,
    read_csv_rows,
    read_json_rows,
    read_jsonl_rows,
    text_field,
)
from eyechart.datasets_scripts.common.left_out import LeftOut
from eyechart.datasets_scripts.common.paths import is_image, release_folder

NAME_KEYS = ("img_path", "image", "id")
"""Keys of an image's name in a file of golden texts."""
TEXT_KEYS = ("description", "golden_description", "text")
"""Keys of the golden text."""
GOLDEN_FILES = ("descriptions.json", "descriptions.jsonl", "descriptions.csv")
"""Files of golden texts that are looked for in `data_dir`."""
IMAGE_FOLDERS = ("images_lldescribe", "images", "")
"""Where the images may be; the first folder that holds one is taken."""
IMAGE_ARCHIVE = "images_lldescribe.tar"
_HUB = "https://huggingface.co/datasets/teowu/LLDescribe-QBench"
_HOW_TO_GET = (
    f"LLDescribe's images come from {_HUB} ({IMAGE_ARCHIVE}): put the archive, or the unpacked images, into a folder "
    "and give it as data_dir."
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


class LLDescribe(BenchmarkBuilder):
    """Loads LLDescribe's images, with golden texts where there are any, from a folder or from the Hub."""

    SPLITS = ("test",)

    def _info(self) -> datasets.DatasetInfo:
        return datasets.DatasetInfo(
            description="Images to be described in their low-level appearance, the description part of Q-Bench.",
            features=description_features(),
            homepage=_HUB,
            license="cc-by-nc-sa-4.0",
            citation=_CITATION,
        )

    def _annotations(self, dl_manager: datasets.DownloadManager) -> list[Annotation]:
        chosen = chosen_data_files(self.config, (".json", ".jsonl", ".csv"))
        golden = [] if chosen is None else [file for part in chosen.values() for file in part]
        if self.config.data_dir is not None:
            data_dir = release_folder(self.config.data_dir)
            golden = golden or _golden_files(data_dir)
        else:
            data_dir = os.path.dirname(golden[0]) if golden else self._download(dl_manager)
        # Unpacked also where no image is to be loaded: without golden texts, their names are all there is.
        folders = image_folders(data_dir, IMAGE_FOLDERS, [IMAGE_ARCHIVE], self._unpacked_folder)
        folder = next((folder for folder in folders if _image_names(folder)), None)
        if folder is None and not golden:
            raise MissingFileError(f"the folder holds no image. {_HOW_TO_GET}", path=data_dir)
        return [Annotation("test", tuple(golden) or (folder or data_dir,), (folder or data_dir,))]

    def _download(self, dl_manager: datasets.DownloadManager) -> str:
        if dl_manager.is_streaming:
            raise UsageError(f"streaming needs data_dir: the release's images are one archive. {_HOW_TO_GET}")
        return self._unpack(self._fetch(dl_manager, f"{_HUB}/resolve/main/{IMAGE_ARCHIVE}", _HOW_TO_GET))

    def _read(self, path: str) -> list[Row]:
        if os.path.isdir(path):
            return [(number, {"image": name}) for number, name in enumerate(_image_names(path), 1)]
        if path.lower().endswith(".csv"):
            return read_csv_rows(path, [])
        return read_jsonl_rows(path) if path.lower().endswith(".jsonl") else read_json_rows(path)

    def _example(self, raw: dict[str, Any], *, annotation: Annotation, path: str, number: int) -> dict[str, Any]:
        name = text_field(raw, _only_key(raw, NAME_KEYS, path, number), path=path, number=number)
        text = ""
        if path not in annotation.image_folders:
            text = text_field(raw, _only_key(raw, TEXT_KEYS, path, number), path=path, number=number, empty=True)
        return {"id": name, "image": name, "description": text, "level": None}

    def _parse(self, annotation: Annotation, left_out: LeftOut) -> list[dict[str, Any]]:
        described = super()._parse(annotation, left_out)
        if annotation.files == annotation.image_folders:
            return described
        known = {example["id"] for example in described}
        folder = annotation.image_folders
        plain = super()._parse(Annotation(annotation.split, folder, folder), left_out)
        rest = [example for example in plain if example["id"] not in known]
        return sorted(described + rest, key=lambda example: example["id"])


def _golden_files(data_dir: str) -> list[str]:
    present = [name for name in GOLDEN_FILES if os.path.isfile(os.path.join(data_dir, name))]
    if len(present) > 1:
        raise UsageError(f"{data_dir} holds {' and '.join(present)}; say which with data_files=...")
    return [os.path.join(data_dir, name) for name in present]


def _only_key(raw: dict[str, Any], keys: Sequence[str], path: str, number: int) -> str:
    found = [key for key in keys if key in raw]
    if len(found) != 1:
        raise BadAnnotationError(
            f"expected one of {', '.join(keys)}; found {found or list(raw)}", path=path, row=number
        )
    return found[0]


def _image_names(folder: str) -> list[str]:
    """Return the names of the images in a folder, in order; hidden files, which some archives hold, are none."""
    if not os.path.isdir(folder):
        return []
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries if is_image(entry.name) and entry.is_file()]
    return sorted(clean_text(name) for name in names if not name.startswith("."))
