"""Base class of all loading scripts: configuration, caching, parsing of annotations; images stay encoded."""

import functools
import hashlib
import json
import logging
import os
import re
import sys
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, ClassVar

import datasets

from eyechart.datasets_scripts.catalog import DATASETS
from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingFileError, UsageError, unknown_name
from eyechart.datasets_scripts.common.files.archives import image_folders, unpack
from eyechart.datasets_scripts.common.files.data_files import chosen_data_files
from eyechart.datasets_scripts.common.files.downloads import check_sha256, resumable_download
from eyechart.datasets_scripts.common.files.image_cells import ImageCell, load_image
from eyechart.datasets_scripts.common.files.readers import ROW_ERROR, Row
from eyechart.datasets_scripts.common.fingerprint import files_fingerprint, folder_fingerprint, source_fingerprint
from eyechart.datasets_scripts.common.left_out import SIDECAR, LeftOut
from eyechart.datasets_scripts.common.paths import find_image, is_inside, release_folder
from eyechart.datasets_scripts.common.prepared import PreparedBuilder

_logger = logging.getLogger("eyechart.datasets_scripts")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


@dataclass
class BenchmarkConfig(datasets.BuilderConfig):
    """Settings of a dataset; `name`, `data_dir` and `data_files` are those of `datasets`."""

    skip_missing: bool = False
    """Leave out rows whose image file is missing, and list them, instead of raising."""
    skip_bad: bool = False
    """Leave out malformed rows, and list them, instead of raising."""
    images: str = "load"
    """"load", or "skip" to load only the annotations and leave the image column empty."""
    only_splits: tuple[str, ...] = ()
    """Splits to prepare; by default all that the release has. Files that only other splits need may be missing."""
    own_data_files: bool = False
    """Whether the user named `data_files`, not `datasets` on its own; see `chosen_data_files`."""

    def create_config_id(self, config_kwargs: dict[str, Any], custom_features: Any = None) -> str:
        """Name the cache folder after the settings, the shared loading code and the source data."""
        parts = {key: str(value) for key, value in config_kwargs.items() if key != "data_files"}
        parts["features"] = str(custom_features)
        parts["common"] = source_fingerprint()
        if self.data_dir is not None:
            folder = release_folder(self.data_dir)
            parts["data_dir"] = f"{folder}|{folder_fingerprint(folder)}"
        for split, files in (self.data_files or {}).items():
            parts[f"data_files {split}"] = files_fingerprint(map(str, files))
        digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode(errors="surrogateescape"))
        return f"{self.name}-{digest.hexdigest()[:16]}"


@dataclass(frozen=True)
class Annotation:
    """The annotation files of one split, and the folders that may contain its images, the most likely first."""

    split: str
    files: tuple[str, ...]
    image_folders: tuple[str, ...]


class BenchmarkBuilder(PreparedBuilder):
    """Base class of all loading scripts.

    A script finds its annotations (`_annotations`), reads a file into raw rows (`_read`) and turns one raw row into one
    example (`_example`). All rows are parsed in the main process: errors are raised before anything is written, and
    `num_proc` shards plain lists; own data are parsed again instead. Images stay encoded: no image is decoded here.
    """

    BUILDER_CONFIG_CLASS = BenchmarkConfig
    VERSION = datasets.Version("1.0.0")
    SPLITS: ClassVar[tuple[str, ...]] = ("test",)
    """All splits that the dataset can have."""
    RELATIVE_NAMES: ClassVar[bool] = True
    """Whether images are named relative to their folder, and not by any path below it."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Take the configurations from the catalog; a script has the name of its dataset."""
        super().__init_subclass__(**kwargs)
        names = getattr(DATASETS.get(cls.__module__.rpartition(".")[2]), "configs", ("default",))
        cls.BUILDER_CONFIGS = [cls.BUILDER_CONFIG_CLASS(name=name) for name in names]
        cls.DEFAULT_CONFIG_NAME = names[0]

    def _info(self) -> datasets.DatasetInfo:
        features, homepage, licence = self._about()
        description = sys.modules[type(self).__module__].__doc__
        return datasets.DatasetInfo(description, self.citation, homepage, licence, features)

    @property
    def citation(self) -> str:
        """The BibTeX entries on the dataset's card."""
        card = resources.files("eyechart.hub_cards").joinpath("datasets", f"{self.name}.md").read_text(encoding="utf-8")
        return "".join(re.findall(r"```bibtex\n(.*?)```", card, re.DOTALL))

    def by_hand(self) -> str:
        """How to get by hand what cannot be downloaded automatically, as steps; "" if nothing."""
        return ""

    @abstractmethod
    def _about(self) -> tuple[datasets.Features, str, str]:
        """The columns, the homepage and the licence."""

    @abstractmethod
    def _annotations(self, dl_manager: datasets.DownloadManager) -> list[Annotation]:
        """Find the annotations of every split that the user's copy of the release has."""

    @abstractmethod
    def _read(self, path: str) -> Iterable[Row]:
        """Read an annotation file into numbered raw rows."""

    @abstractmethod
    def _example(self, raw: dict[str, Any], *, annotation: Annotation, path: str, number: int) -> dict[str, Any] | None:
        """Turn a raw row into an example, with file names or `ImageCell`s as images; None if it is not one.

        Raises ValueError for a malformed row, `BadAnnotationError` if the fault is in another row or file.
        """

    def _split_generators(self, dl_manager: datasets.DownloadManager) -> list[datasets.SplitGenerator]:
        config = self.config
        if config.images not in ("load", "skip"):
            raise unknown_name("value", config.images, ("load", "skip"), "of images")
        left_out = LeftOut(skip_missing=config.skip_missing, skip_bad=config.skip_bad, log=dl_manager.is_streaming)
        self.show_download()
        annotations = self._annotations(dl_manager)
        present = [annotation.split for annotation in annotations]
        for split in config.only_splits:
            if split not in present:
                found = ", ".join(present) or "none"
                what = f"dataset {self.name!r}: no annotation file for split {split!r}"
                raise MissingFileError(f"{what}; splits found: {found}")
        annotations = [one for one in annotations if one.split in (config.only_splits or present)]
        rows = {annotation.split: self._checked(annotation, left_out) for annotation in annotations}
        folders = sorted({folder for annotation in annotations for folder in annotation.image_folders})
        searched = f"Searched: {', '.join(folders)}\nPut the files there"
        hint = searched if folders else "The images are part of this file; if it is incomplete, download it again"
        left_out.check_missing(hint, annotations[0].files[0])
        for annotation in annotations:
            if not rows[annotation.split][0]:
                items = [item for item in left_out.items if item["split"] == annotation.split]
                why = f": {len(items)} left out, first: {items[0]['id']}: {items[0]['reason']}" if items else ""
                reason = f"no row of split {annotation.split!r} can be loaded{why}"
                raise BadAnnotationError(reason, path=annotation.files[0])
        if not dl_manager.is_streaming:
            with open(os.path.join(self.output_folder, SIDECAR), "w", encoding="utf-8") as file:
                json.dump(left_out.items, file, ensure_ascii=False, indent=1)
        return [datasets.SplitGenerator(name=split, gen_kwargs={"rows": part}) for split, (_, part) in rows.items()]

    def show_download(self) -> None:
        """Log the size and the licence of a large download that is about to begin."""
        config, size = self.config, DATASETS[self.name].download_gb if self.name in DATASETS else 0
        is_chosen = config.data_dir is not None or config.own_data_files
        if size and config.images == "load" and not is_chosen and not self.by_hand():
            text = "%s: %g GB to download, unless in the cache; licence: %s"
            _logger.warning(text, self.name, size, self.info.license)

    def _generate_examples(self, rows: Iterable[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
        for row in rows:
            images = row[self._image_column]
            loaded = [load_image(image) for image in images] if isinstance(images, list) else load_image(images)
            yield row["id"], {**row, self._image_column: loaded}

    @property
    def _image_column(self) -> str:
        return "images" if "images" in self.info.features else "image"

    def _given(self, *suffixes: str) -> tuple[dict[str, list[str]] | None, str | None]:
        """The files that the user named, by split, and their or the release's folder; None for what was not given."""
        chosen, data_dir = chosen_data_files(self.config, suffixes), self.config.data_dir
        if data_dir is not None:
            return chosen, release_folder(data_dir)
        return chosen, None if chosen is None else os.path.dirname(next(iter(chosen.values()))[0])

    def _fetch(self, dl_manager: datasets.DownloadManager, location: str, how_to_get: str) -> str:
        """Download one of the release's files into the cache of `datasets`, or its rest, and return its path there."""
        if dl_manager.is_streaming:
            raise UsageError(f"streaming needs data_dir: the files must be downloaded first\n{how_to_get}")
        # The Hub's address may be that of a mirror.
        place = location.replace("https://huggingface.co", datasets.config.HF_ENDPOINT)
        try:
            if place.startswith(("http://", "https://")) and not place.startswith(datasets.config.HF_ENDPOINT):
                found = resumable_download(place, self.downloads_folder)
            else:
                found = dl_manager.download(place)
        # What the library and its HTTP client raise differs between versions.
        except Exception as error:
            reason = f"{place} cannot be downloaded ({type(error).__name__}: {error}); the same command resumes it"
            raise MissingFileError(f"{reason}\n{how_to_get}") from error
        check_sha256(found, place)
        return found

    def _unpack(self, archive: str) -> str:
        return unpack(archive, self._unpacked_folder)

    def _image_folders(self, data_dir: str, names: Sequence[str], archives: Sequence[str] = ()) -> tuple[str, ...]:
        return image_folders(data_dir, names, archives if self.config.images == "load" else (), self._unpacked_folder)

    @property
    def _unpacked_folder(self) -> str:
        return os.path.join(self.downloads_folder, datasets.config.EXTRACTED_DATASETS_DIR)

    def _checked(self, annotation: Annotation, left_out: LeftOut) -> tuple[int, Iterable[dict[str, Any]]]:
        """The number of examples of a split, and the examples; all were checked."""
        return len(rows := self._parse(annotation, left_out)), rows

    def _parse(self, annotation: Annotation, left_out: LeftOut) -> list[dict[str, Any]]:
        return list(self._iterate(annotation, left_out))

    def _iterate(self, annotation: Annotation, left_out: LeftOut) -> Iterator[dict[str, Any]]:
        places: dict[str, int] = {}
        real = functools.cache(os.path.realpath)
        for path, number, raw in self._rows(annotation):
            try:
                if ROW_ERROR in raw:
                    raise ValueError(raw[ROW_ERROR])
                example = self._example(raw, annotation=annotation, path=path, number=number)
                if example is None:
                    continue
                _check_texts(example)
                if example["id"] in places:
                    reason = f"duplicate id {example['id']!r}: row {places[example['id']]} has the same id"
                    raise ValueError(reason)
                missing = self._find_images(example, annotation.image_folders, real)
            except (BadAnnotationError, ValueError) as error:
                if not isinstance(error, BadAnnotationError):
                    error = BadAnnotationError(str(error), path=path, row=number)
                left_out.bad(error, annotation.split)
                continue
            if missing is not None:
                left_out.missing(example["id"], missing, annotation.split)
            else:
                places[example["id"]] = number
                yield example

    def _rows(self, annotation: Annotation) -> Iterator[tuple[str, int, dict[str, Any]]]:
        """All raw rows of a split, each with its file and number."""
        return ((path, *row) for path in annotation.files for row in self._read(path))

    def _find_images(self, example: dict[str, Any], folders: Sequence[str], real: Callable[[str], str]) -> str | None:
        """Replace image names by paths; return the name of a missing image, else None. `real` as in `find_image`."""
        column = self._image_column
        single = not isinstance(example[column], list)
        names = _as_list(example[column])
        for name in names:
            if isinstance(name, ImageCell) and name.problem:
                raise ValueError(name.problem)
            if isinstance(name, str) and self.RELATIVE_NAMES and not is_inside(name):
                raise ValueError(f"image name {name!r} points outside the image folder")
        if self.config.images == "skip":
            example[column] = None if single else []
            return None
        found = [find_image(folders, name, real) if isinstance(name, str) else name for name in names]
        example[column] = found[0] if single else found
        missing = [name for name, image in zip(names, found, strict=True) if image is None]
        return str(missing[0] or "no image named") if missing else None


def _as_list(images: Any) -> Sequence[str | ImageCell | None]:
    return images if isinstance(images, list) else [images]


def _check_texts(example: dict[str, Any]) -> None:
    """Refuse invalid Unicode: JSON can escape a lone surrogate, but UTF-8 cannot encode it."""
    for column, value in example.items():
        for text in _as_list(value):
            if isinstance(text, str) and not text.isascii() and _SURROGATE.search(text):
                raise ValueError(f"column {column!r} is not valid Unicode: {text!r}")
