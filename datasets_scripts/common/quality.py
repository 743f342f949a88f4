"""The quality column kind, and the base of the scripts of image quality databases.

A database's script is a subclass of `QualityBuilder` that names its files and columns and, where it needs to, overrides
`_read` (another file format), `_quality` (a scale where lower is better) or `_facts` (what file names and further
columns tell).
"""

import os
from typing import Any
from typing import ClassVar

import datasets

from eyechart.datasets_scripts.common.builder import Annotation
from eyechart.datasets_scripts.common.builder import BenchmarkBuilder
from eyechart.datasets_scripts.common.data_files import chosen_data_files
from eyechart.datasets_scripts.common.errors import BadAnnotationError
from eyechart.datasets_scripts.common.errors import MissingFileError
from eyechart.datasets_scripts.common.paths import first_file
from eyechart.datasets_scripts.common.paths import release_folder
from eyechart.datasets_scripts.common.readers import Row
from eyechart.datasets_scripts.common.readers import number_field
from eyechart.datasets_scripts.common.readers import read_csv_rows
from eyechart.datasets_scripts.common.readers import text_field


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

    IMAGE_COLUMN = "image"
    SPLITS = ("test",)
    ANNOTATION_FILES: ClassVar[tuple[str, ...]] = ("mos.csv",)
    """Names of the annotation file inside the release, the preferred one first."""
    IMAGE_FOLDERS: ClassVar[tuple[str, ...]] = ("", "images")
    """Folders inside the release that may hold the images."""
    NAME_COLUMN: ClassVar[str] = "image"
    """Column of the image's file name, which is also the row's id."""
    SCORE_COLUMN: ClassVar[str] = "mos"
    """Column of the published score."""
    STD_COLUMN: ClassVar[str | None] = None
    """Column of the score's standard deviation, if published."""
    HOW_TO_GET: ClassVar[str]
    """What to download, from whom, and where to put it."""

    def _annotations(self, dl_manager: datasets.DownloadManager) -> list[Annotation]:
        suffixes = tuple({os.path.splitext(name)[1] for name in self.ANNOTATION_FILES})
        chosen = chosen_data_files(self.config, suffixes)
        data_dir = None if self.config.data_dir is None else release_folder(self.config.data_dir)
        if chosen is not None:
            files = tuple(file for part in chosen.values() for file in part)
            return [Annotation("test", files, self._image_folders(data_dir or os.path.dirname(files[0])))]
        if data_dir is None:
            raise MissingFileError(f"subset {self.name!r} needs data_dir. {self.HOW_TO_GET}")
        file = first_file(data_dir, self.ANNOTATION_FILES)
        if file is None:
            names = " or ".join(self.ANNOTATION_FILES)
            raise MissingFileError(f"the folder holds no {names}. {self.HOW_TO_GET}", path=data_dir)
        return [Annotation("test", (file,), self._image_folders(data_dir))]

    def _image_folders(self, data_dir: str) -> tuple[str, ...]:
        return tuple(os.path.join(data_dir, folder) if folder else data_dir for folder in self.IMAGE_FOLDERS)

    def _read(self, path: str) -> list[Row]:
        columns = [self.NAME_COLUMN, self.SCORE_COLUMN, self.STD_COLUMN]
        return read_csv_rows(path, [column for column in columns if column is not None])

    def _example(self, raw: dict[str, Any], *, annotation: Annotation, path: str, number: int) -> dict[str, Any]:
        name = text_field(raw, self.NAME_COLUMN, path=path, number=number)
        score = number_field(raw, self.SCORE_COLUMN, path=path, number=number)
        std = None if self.STD_COLUMN is None else number_field(raw, self.STD_COLUMN, path=path, number=number)
        example = dict.fromkeys(quality_features())
        example |= {"id": name, "image": name, "quality": self._quality(score), "quality_std": std}
        try:
            return example | {"released_score": score} | self._facts(name, raw)
        except ValueError as error:
            raise BadAnnotationError(str(error), path=path, row=number) from error

    def _quality(self, score: float) -> float:
        """Turn the published score into one where higher is better."""
        return score

    def _facts(self, name: str, raw: dict[str, Any]) -> dict[str, Any]:
        """Return further columns that a row or its file name tells.

        Raises:
            ValueError: They tell something impossible.
        """
        return {}
