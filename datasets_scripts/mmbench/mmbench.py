"""MMBench and CCBench: multiple-choice questions on twenty abilities, with images of many kinds.

MMBench: Is Your Multi-modal Model an All-around Player?, https://arxiv.org/abs/2307.06281. 2,948 questions (dev 1,164,
test 1,784) with 2 to 4 options, one correct. Configurations: `en` and `cn` (English and Chinese), `en_v11` and
`cn_v11` (version 1.1, the version of the published paper), `cc` (CCBench, on Chinese culture: `dev` only).

The test answers of `en` and `cn` are private. Those of `en_v11` and `cn_v11` are public: the submission server closed
on 31 March 2026, on 10 April the maintainers called the test splits of version 1.1 released
(https://github.com/open-compass/MMBench/issues/61), and since 18 June 2026 VLMEvalKit lists the checksums of the files
with answers, at the same addresses. In earlier files without answers, the answers are read as private.

Layouts that are read:

- the release: one TSV for each configuration and split, see `FILES`. `image` is base64; a cell of at most 64 characters
  is the index of the row whose image to use;
- Parquet with the same columns, where `image` may be decoded and `l2-category` may be spelt `L2-category`, as on the
  Hub in `lmms-lab-encoder/MMBench` (`lmms-lab/MMBench` until July 2026) and `HuggingFaceM4/MMBench`:
  `<split>*.parquet` in the folder, in `<config>/` or in `data/`. CCBench's Parquet split is called `test` there, and
  `dev` here.

A row is a question in its first pass. `passes` has the release's own passes of the question in order: `index`,
`rotation` (the number of the pass), `question`, `hint`, `options` and `answer`; see `rotations` in `common/choice`. It
is empty if a split has only first passes. The release's passes are used unchanged: they may not be rotations, their
number may differ from that of the options, and options may repeat. The image is that of the first pass. `question_id`
is the first pass's index (or its `g_index`, if there is one), and a row's id is `<split>-<question_id>`.

A question is bad, and `skip_bad` leaves it out, if an index appears twice with different contents, the first pass is
missing, a pass's answer is not one of its options, or a row of the file cannot be read and the question has fewer
passes than rotating options.

Downloaded files are compared with their published checksums, and an unknown checksum is a warning; files in `data_dir`
are not compared.

A missing option or hint is an empty or null cell, or "nan", which pandas writes for one. Every other text is kept, such
as "None", "NA", "null" or "0"; a "nan" option is missing only if no option follows.
"""

import os
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import datasets

from eyechart.datasets_scripts.common.builder import Annotation, BenchmarkBuilder, BenchmarkConfig
from eyechart.datasets_scripts.common.choice.abilities import ABILITIES, CCBENCH_CATEGORIES, find_ability
from eyechart.datasets_scripts.common.choice.columns import checked_letter, clean_options, multiple_choice_features
from eyechart.datasets_scripts.common.choice.rotations import Pass, are_whole, numbered_passes
from eyechart.datasets_scripts.common.choice.vlmevalkit import cell_text, row_image, row_options
from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingFileError, UsageError
from eyechart.datasets_scripts.common.files.checksums import ChecksumWarning, check_md5
from eyechart.datasets_scripts.common.files.data_files import chosen_data_files, files_by_split, split_parquet_files
from eyechart.datasets_scripts.common.files.image_cells import load_image
from eyechart.datasets_scripts.common.files.parquet import read_parquet_rows
from eyechart.datasets_scripts.common.files.readers import ROW_ERROR, Row
from eyechart.datasets_scripts.common.files.tsv import read_tsv_rows
from eyechart.datasets_scripts.common.instructions import PASS_FOLDER, numbered_steps
from eyechart.datasets_scripts.common.paths import first_file, release_folder

FILES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "en": {
        "dev": (
            *("MMBench_DEV_EN.tsv", "mmbench_dev_en_20231003.tsv"),
            *("mmbench_dev_20230712.tsv", "MMBench_DEV_EN_20230712.tsv"),
        ),
        "test": ("MMBench_TEST_EN.tsv", "mmbench_test_en_20231003.tsv", "mmbench_test_20230712.tsv"),
    },
    "cn": {
        "dev": ("MMBench_DEV_CN.tsv", "mmbench_dev_cn_20231003.tsv"),
        "test": ("MMBench_TEST_CN.tsv", "mmbench_test_cn_20231003.tsv"),
    },
    "en_v11": {"dev": ("MMBench_DEV_EN_V11.tsv",), "test": ("MMBench_TEST_EN_V11.tsv",)},
    "cn_v11": {"dev": ("MMBench_DEV_CN_V11.tsv",), "test": ("MMBench_TEST_CN_V11.tsv",)},
    "cc": {"dev": ("CCBench.tsv", "ccbench_20231003.tsv")},
}
"""Names of the TSVs by configuration and split: the current one first, then those of earlier releases."""
COLUMNS = ("index", "question", "A", "B", "C", "D", "category")
"""Columns that every file has in addition to `image`; `hint`, `answer` and `l2-category` are optional."""
_SERVER = "https://opencompass.openxlab.space/utils"
# Folder of each file, and its checksums as VLMEvalKit publishes them, the current one first.
_DOWNLOADS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "MMBench_DEV_EN.tsv": (f"{_SERVER}/benchmarks/MMBench/", ("b6caf1133a01c6bb705cf753bb527ed8",)),
    "MMBench_TEST_EN.tsv": (f"{_SERVER}/benchmarks/MMBench/", ("6939fadb0ce626fefc0bdc9c64efc528",)),
    "MMBench_DEV_CN.tsv": (f"{_SERVER}/benchmarks/MMBench/", ("08b8fc3324a5ed74155350f57be69fbd",)),
    "MMBench_TEST_CN.tsv": (f"{_SERVER}/benchmarks/MMBench/", ("7e1239baf0ee4c8b513e19705a0f317e",)),
    "MMBench_DEV_EN_V11.tsv": (f"{_SERVER}/benchmarks/MMBench/", ("30c05be8f2f347a50be25aa067248184",)),
    # Of version 1.1's tests, the second checksum is that of the earlier file, without answers.
    "MMBench_TEST_EN_V11.tsv": (
        f"{_SERVER}/benchmarks/MMBench/",
        ("8d1a704e791df6f5d9fb3ef782b65365", "26f0f15381a21720255091d3e0316ce6"),
    ),
    "MMBench_DEV_CN_V11.tsv": (f"{_SERVER}/benchmarks/MMBench/", ("593f9b5f6bea453d870a798b34ae4f37",)),
    "MMBench_TEST_CN_V11.tsv": (
        f"{_SERVER}/benchmarks/MMBench/",
        ("156e6569f9547afb16603eca16e85373", "74bbe4556dac745613c7cbe5ad787050"),
    ),
    "CCBench.tsv": (f"{_SERVER}/VLMEval/", ("f5dde47f24dc5a6fb6e595b409b466ac",)),
}
_HOMEPAGE = "https://github.com/open-compass/MMBench"
_CITATION = """\
@inproceedings{liu2024mmbench,
  title     = {{MMBench}: Is Your Multi-modal Model an All-around Player?},
  author    = {Liu, Yuan and Duan, Haodong and Zhang, Yuanhan and Li, Bo and Zhang, Songyang and
               Zhao, Wangbo and Yuan, Yike and Wang, Jiaqi and He, Conghui and Liu, Ziwei and
               Chen, Kai and Lin, Dahua},
  booktitle = {European Conference on Computer Vision},
  year      = {2024}
}
"""


class MMBench(BenchmarkBuilder):
    """Loads MMBench from its TSVs, from their Parquet forms on the Hub, or from the official server."""

    BUILDER_CONFIGS: ClassVar[list[BenchmarkConfig]] = [BenchmarkConfig(name=name) for name in FILES]
    DEFAULT_CONFIG_NAME = "en"
    SPLITS = ("dev", "test")

    def _info(self) -> datasets.DatasetInfo:
        return datasets.DatasetInfo(
            description="Multiple-choice questions on the perception and reasoning abilities of multimodal models.",
            features=_features(),
            homepage=_HOMEPAGE,
            license="apache-2.0",
            citation=_CITATION,
        )

    def _annotations(self, dl_manager: datasets.DownloadManager) -> list[Annotation]:
        files = FILES[self.config.name]
        chosen = chosen_data_files(self.config, (".tsv", ".parquet"))
        if chosen is not None and len(files) > 1:
            found = files_by_split(chosen, tuple(files))
        elif chosen is not None:
            found = {split: [path for paths in chosen.values() for path in paths] for split in files}
        elif self.config.data_dir is not None:
            found = self._found_in(release_folder(self.config.data_dir))
        else:
            found = self._downloaded(dl_manager)
        return [Annotation(split, tuple(paths), ()) for split, paths in found.items()]

    def _found_in(self, data_dir: str) -> dict[str, list[str]]:
        files = FILES[self.config.name]
        folders = (data_dir, os.path.join(data_dir, self.config.name), os.path.join(data_dir, "data"))
        found: dict[str, list[str]] = {}
        for split, names in files.items():
            table = first_file(data_dir, names)
            shards = [table] if table else split_parquet_files(folders, split)
            if not shards and len(files) == 1:
                shards = split_parquet_files(folders, "test")
            if shards:
                found[split] = shards
        if not found:
            wanted = ", ".join(f"{names[0]}, {split}*.parquet" for split, names in files.items())
            reason = f"no annotation file; expected one or more of: {wanted}\n{self._how_to_get()}"
            raise MissingFileError(reason, path=data_dir)
        return found

    def _downloaded(self, dl_manager: datasets.DownloadManager) -> dict[str, list[str]]:
        if dl_manager.is_streaming:
            raise UsageError(f"streaming needs data_dir: rows use images of other rows\n{self._how_to_get()}")
        found = {}
        for split, names in FILES[self.config.name].items():
            if not self.config.only_splits or split in self.config.only_splits:
                folder, checksums = _DOWNLOADS[names[0]]
                path = self._fetch(dl_manager, folder + names[0], self._how_to_get())
                if check_md5(path, checksums, folder + names[0]) in checksums[1:]:
                    self._warn_of_earlier_file(path, folder + names[0])
                found[split] = [path]
        return found

    def _warn_of_earlier_file(self, path: str, url: str) -> None:
        message = (
            f"{path} is the earlier version of {url}, without answers; the current version has answers. To get it, "
            f"delete this file and the prepared data in {self.output_folder}."
        )
        warnings.warn(message, ChecksumWarning, stacklevel=2)

    def _how_to_get(self) -> str:
        urls = [_DOWNLOADS[names[0]][0] + names[0] for names in FILES[self.config.name].values()]
        is_on_hub = not self.config.name.endswith("v11")
        hub = (
            ", or the same data as Parquet from https://huggingface.co/datasets/lmms-lab-encoder/MMBench "
            "(before July 2026: lmms-lab/MMBench)"
        )
        return numbered_steps(
            f"To get config {self.config.name!r} of MMBench by hand",
            f"Download {' and '.join(urls)}{hub if is_on_hub else ''}",
            "Put the downloaded files into one folder",
            PASS_FOLDER,
        )

    def _read(self, path: str) -> list[Row]:
        if path.lower().endswith(".parquet"):
            rows = read_parquet_rows(path, list(COLUMNS), ["image"])
        else:
            rows = read_tsv_rows(path, COLUMNS, images=self.config.images == "load")
        return [(number, raw if ROW_ERROR in raw else _fields(raw)) for number, raw in rows]

    def _rows(self, annotation: Annotation) -> Iterator[tuple[str, int, dict[str, Any]]]:
        """The first pass of each question, with all of its passes; rows that cannot be read are passed on."""
        rows: dict[int, tuple[str, int, dict[str, Any]]] = {}
        doubtful: set[int] = set()
        is_damaged = False
        for path, number, raw in super()._rows(annotation):
            if ROW_ERROR in raw:
                is_damaged = True
                yield path, number, raw
                continue
            shown: Pass = raw["pass"]
            _, there, earlier = rows.setdefault(shown.index, (path, number, raw))
            if earlier is not raw and _contents(earlier) != _contents(raw):
                doubtful.add(shown.question_id)
                reason = f"duplicate index {shown.index}: row {there} has the same index, but other contents"
                yield path, number, {ROW_ERROR: reason}
        questions = numbered_passes(raw["pass"] for _, _, raw in rows.values())
        images = {str(index): raw["image"] for index, (_, _, raw) in rows.items()}
        private = not any(raw["pass"].answer for _, _, raw in rows.values())
        has_images = self.config.images == "load"
        holds_passes = any(len(passes) > 1 for passes in questions.values())
        for question, passes in questions.items():
            path, number, raw = rows[passes[min(passes)].index]
            if question in doubtful:
                continue
            if 0 not in passes:
                reason = f"question {question} has no first pass; this is pass {min(passes)}"
                yield path, number, {ROW_ERROR: reason}
                continue
            if is_damaged and holds_passes and not are_whole(passes):
                reason = f"a pass of question {question} may be missing, because a row of the file cannot be read"
                yield path, number, {ROW_ERROR: reason}
                continue
            try:
                image = row_image(str(raw["pass"].index), raw["image"], images) if has_images else None
            except ValueError as error:
                yield path, number, {ROW_ERROR: str(error)}
                continue
            shown_in = [(*rows[item.index][:2], turn, item) for turn, item in passes.items()]
            facts = {"image": image, "private": private, "holds_passes": holds_passes}
            yield path, number, {**raw, **facts, "passes": shown_in}

    def _example(self, raw: dict[str, Any], *, annotation: Annotation, path: str, number: int) -> dict[str, Any]:
        passes = [_pass(item, turn, raw["private"], file, row) for file, row, turn, item in raw["passes"]]
        try:
            table = CCBENCH_CATEGORIES if self.config.name == "cc" else ABILITIES
            ability = find_ability(raw["category"], raw["l2_category"] if table is ABILITIES else "", table)
        except ValueError as error:
            raise BadAnnotationError(str(error), path=path, row=number) from error
        first = passes[0]
        question_id = raw["pass"].question_id
        return {
            "id": f"{annotation.split}-{question_id}",
            "question_id": str(question_id),
            "rotation": 0,
            "images": [raw["image"]],
            "question": first["question"],
            "hint": first["hint"],
            "options": first["options"],
            "answer": first["answer"],
            "passes": passes if raw["holds_passes"] else [],
            "category": ability.category,
            "l2_category": ability.l2_category,
            "l1_category": ability.l1_category,
        }


def _features() -> datasets.Features:
    text = datasets.Value("string")
    shown = {"index": datasets.Value("int64"), "rotation": datasets.Value("int32"), "question": text, "hint": text}
    shown |= {"options": datasets.Sequence(text), "answer": text}
    # A list of structs, not a `Sequence` of them, which would be a struct of lists.
    return datasets.Features(
        {**multiple_choice_features(["category", "l2_category", "l1_category"]), "passes": [shown]}
    )


def _pass(shown: Pass, turn: int, private: bool, path: str, number: int) -> dict[str, Any]:
    """Return a pass as an entry of the column `passes`.

    Raises:
        BadAnnotationError: It has no question or no option, or its answer is not the letter of an option.
    """
    if not shown.question:
        raise BadAnnotationError("field 'question' is empty", path=path, row=number)
    options = clean_options(list(shown.options), path=path, number=number)
    return {
        "index": shown.index,
        "rotation": turn,
        "question": shown.question,
        "hint": shown.hint,
        "options": options,
        "answer": "" if private else checked_letter(shown.answer, options, path=path, number=number),
    }


def _fields(raw: dict[str, Any]) -> dict[str, Any]:
    """Return a row's fields, the same for all layouts, or a `ROW_ERROR`."""
    try:
        index, group = _whole_number(raw, "index"), _whole_number(raw, "g_index")
        if index is None:
            raise ValueError("field 'index' is empty")
        answer = cell_text(raw, "answer").upper()
        return {
            "pass": Pass(
                index=index,
                question=cell_text(raw, "question"),
                hint=cell_text(raw, "hint"),
                options=tuple(row_options(raw)),
                answer="" if answer in ("NAN", "NONE") else answer,
                group=group,
            ),
            "category": cell_text(raw, "category"),
            "l2_category": cell_text(raw, "l2-category") or cell_text(raw, "L2-category"),
            "image": raw.get("image"),
        }
    except ValueError as error:
        return {ROW_ERROR: str(error)}


def _contents(raw: Mapping[str, Any]) -> tuple[Any, ...]:
    """The contents that two rows with the same index must share."""
    image = load_image(raw["image"])
    return raw["pass"], raw["category"], raw["l2_category"], image


def _whole_number(raw: Mapping[str, Any], name: str) -> int | None:
    text = cell_text(raw, name)
    if text and not (text.isascii() and text.isdecimal()):
        raise ValueError(f"field {name!r} must be a whole number, found {raw[name]!r}")
    return int(text) if text else None
