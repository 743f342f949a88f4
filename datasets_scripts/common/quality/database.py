"""The quality column kind, and the base of the scripts of image quality databases.

A database's script is a subclass of `QualityBuilder` that says in which formats its scores are published and where its
files are and, where it needs to, overrides `_facts` (what file names and further columns tell), `_is_part` (splits and
configurations), `_image_name` or `_read`.
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
    """Return the features of the quality kind; what a database does not tell is None."""
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
    """The worst score of a scale on which lower is better; None where higher is."""
    SCORE_FILES: ClassVar[tuple[str, ...]] = ("mos.csv",)
    """Names of the score file inside the release, the preferred one first."""
    IMAGE_FOLDERS: ClassVar[tuple[str, ...]] = ("", "images")
    """Folders inside the release, or inside an archive of it, that may hold the images, the preferred one first."""
    IMAGE_ARCHIVES: ClassVar[tuple[str, ...]] = ()
    """Names of archives inside the release that hold the images, unpacked where no folder does."""
    DOWNLOADS: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Official locations of what can be downloaded: "images", an archive; "scores", a file, unless it is in there."""
    HOW_TO_GET: ClassVar[str]
    """What to download, from whom, and where to put it."""

    def _info(self) -> datasets.DatasetInfo:
        return datasets.DatasetInfo(
            description=self.DESCRIPTION,
            features=quality_features(),
            homepage=self.HOMEPAGE,
            license=self.LICENSE,
            citation=self.CITATION,
        )

    def by_hand(self) -> str:
        """The whole release, unless it is downloaded."""
        return "" if self.DOWNLOADS else self.HOW_TO_GET

    def _annotations(self, dl_manager: datasets.DownloadManager) -> list[Annotation]:
        suffixes = tuple({".csv", ".json", ".txt", *(os.path.splitext(name)[1] for name in self.SCORE_FILES)})
        chosen = chosen_data_files(self.config, suffixes)
        data_dir = None if self.config.data_dir is None else release_folder(self.config.data_dir)
        if chosen is not None:
            for key in chosen:
                # "train" is the key of files that were given without one.
                if key not in ("train", "test"):
                    raise unknown_name("split in data_files", key, ["test"])
            files = tuple(file for part in chosen.values() for file in part)
            return self._splits(files, data_dir or os.path.dirname(files[0]))
        if data_dir is not None:
            return self._splits(self._score_files(data_dir), data_dir)
        if self.by_hand():
            raise MissingFileError(f"dataset {self.name!r} needs data_dir. {self.by_hand()}")
        if dl_manager.is_streaming:
            raise UsageError(f"streaming needs data_dir: the release's images are one archive. {self.HOW_TO_GET}")
        if self.config.images == "skip" and "scores" in self.DOWNLOADS:
            file = self._fetch(dl_manager, self.DOWNLOADS["scores"], self.HOW_TO_GET)
            return self._splits((file,), os.path.dirname(file))
        paths = {name: self._fetch(dl_manager, place, self.HOW_TO_GET) for name, place in self.DOWNLOADS.items()}
        folder = self._unpack(paths["images"])
        return self._splits((paths["scores"],) if "scores" in paths else self._score_files(folder), folder)

    def _score_files(self, data_dir: str) -> tuple[str, ...]:
        """Find the score files of a release; their rows follow one another.

        Raises:
            MissingFileError: There are none.
        """
        file = first_file(data_dir, self.SCORE_FILES)
        if file is None:
            names = " or ".join(self.SCORE_FILES)
            raise MissingFileError(f"the folder holds no {names}. {self.HOW_TO_GET}", path=data_dir)
        return (file,)

    def _splits(self, files: tuple[str, ...], data_dir: str) -> list[Annotation]:
        """Say which splits the score files describe: `test` holds all images."""
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
            ValueError: The row tells something impossible.
            BadAnnotationError: It is missing or no text.
        """
        return raw[FORMAT].name_of(raw, path=path, number=number)

    def _is_part(self, name: str, raw: dict[str, Any], split: str) -> bool:
        """Tell whether a row is part of a split and of this configuration.

        Raises:
            ValueError: The row does not say.
        """
        return True

    def _facts(self, name: str, raw: dict[str, Any]) -> dict[str, Any]:
        """Return further columns that a row or its image name tells.

        Raises:
            ValueError: They tell something impossible.
        """
        return {}
