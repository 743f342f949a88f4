"""The quality column kind, and the base of the scripts of image quality databases.

A database's script is a subclass of `QualityBuilder` that declares the formats of its published scores and the places
of its files. If needed, it overrides `_facts` (columns read from file names and further columns), `_is_part` (splits
and configurations), `_image_name` or `_read`.
"""

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import datasets

from eyechart.datasets_scripts.common.builder import Annotation, BenchmarkBuilder
from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingFileError, UsageError, unknown_name
from eyechart.datasets_scripts.common.files.data_files import chosen_data_files
from eyechart.datasets_scripts.common.files.readers import Row
from eyechart.datasets_scripts.common.paths import first_file, release_folder
from eyechart.datasets_scripts.common.quality.score_file_formats import FORMAT, ScoreFormat, common_formats, read_scores


def quality_features() -> datasets.Features:
    """Return the features of the quality kind; columns that a database does not have are None."""
    return datasets.Features(
        {
            "id": datasets.Value("string"),
            "image": datasets.Image(),
            "quality": datasets.Value("float64"),
            "quality_std": datasets.Value("float64"),
            "released_score": datasets.Value("float64"),
            "reference": datasets.Value("string"),
            "distortion_type": datasets.Value("string"),
            "distortion_level": datasets.Value("int32"),
            "subset": datasets.Value("string"),
        }
    )


class QualityBuilder(BenchmarkBuilder):
    """Base of the scripts of image quality databases."""

    SPLITS: ClassVar[tuple[str, ...]] = ("test",)
    DESCRIPTION: ClassVar[str]
    HOMEPAGE: ClassVar[str]
    LICENSE: ClassVar[str]
    CITATION: ClassVar[str]
    FORMATS: ClassVar[tuple[ScoreFormat, ...]] = ()
    """The database's own formats of score files, the preferred one first; `common_formats` are read as well."""
    WORST: ClassVar[float | None] = None
    """The worst score if lower is better on the database's scale; None if higher is better."""
    SCORE_FILES: ClassVar[tuple[str, ...]] = ("mos.csv",)
    """Names of the score file inside the release, the preferred one first."""
    IMAGE_FOLDERS: ClassVar[tuple[str, ...]] = ("", "images")
    """Folders inside the release, or inside its archive, that may contain the images, the preferred one first."""
    IMAGE_ARCHIVES: ClassVar[tuple[str, ...]] = ()
    """Names of image archives inside the release, unpacked if no folder contains images."""
    DOWNLOADS: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Official addresses of the files: "images", an archive; "scores", a file, unless the archive contains it."""
    HOW_TO_GET: ClassVar[str]
    """Steps to get the release by hand: what to download, from where, and where to put it."""

    def _info(self) -> datasets.DatasetInfo:
        return datasets.DatasetInfo(
            description=self.DESCRIPTION,
            features=quality_features(),
            homepage=self.HOMEPAGE,
            license=self.LICENSE,
            citation=self.CITATION,
        )

    def by_hand(self) -> str:
        """How to get the release, unless it can be downloaded."""
        return "" if self.DOWNLOADS else self.HOW_TO_GET

    def _annotations(self, dl_manager: datasets.DownloadManager) -> list[Annotation]:
        suffixes = tuple({".csv", ".json", ".txt", *(os.path.splitext(name)[1] for name in self.SCORE_FILES)})
        chosen = chosen_data_files(self.config, suffixes)
        data_dir = None if self.config.data_dir is None else release_folder(self.config.data_dir)
        if chosen is not None:
            for key in chosen:
                # "train" is the key of files that were given without one.
                if key not in ("train", "test"):
                    raise unknown_name("split", key, ["test"], "in data_files")
            files = tuple(file for part in chosen.values() for file in part)
            return self._splits(files, data_dir or os.path.dirname(files[0]))
        if data_dir is not None:
            return self._splits(self._score_files(data_dir), data_dir)
        if self.by_hand():
            reason = f"dataset {self.name!r} needs data_dir: it cannot be downloaded automatically\n{self.by_hand()}"
            raise MissingFileError(reason)
        if dl_manager.is_streaming:
            raise UsageError(
                f"streaming needs data_dir: the images are in an archive, which must be unpacked\n{self.HOW_TO_GET}"
            )
        if self.config.images == "skip" and "scores" in self.DOWNLOADS:
            file = self._fetch(dl_manager, self.DOWNLOADS["scores"], self.HOW_TO_GET)
            return self._splits((file,), os.path.dirname(file))
        paths = {name: self._fetch(dl_manager, place, self.HOW_TO_GET) for name, place in self.DOWNLOADS.items()}
        folder = self._unpack(paths["images"])
        return self._splits((paths["scores"],) if "scores" in paths else self._score_files(folder), folder)

    def _score_files(self, data_dir: str) -> tuple[str, ...]:
        """Find the score files of a release, whose rows are concatenated.

        Raises:
            MissingFileError: There are none.
        """
        file = first_file(data_dir, self.SCORE_FILES)
        if file is None:
            names = ", ".join(self.SCORE_FILES)
            raise MissingFileError(f"no score file; expected one of: {names}\n{self.HOW_TO_GET}", path=data_dir)
        return (file,)

    def _splits(self, files: tuple[str, ...], data_dir: str) -> list[Annotation]:
        """Return the splits that the score files describe: `test` has all images."""
        return [Annotation("test", files, self._image_folders(data_dir, self.IMAGE_FOLDERS, self.IMAGE_ARCHIVES))]

    def _read(self, path: str) -> list[Row]:
        return read_scores(path, (*self.FORMATS, *common_formats(self.WORST)))

    def _example(self, raw: dict[str, Any], *, annotation: Annotation, path: str, number: int) -> dict[str, Any] | None:
        layout: ScoreFormat = raw[FORMAT]
        try:
            name = self._image_name(raw, path=path, number=number)
            if not self._is_part(name, raw, annotation.split):
                return None
            facts = self._facts(name, raw)
        except ValueError as error:
            raise BadAnnotationError(str(error), path=path, row=number) from error
        example = dict.fromkeys(self.info.features) | {"id": name, "image": name}
        return example | layout.scores_of(raw, path=path, number=number) | facts

    def _image_name(self, raw: dict[str, Any], *, path: str, number: int) -> str:
        """Return the image's file name, which is also the row's id.

        Raises:
            ValueError: The row's values are inconsistent.
            BadAnnotationError: The name is missing or not text.
        """
        return raw[FORMAT].name_of(raw, path=path, number=number)

    def _is_part(self, name: str, raw: dict[str, Any], split: str) -> bool:
        """Whether a row belongs to a split and to this configuration.

        Raises:
            ValueError: The row does not show it.
        """
        return True

    def _facts(self, name: str, raw: dict[str, Any]) -> dict[str, Any]:
        """Return further columns, read from a row or its image name.

        Raises:
            ValueError: A value is impossible.
        """
        return {}
