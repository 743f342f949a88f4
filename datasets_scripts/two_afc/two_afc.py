"""Pairs of images for two-alternative forced choice: those of the 2AFC paper, or drawn by its rules from any database.

2AFC Prompting of Large Multimodal Models for Image Quality Assessment, https://arxiv.org/abs/2402.01162; label files in
the folder `data` of https://github.com/h4nwei/2AFC-LMMs. Images are paired within pools, and each pool is ranked
separately:

- `coarse` (`Coarse_grained_mixed.json`): eight databases, and `mixed`, the union of KADIS-700k and SQAD;
- `fine_levels` (`Fine_grained_CSIQ_levels.json`): CSIQ, one content and one distortion type at five levels;
- `fine_types` (`Fine_grained_CSIQ_types.json`): CSIQ, one content and one level of five distortion types;
- `fine_mos` (`Fine_grain_SPAQ.json`): SPAQ, four intervals of scores.

A label file maps a pool to a list of `img_path`, `gt_score` (text or a number) and, in part, `ref_path`. `data_dir`
contains the label files and the images under their `img_path`: in `kadid10k/images/`, `koniq10k/`, `MM21/<codec>/`,
`CSIQ/dst_imgs/`, `LIVEC/`, `spaq/TestImage_512/`, `kadis700k/` and `SQAD/`; these may be links. The only split, `test`,
has all pairs.

In the quality columns higher is better (CSIQ: 1 - DMOS). The label file's score for MM21 is the bitrate. If LICQA's own
lists are in `MM21/` or in `data_dir` itself, MM21's qualities are the opinion scores of these lists; without them they
are the bitrates, as in the published numbers, and every result says so. `first_released_score` and
`second_released_score` are the scores of the label file. If an image is left out, all other pairs stay the same.
"""

import os
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import datasets
import numpy as np

from eyechart.datasets_scripts.catalog import DATASETS
from eyechart.datasets_scripts.common.builder import Annotation, BenchmarkBuilder, BenchmarkConfig
from eyechart.datasets_scripts.common.errors import (
    BadAnnotationError,
    MissingFileError,
    UsageError,
    numbered_steps,
    unknown_name,
)
from eyechart.datasets_scripts.common.files.data_files import chosen_data_files
from eyechart.datasets_scripts.common.files.readers import Row, number_field, text_field
from eyechart.datasets_scripts.common.fingerprint import folder_fingerprint
from eyechart.datasets_scripts.common.left_out import LeftOut
from eyechart.datasets_scripts.common.pairs import (
    BITRATES,
    MIXED,
    MIXED_POOL,
    SEAT,
    Pools,
    draw_coarse,
    draw_intervals,
    draw_references,
    draw_rounds,
    label_pools,
    pair_features,
    pair_rows,
    read_label_file,
)
from eyechart.datasets_scripts.common.paths import first_file, release_folder
from eyechart.datasets_scripts.loading import load_builder, load_dataset
from eyechart.datasets_scripts.official import ROUNDS

LABEL_FILES = MappingProxyType(
    {
        "coarse": "Coarse_grained_mixed.json",
        "fine_levels": "Fine_grained_CSIQ_levels.json",
        "fine_types": "Fine_grained_CSIQ_types.json",
        "fine_mos": "Fine_grain_SPAQ.json",
    }
)
"""The released label file of each configuration."""
DATABASES = ("kadid10k", "koniq10k", BITRATES, "CSIQ", "LIVEC", "spaq", *MIXED)
"""Image folders in the label files."""
_LISTS = ("train.csv", "exp1/train.csv", "train_files/exp1/train.csv")
"""Where the first of LICQA's lists may be."""
_SCORE_SUFFIXES = (".csv", ".json", ".mat", ".txt", ".xlsx")
_REPOSITORY = "https://github.com/h4nwei/2AFC-LMMs"
_COMMIT = "358e0d331bd608d12b5f8b73585333470003afff"
_LABELS = f"https://raw.githubusercontent.com/h4nwei/2AFC-LMMs/{_COMMIT}/data/"
_ARCHIVE = f"{_REPOSITORY}/archive/{_COMMIT}.zip"
"""The complete repository, with the images of `MIXED`."""
_OTHERS = ("kadid10k", "koniq10k", "mm21", "csiq", "live_itw", "spaq")
_HOW_TO_GET = numbered_steps(
    "To get the label files and images of 2AFC",
    f"Download the folder data of {_REPOSITORY}: the label files and the images of {' and '.join(MIXED)}",
    f"Get the other databases as described for the datasets {', '.join(_OTHERS)}",
    "Put their images next to the label files, into kadid10k/images/, koniq10k/, MM21/<codec>/, CSIQ/dst_imgs/, "
    "LIVEC/ and spaq/TestImage_512/",
    "Pass the folder of the label files as data_dir (command line: --data-dir)",
    otherwise="To load only some databases, set the option databases",
)
_HOW_TO_GET_MM21 = numbered_steps(
    "To use MM21's opinion scores",
    "Download train.csv, val.csv and test.csv from https://github.com/sherlockyy/LICQA (train_files/exp1)",
    "Put them into MM21/ in data_dir, or set the option mm21_dir to their folder",
    otherwise="To use the bitrate as quality, as the published numbers do, set the option mm21_scores='released'",
)


@dataclass
class TwoAfcConfig(BenchmarkConfig):
    """Additional settings."""

    rounds: int = ROUNDS
    """Number of rounds; in each, every image of a pool is paired with one other."""
    pairing: str = "random"
    """"random" draws from `seed`, "released" makes the rounds of the authors' released code."""
    seed: int = 0
    """Seed of "random" pairing and of sampling from `source`."""
    databases: tuple[str, ...] = ()
    """Pools of the label file to load: in `coarse`, databases by the names of their folders, and "mixed"."""
    mm21_scores: str = "auto"
    """"mos" from LICQA's lists; "released" is the bitrate; "auto" is "mos" if the lists are found, else "released"."""
    mm21_dir: str | None = None
    """Folder of LICQA's lists, as dataset `mm21` reads it; by default `MM21` in `data_dir`, or `data_dir` itself."""
    source: str | None = None
    """A quality dataset to draw images from, instead of the label files; `data_dir` is then the folder of `source`."""
    source_config: str | None = None
    """Configuration of `source`; its first one by default."""
    sample: int | None = None
    """Sample size with `source`: images of `coarse` (default: one per reference, or 160), references of `fine_levels`
    and `fine_types` (default: 4), images per interval of `fine_mos` (default: 25)."""

    def create_config_id(self, config_kwargs: dict[str, Any], custom_features: Any = None) -> str:
        """Include the lists of MM21 in the cache folder's name, if `mm21_dir` is set."""
        if self.mm21_dir is not None:
            lists = folder_fingerprint(release_folder(self.mm21_dir, "mm21_dir"))
            config_kwargs = config_kwargs | {"mm21 lists": lists}
        return super().create_config_id(config_kwargs, custom_features)

    def check(self) -> None:
        """Raise `UsageError` if a value is not allowed, or has no effect in combination with the others."""
        for name, allowed in (("pairing", ("random", "released")), ("mm21_scores", ("auto", "mos", "released"))):
            if getattr(self, name) not in allowed:
                raise unknown_name("value", getattr(self, name), allowed, f"of {name}")
        for name, least in (("rounds", 1), ("seed", 0), ("sample", 1)):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < least):
                raise UsageError(f"{name} is {value!r}; expected a whole number of at least {least}")
        if isinstance(self.databases, str):
            raise UsageError(f"databases is {self.databases!r}; expected a list of names")
        quality = [name for name, dataset in DATASETS.items() if dataset.kind == "quality"]
        if self.source is not None and self.source not in quality:
            raise unknown_name("quality dataset", self.source, quality, "for source")
        for name in ("databases", "mm21_dir") if self.source else ("source_config", "sample"):
            if getattr(self, name):
                raise UsageError(f"{name} has no effect {'with' if self.source else 'without'} source")


class TwoAfc(BenchmarkBuilder):
    """Pairs the images of the released label files, or of a quality dataset."""

    BUILDER_CONFIG_CLASS = TwoAfcConfig

    def _about(self) -> tuple[datasets.Features, str, str]:
        return pair_features(), _REPOSITORY, "not stated"

    def by_hand(self) -> str:
        """How to get the images, unless the authors' repository has them all; or how to get `source`."""
        self.config.check()
        if self.config.source is not None:
            return self._source.by_hand()
        in_repository = self.config.databases and {*self.config.databases} <= {*MIXED, MIXED_POOL}
        is_there = self.config.images == "skip" or (self.config.name == "coarse" and in_repository)
        return "" if is_there else _HOW_TO_GET

    def _annotations(self, dl_manager: datasets.DownloadManager) -> list[Annotation]:
        self.config.check()
        if self.config.source is not None:
            self._source.show_download()
            return [part for part in self._source._annotations(dl_manager) if part.split == "test"]
        (chosen, folder), name = self._given(".json"), LABEL_FILES[self.config.name]
        if chosen is not None and folder is not None:
            return [Annotation("test", tuple(file for part in chosen.values() for file in part), (folder,))]
        if folder is None:
            if self.config.images == "skip":
                return [Annotation("test", (self._fetch(dl_manager, _LABELS + name, _HOW_TO_GET),), ())]
            if self.by_hand():
                raise MissingFileError(f"dataset {self.name!r} needs data_dir: it cannot be downloaded\n{_HOW_TO_GET}")
            archive = self._fetch(dl_manager, _ARCHIVE, _HOW_TO_GET)
            folder = os.path.join(self._unpack(archive), f"2AFC-LMMs-{_COMMIT}", "data")
        if (file := first_file(folder, (name,))) is None:
            raise MissingFileError(f"missing label file {name}\n{_HOW_TO_GET}", path=folder)
        return [Annotation("test", (file,), (folder,))]

    def _read(self, path: str) -> list[Row]:
        return read_label_file(path, self.config.databases)

    def _example(self, raw: dict[str, Any], *, annotation: Annotation, path: str, number: int) -> dict[str, Any]:
        name = text_field(raw, "img_path", path=path, number=number)
        database, _, image = name.partition("/")
        if database not in DATABASES:
            reason = f"img_path {name!r} must begin with the folder of a database: {', '.join(DATABASES)}"
            raise BadAnnotationError(reason, path=path, row=number)
        score = number_field(raw, "gt_score", path=path, number=number)
        # CSIQ has DMOS, 0 for the best and 1 for the worst image.
        quality = 1 - score if database == "CSIQ" else score
        if database == BITRATES and self._mm21 is not None:
            if image not in self._mm21:
                raise BadAnnotationError(f"no score of {image!r} in LICQA's lists", path=path, row=number)
            quality = self._mm21[image]
        scores = {"quality": quality, "released_score": score}
        return {"id": name, "images": [name], **scores, "database": database, SEAT: raw[SEAT]}

    def _parse(self, annotation: Annotation, left_out: LeftOut) -> list[dict[str, Any]]:
        if self.config.source is None:
            pools = label_pools(super()._parse(annotation, left_out), self.config.databases)
        else:
            pools = self._drawn_pools(self._source._parse(annotation, left_out))
        rows = []
        for name, images in pools.items():
            # Every pool has its own generator, so that its rounds do not depend on which other pools are loaded.
            rng = np.random.default_rng([self.config.seed, *name.encode()])
            rows += pair_rows(name, images, draw_rounds(len(images), self.config.rounds, self.config.pairing, rng))
        return rows

    def _drawn_pools(self, rows: list[dict[str, Any]]) -> Pools:
        source, size, name = str(self.config.source), self.config.sample, self.config.name
        rng = np.random.default_rng([self.config.seed, *b"sample"])
        for row in rows:
            row |= {"images": [] if row["image"] is None else [row["image"]], "database": source}
        if name == "coarse":
            return {source: draw_coarse(rows, size, rng)}
        return draw_intervals(rows, source, size, rng) if name == "fine_mos" else draw_references(rows, name, size, rng)

    @property
    def _release(self) -> str | None:
        return None if self.config.data_dir is None else release_folder(self.config.data_dir)

    @cached_property
    def _source(self) -> BenchmarkBuilder:
        """The builder of `source`, used only to parse the data, not for its cache."""
        return load_builder(
            self.config.source,
            self.config.source_config,
            data_dir=self.config.data_dir,
            data_files=chosen_data_files(self.config, _SCORE_SUFFIXES),
            images=self.config.images,
            cache_dir=self.cache_folder,
        )

    @cached_property
    def _mm21(self) -> dict[str, float] | None:
        """Opinion scores of MM21 by image name; None to use the released values."""
        release, folder = self._release, self.config.mm21_dir
        if self.config.mm21_scores == "released":
            return None
        if folder is None and release is not None:
            places = (os.path.join(release, BITRATES), release)
            folder = next((place for place in places if first_file(place, _LISTS)), None)
        if folder is None:
            if self.config.mm21_scores == "auto":
                return None
            reason = f"mm21_scores='mos' needs LICQA's lists of opinion scores\n{_HOW_TO_GET_MM21}"
            raise MissingFileError(reason, path=release)
        scores = load_dataset("mm21", split="test", data_dir=folder, images="skip", streaming=True)
        return {row["id"]: row["quality"] for row in scores}
