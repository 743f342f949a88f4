"""The quality column kind, and the loading script of all image quality databases in the table `DATABASES`."""

import os
import re
from typing import Any

import datasets

from eyechart.datasets_scripts.catalog import find_dataset
from eyechart.datasets_scripts.common.builder import Annotation, BenchmarkBuilder
from eyechart.datasets_scripts.common.errors import PASS_FOLDER, MissingFileError, numbered_steps
from eyechart.datasets_scripts.common.files.data_files import files_by_split
from eyechart.datasets_scripts.common.files.readers import Row, text_field
from eyechart.datasets_scripts.common.paths import first_file
from eyechart.datasets_scripts.common.quality.databases import DATABASES, Database
from eyechart.datasets_scripts.common.quality.score_file_formats import FORMAT, ScoreFormat, read_scores


def quality_features() -> datasets.Features:
    """Return the features of the quality kind; columns that a database does not have are None."""
    text, number = datasets.Value("string"), datasets.Value("float64")
    scores = dict.fromkeys(("quality", "quality_std", "released_score"), number)
    facts = {"reference": text, "distortion_type": text, "distortion_level": datasets.Value("int32"), "subset": text}
    return datasets.Features({"id": text, "image": datasets.Image(), **scores, **facts})


class QualityBuilder(BenchmarkBuilder):
    """Base of the scripts of image quality databases, which override what their row of `DATABASES` cannot say."""

    @property
    def database(self) -> Database:
        """The script's row of the table."""
        return DATABASES[self.name]

    def _about(self) -> tuple[datasets.Features, str, str]:
        return quality_features(), self.database.homepage, self.database.license

    @property
    def _how_to_get(self) -> str:
        database = self.database
        scores, folder = database.score_files[0].replace("+", ", "), next(filter(None, database.folders))
        return numbered_steps(
            f"To get {find_dataset(self.name).title} by hand",
            f"Download {database.to_download} from {database.homepage}",
            f"Put {scores} into a folder, and the images into {folder}/ in it",
            PASS_FOLDER,
        )

    def by_hand(self) -> str:
        """How to get the release, unless it can be downloaded."""
        return "" if self.database.downloads else self._how_to_get

    def _annotations(self, dl_manager: datasets.DownloadManager) -> list[Annotation]:
        chosen, data_dir = self._given(".csv", ".json", ".mat", ".txt", ".xlsx")
        if data_dir is not None:
            files = files_by_split(chosen, ("test",))["test"] if chosen else self._score_files(data_dir)
            return self._splits(tuple(files), data_dir)
        if self.by_hand():
            reason = f"dataset {self.name!r} needs data_dir: it cannot be downloaded automatically\n{self.by_hand()}"
            raise MissingFileError(reason)
        downloads = dict(self.database.downloads)
        if self.config.images == "skip" and "scores" in downloads:
            del downloads["images"]
        paths = {name: self._fetch(dl_manager, place, self._how_to_get) for name, place in downloads.items()}
        folder = self._unpack(paths["images"]) if "images" in paths else os.path.dirname(paths["scores"])
        return self._splits((paths["scores"],) if "scores" in paths else self._score_files(folder), folder)

    def _score_files(self, data_dir: str) -> tuple[str, ...]:
        """Find the score files of a release, whose rows are concatenated."""
        for choice in self.database.score_files:
            files = tuple(first_file(data_dir, [name]) or "" for name in choice.split("+"))
            if all(files):
                return files
        expected = ", or ".join(self.database.score_files)
        raise MissingFileError(f"no score file; expected {expected}\n{self._how_to_get}", path=data_dir)

    def _splits(self, files: tuple[str, ...], data_dir: str) -> list[Annotation]:
        """Return the splits that the score files describe: `test` has all images."""
        return [Annotation("test", files, self._image_folders(data_dir, self.database.folders, self.database.archives))]

    def _read(self, path: str) -> list[Row]:
        return read_scores(path, self.database.formats, self.database.worst)

    def _example(self, raw: dict[str, Any], *, annotation: Annotation, path: str, number: int) -> dict[str, Any] | None:
        layout: ScoreFormat = raw[FORMAT]
        name = text_field(raw, layout.image, path=path, number=number)
        facts = self._facts(name)
        if not self._is_part(name, raw, facts, annotation.split):
            return None
        example = dict.fromkeys(self.info.features) | {"id": name, "image": name}
        return example | layout.scores_of(raw, path=path, number=number) | facts

    def _is_part(self, name: str, raw: dict[str, Any], facts: dict[str, Any], split: str) -> bool:
        """Whether a row belongs to a split and to this configuration; ValueError if the row does not show it."""
        return True

    def _facts(self, name: str) -> dict[str, Any]:
        """Return the columns that a file name shows."""
        match = re.fullmatch(self.database.names, name.rpartition("/")[2])
        facts: dict[str, Any] = match.groupdict() if match else {}
        if "distortion_type" in facts:
            facts["distortion_type"] = self.database.types.get(facts["distortion_type"], facts["distortion_type"])
            facts["distortion_level"] = int(facts["distortion_level"])
        return facts
