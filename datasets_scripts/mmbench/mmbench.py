"""MMBench and CCBench: multiple-choice questions on twenty abilities, with images of many kinds.

MMBench: Is Your Multi-modal Model an All-around Player?, https://arxiv.org/abs/2307.06281. 2,948 questions (dev 1,164,
test 1,784) with 2 to 4 options, one correct. Configurations: `en` and `cn` (English and Chinese), `en_v11` and
`cn_v11` (version 1.1, the version of the published paper), `cc` (CCBench, on Chinese culture: `dev` only).

The test answers of `en` and `cn` are private. Those of `en_v11` and `cn_v11` are public: the submission server closed
on 31 March 2026, on 10 April the maintainers called the test splits of version 1.1 released
(https://github.com/open-compass/MMBench/issues/61), and since 18 June 2026 VLMEvalKit lists the checksums of the files
with answers, at the same addresses. In earlier files without answers, the answers are read as private.

Layouts that are read (details in `common/choice/tables.py`): one TSV for each configuration and split, see `FILES`; or
Parquet with the same columns, as on the Hub in `lmms-lab-encoder/MMBench` (`lmms-lab/MMBench` until July 2026) and
`HuggingFaceM4/MMBench`: `<split>*.parquet` in the folder, in `<config>/` or in `data/`. CCBench's Parquet split is
called `test` there, and `dev` here.

A row is a question in its first pass, with its image; its id is `<split>-<index>`. `passes` has the release's own
passes of the question in order, unchanged (see `common/choice/passes.py`); it is empty if a split has only first ones.
A question is bad, and `skip_bad` leaves it out, if an index appears twice with different contents, the first pass is
missing, a pass's answer is not one of its options, or a row of the file cannot be read and the question has fewer
passes than rotating options.

Downloads with an unknown checksum cause a warning; files in `data_dir` are not compared.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import datasets

from eyechart.datasets_scripts.common.builder import Annotation, BenchmarkBuilder
from eyechart.datasets_scripts.common.choice.abilities import ABILITIES, CCBENCH_CATEGORIES, RELEASED_L2
from eyechart.datasets_scripts.common.choice.columns import multiple_choice_features
from eyechart.datasets_scripts.common.choice.passes import STRIDE
from eyechart.datasets_scripts.common.choice.tables import link_rows, question_columns, read_table
from eyechart.datasets_scripts.common.errors import PASS_FOLDER, BadAnnotationError, numbered_steps, unknown_name
from eyechart.datasets_scripts.common.files.data_files import files_by_split, release_files
from eyechart.datasets_scripts.common.files.downloads import check_md5
from eyechart.datasets_scripts.common.files.image_cells import ImageCell
from eyechart.datasets_scripts.common.files.readers import ROW_ERROR, Row

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
CHECKSUMS: Mapping[str, str] = {
    "MMBench_DEV_EN.tsv": "b6caf1133a01c6bb705cf753bb527ed8",
    "MMBench_TEST_EN.tsv": "6939fadb0ce626fefc0bdc9c64efc528",
    "MMBench_DEV_CN.tsv": "08b8fc3324a5ed74155350f57be69fbd",
    "MMBench_TEST_CN.tsv": "7e1239baf0ee4c8b513e19705a0f317e",
    "MMBench_DEV_EN_V11.tsv": "30c05be8f2f347a50be25aa067248184",
    "MMBench_TEST_EN_V11.tsv": "8d1a704e791df6f5d9fb3ef782b65365",
    "MMBench_DEV_CN_V11.tsv": "593f9b5f6bea453d870a798b34ae4f37",
    "MMBench_TEST_CN_V11.tsv": "156e6569f9547afb16603eca16e85373",
    "CCBench.tsv": "f5dde47f24dc5a6fb6e595b409b466ac",
}
"""MD5 checksums of the current files, as VLMEvalKit publishes them."""
_SERVER = "https://opencompass.openxlab.space/utils"
_HOMEPAGE = "https://github.com/open-compass/MMBench"


class MMBench(BenchmarkBuilder):
    """Loads MMBench from its TSVs, from their Parquet forms on the Hub, or from the official server."""

    SPLITS = ("dev", "test")

    def _about(self) -> tuple[datasets.Features, str, str]:
        text, questions = datasets.Value("string"), multiple_choice_features(["category", "l2_category", "l1_category"])
        shown = {"index": datasets.Value("int64"), "rotation": datasets.Value("int32"), "question": text, "hint": text}
        # A list of structs, not a `Sequence` of them, which would be a struct of lists.
        passes = [{**shown, "options": datasets.Sequence(text), "answer": text}]
        return datasets.Features({**questions, "passes": passes}), _HOMEPAGE, "apache-2.0"

    def _annotations(self, dl_manager: datasets.DownloadManager) -> list[Annotation]:
        config, names = self.config, FILES[self.config.name]
        chosen, folder = self._given(".tsv", ".parquet")
        if chosen is not None and len(names) > 1:
            files = files_by_split(chosen, tuple(names))
        elif chosen is not None:
            files = {split: [path for paths in chosen.values() for path in paths] for split in names}
        elif folder is not None:
            files = release_files(folder, names, ("", config.name, "data"), self._how_to_get())
        else:
            wanted = config.only_splits or names
            files = {split: [self._downloaded(dl_manager, names[split][0])] for split in names if split in wanted}
        return [Annotation(split, tuple(paths), ()) for split, paths in files.items()]

    def _downloaded(self, dl_manager: datasets.DownloadManager, name: str) -> str:
        path = self._fetch(dl_manager, _address(name), self._how_to_get())
        check_md5(path, CHECKSUMS[name], _address(name))
        return path

    def _how_to_get(self) -> str:
        download = "Download " + " and ".join(_address(names[0]) for names in FILES[self.config.name].values())
        if not self.config.name.endswith("v11"):
            download += ", or the same data as Parquet from https://huggingface.co/datasets/lmms-lab-encoder/MMBench"
        goal = f"To get config {self.config.name!r} of MMBench by hand"
        return numbered_steps(goal, download, "Put the downloaded files into one folder", PASS_FOLDER)

    def _read(self, path: str) -> list[Row]:
        return read_table(path, COLUMNS, images=self.config.images == "load")

    def _rows(self, annotation: Annotation) -> Iterator[tuple[str, int, dict[str, Any]]]:
        """The first pass of each question, with all of its passes; rows that cannot be read are passed on."""
        read = list(super()._rows(annotation))
        link_rows(raw for _, _, raw in read)
        rows: dict[int, tuple[str, int, dict[str, Any]]] = {}
        doubtful: set[int] = set()
        is_damaged = False
        for path, number, raw in read:
            reason = raw.get(ROW_ERROR)
            if reason is None and not (raw["index"].isascii() and raw["index"].isdecimal()):
                reason = f"field 'index' must be a whole number, found {raw['index']!r}"
            if reason is not None:
                is_damaged = True
                yield path, number, {ROW_ERROR: reason}
                continue
            index = int(raw["index"])
            _, first, earlier = rows.setdefault(index, (path, number, raw))
            if earlier is not raw and _contents(earlier) != _contents(raw):
                doubtful.add(index % STRIDE)
                reason = f"duplicate index {index}: row {first} has the same index, but other contents"
                yield path, number, {ROW_ERROR: reason}
        questions: dict[int, dict[int, tuple[str, int, dict[str, Any]]]] = {}
        for index, row in rows.items():
            questions.setdefault(index % STRIDE, {})[index // STRIDE] = row
        has_passes = len(questions) < len(rows)
        for question, passes in questions.items():
            path, number, raw = passes[min(passes)]
            if question in doubtful:
                continue
            if 0 not in passes:
                raw = {ROW_ERROR: f"question {question} has no first pass; this is pass {min(passes)}"}
            elif is_damaged and has_passes and not _are_whole(passes):
                reason = f"a pass of question {question} may be missing, because a row of the file cannot be read"
                raw = {ROW_ERROR: reason}
            else:
                raw |= {"question_id": question, "passes": dict(sorted(passes.items())), "has_passes": has_passes}
            yield path, number, raw

    def _example(self, raw: dict[str, Any], *, annotation: Annotation, path: str, number: int) -> dict[str, Any]:
        question_id, passes = raw["question_id"], []
        for turn, (file, row, shown) in raw["passes"].items():
            try:
                columns = question_columns(shown)
            except ValueError as error:
                raise BadAnnotationError(str(error), path=file, row=row) from error
            passes.append({"index": question_id + turn * STRIDE, "rotation": turn, **columns})
        category, l2_category, table = raw["category"], raw["l2_category"], ABILITIES
        if self.config.name == "cc":
            l2_category, table = "", CCBENCH_CATEGORIES
        if category not in table:
            raise unknown_name("category", category, table)
        ability = table[category]
        released = RELEASED_L2.get(ability.l2_category, "")
        if l2_category not in ("", released):
            raise ValueError(f"l2-category of category {category!r} must be {released!r}, found {l2_category!r}")
        return {
            **{name: passes[0][name] for name in ("rotation", "question", "hint", "options", "answer")},
            "id": f"{annotation.split}-{question_id}",
            "question_id": str(question_id),
            "images": [raw["image"]],
            "passes": passes if raw["has_passes"] else [],
            "category": ability.category,
            "l2_category": ability.l2_category,
            "l1_category": ability.l1_category,
        }


def _address(name: str) -> str:
    return f"{_SERVER}/{'VLMEval' if name == 'CCBench.tsv' else 'benchmarks/MMBench'}/{name}"


def _contents(raw: Mapping[str, Any]) -> tuple[Any, ...]:
    """The contents that two rows with the same index must share."""
    image = raw["image"]
    shown = image.problem or image.load() if isinstance(image, ImageCell) else image
    return (*(raw[name] for name in ("question", "hint", "options", "answer", "category", "l2_category")), shown)


def _are_whole(passes: Mapping[int, tuple[str, int, dict[str, Any]]]) -> bool:
    """Whether a question has all passes from the first on: one per option, or one fewer if the last option is fixed."""
    shown: list[list[str]] = [passes[turn][2]["options"] for turn in sorted(passes)]
    last = {"".join(options[-1:]) for options in shown}
    is_fixed = len(shown) > 1 and len(last) == 1 and shown[0].count(*last) == 1
    return sorted(passes) == list(range(len(passes))) and len(passes) >= len(shown[0]) - is_fixed
