"""Data of one's own: any table or data set of images, brought into the documented columns.

`load_own("photos.csv", "quality", columns={"image": "file", "quality": "mos"})` reads a TSV, CSV, JSON Lines or Parquet
file, a folder (of images with their metadata, of shards, or written by `save_to_disk`) or a data set on the Hub. It is
checked row by row as the benchmarks' own releases are: errors name the file, the column and the row.
"""

import ast
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike, fspath
from string import ascii_uppercase
from types import MappingProxyType
from typing import Any, ClassVar

import datasets

from eyechart.datasets_scripts import own_sources
from eyechart.datasets_scripts.common.builder import Annotation, BenchmarkBuilder, BenchmarkConfig
from eyechart.datasets_scripts.common.choice.columns import (
    checked_letter,
    clean_options,
    letter_of_text,
    multiple_choice_features,
)
from eyechart.datasets_scripts.common.description import description_features
from eyechart.datasets_scripts.common.errors import (
    BadAnnotationError,
    DataError,
    UsageError,
    missing_column,
    unknown_name,
)
from eyechart.datasets_scripts.common.files.base64_images import base64_problem, decode_base64, is_base64
from eyechart.datasets_scripts.common.files.image_cells import ImageCell
from eyechart.datasets_scripts.common.files.readers import ROW_ERROR, Row, clean_text, number_field, text_field
from eyechart.datasets_scripts.common.fingerprint import source_fingerprint
from eyechart.datasets_scripts.common.pairs.columns import pair_features
from eyechart.datasets_scripts.common.quality.database import quality_features
from eyechart.datasets_scripts.own_sources import OwnSource, open_source

_IMAGES = ("image", "images")
_SIDES = ("first_id", "second_id")


@dataclass(frozen=True)
class _Kind:
    """The documented columns of one kind of data."""

    features: Callable[[], datasets.Features]
    required: tuple[str, ...]
    always: tuple[str, ...]
    """Columns that are in the result even if they are not in the data."""


_KINDS: Mapping[str, _Kind] = MappingProxyType(
    {
        "multiple choice": _Kind(
            lambda: multiple_choice_features([]),
            ("images", "question", "options", "answer"),
            ("id", "question_id", "rotation", "hint"),
        ),
        "quality": _Kind(quality_features, ("image", "quality"), ("id",)),
        "pairs": _Kind(pair_features, ("images", "first_quality", "second_quality"), ("id", *_SIDES)),
        "description": _Kind(description_features, ("image", "description"), ("id",)),
    }
)


def load_own(
    path: str | PathLike[str],
    kind: str,
    *,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    config: str | None = None,
    split: str | None = None,
    needs: Iterable[str] = (),
    needed_by: str | None = None,
    skip_missing: bool = False,
    skip_bad: bool = False,
    images: str = "load",
    cache_dir: str | PathLike[str] | None = None,
) -> datasets.Dataset:
    """Load data that have no loading script.

    Args:
        path: A .tsv, .csv, .jsonl or .parquet file; a folder that `datasets.load_dataset` or `load_from_disk` reads; or
            the id of a data set on the Hub.
        kind: The kind of columns wanted: "multiple choice", "quality", "pairs" or "description".
        columns: Names in the data by documented name; a documented name that is left out stands for itself. Several
            names make one list, as `{"options": ["A", "B", "C", "D"]}` or `{"images": ["left", "right"]}`. A key that
            is not documented renames a group.
        config: Configuration of a folder or a data set on the Hub.
        split: Split of the same, needed where there are several; a file has none and is called so, or "test".
        needs: Further columns that must be there, such as groups.
        needed_by: Whose need of a column errors name; the kind's by default.
        skip_missing: Leave out rows whose image file is absent instead of raising; see `left_out`.
        skip_bad: Leave out malformed rows instead of raising; see `left_out`.
        images: "load", or "skip" for the annotations alone with an empty image column.
        cache_dir: Folder of prepared data sets; that of `datasets` by default.

    Returns:
        The documented columns of the kind that are in the data, then every other column that holds a text, number or
        date in each row, as text ("" where empty), for groups. Always there are `id` (by default the row's number, from
        1); of multiple choice also `question_id` (the id), `rotation` (0) and `hint` (""); of pairs also `first_id` and
        `second_id` (the file names of the images).

        - Images are bytes, `datasets.Image`s, base64, data URLs, the `index` of another row (as in VLMEvalKit's tables)
          or paths relative to the file.
        - Options are a list, a text that writes one (as '["red", "blue"]'), or several columns, the last ones empty
          where a question has fewer.
        - Answers are letters of options, or the texts of options if more rows have that; all empty, they are private.
        - Numbers may be written as text.

    Raises:
        UsageError: Unknown kind, configuration or split.
        DataError: The data are not there or cannot be read, a column is missing, or a row is malformed.
    """
    if kind not in _KINDS:
        raise unknown_name("kind of data", kind, _KINDS)
    if split is not None and not re.fullmatch(r"\w+(\.\w+)*", split):
        raise UsageError(f"split {split!r} is not the name of a split; --limit takes the first rows of one")
    path = os.path.expanduser(fspath(path))
    # Any other path is the id of a data set on the Hub.
    path = os.path.abspath(path) if os.path.exists(path) else path
    cache = None if cache_dir is None else fspath(cache_dir)
    source = open_source(path, config, split, cache)
    used = _used_columns(columns or {}, _KINDS[kind], [*_KINDS[kind].required, *needs], source, path, needed_by or kind)
    builder = _OwnData(
        config_name="default",
        hash=source_fingerprint(__file__, own_sources.__file__),
        cache_dir=cache,
        path=path,
        fingerprint=source.fingerprint,
        kind=kind,
        used=used,
        groups=_groups(used, _KINDS[kind], source),
        split=source.split,
        skip_missing=skip_missing,
        skip_bad=skip_bad,
        images=images,
    )
    builder.source = source
    builder.download_and_prepare()
    return builder.as_dataset(split=source.split)


def _used_columns(
    given: Mapping[str, str | Sequence[str]],
    kind: _Kind,
    needed: Sequence[str],
    source: OwnSource,
    path: str,
    needed_by: str,
) -> dict[str, tuple[str, ...]]:
    """Return the data's columns by documented name, those of renamed groups included."""
    chosen = {role: (names,) if isinstance(names, str) else tuple(names) for role, names in given.items()}
    known = [name for name in (*kind.features(), *needed) if name in source.columns or name in needed]
    used = {role: (role,) for role in known if role not in chosen} | chosen
    for role, names in used.items():
        for name in names:
            if name not in source.columns:
                what = f" (needed by {needed_by})" if name == role else f", which columns names for {role!r}"
                raise BadAnnotationError(missing_column(name, source.columns, what), path=path)
        if len(names) != 1 and role not in ("images", "options"):
            raise UsageError(f"columns names {list(names)} for {role!r}, which takes one column")
    return used


def _groups(used: Mapping[str, tuple[str, ...]], kind: _Kind, source: OwnSource) -> dict[str, str]:
    """Return the data's columns by the names that they get as groups."""
    documented = kind.features()
    taken = {name for names in used.values() for name in names}
    renamed = {role: names[0] for role, names in used.items() if role not in documented}
    for role, name in renamed.items():
        if name not in source.group_columns:
            raise UsageError(f"column {name!r} cannot be {role!r}: it does not hold one text or number in each row")
    others = [name for name in source.group_columns if name not in taken and name not in (*documented, *renamed)]
    return renamed | {name: name for name in others}


@dataclass
class _OwnDataConfig(BenchmarkConfig):
    """What `load_own` found out."""

    path: str = ""
    fingerprint: str = ""
    kind: str = "quality"
    used: dict[str, tuple[str, ...]] = field(default_factory=dict)
    groups: dict[str, str] = field(default_factory=dict)
    split: str = "test"


@dataclass(frozen=True)
class _Base64Text(ImageCell):
    """A base64 image that was read as text."""

    text: str

    @property
    def problem(self) -> str:  # type: ignore[override]
        return base64_problem(self.text)

    def load(self) -> dict[str, Any]:
        return {"bytes": decode_base64(self.text), "path": None}


class _OwnData(BenchmarkBuilder):
    """Turns the rows of a source into rows of documented columns."""

    BUILDER_CONFIG_CLASS = _OwnDataConfig
    BUILDER_CONFIGS: ClassVar[list[BenchmarkConfig]] = [_OwnDataConfig(name="default")]
    source: OwnSource

    @property
    def _kind(self) -> _Kind:
        return _KINDS[self.config.kind]

    def _info(self) -> datasets.DatasetInfo:
        kept = {*self.config.used, *self._kind.always}
        documented = {name: feature for name, feature in self._kind.features().items() if name in kept}
        groups = dict.fromkeys(self.config.groups, datasets.Value("string"))
        return datasets.DatasetInfo(features=datasets.Features(documented | groups))

    def _annotations(self, dl_manager: datasets.DownloadManager) -> list[Annotation]:
        return [Annotation(self.config.split, (self.config.path,), self.source.folders)]

    def _read(self, path: str) -> list[Row]:
        return self._all_rows

    @cached_property
    def _all_rows(self) -> list[Row]:
        images = [name for role in _IMAGES for name in self.config.used.get(role, ())]
        further = [name for names in self.config.used.values() for name in names if name not in images]
        rows = self.source.read(images, further)
        return [(number, raw | {"_row": row}) for row, (number, raw) in enumerate(rows, 1)]

    def _good_rows(self) -> list[dict[str, Any]]:
        return [raw for _, raw in self._all_rows if ROW_ERROR not in raw]

    def _example(self, raw: dict[str, Any], *, annotation: Annotation, path: str, number: int) -> dict[str, Any]:
        features = self.info.features
        names = [
            name for name in self.config.used if name in self._kind.features() and name not in ("options", "answer")
        ]
        example: dict[str, Any] = {"id": str(raw["_row"])}
        try:
            example |= {name: self._value(name, features[name], raw, path, number) for name in names}
            for name, column in self.config.groups.items():
                example[name] = "" if raw.get(column) is None else str(raw[column])
        except ValueError as error:
            raise BadAnnotationError(str(error), path=path, row=number) from error
        if self.config.kind == "multiple choice":
            options = clean_options(self._options(raw, path, number), path=path, number=number)
            answer = self._answer(raw, options, path, number)
            own = {"question_id": example["id"], "rotation": 0, "hint": "", "options": options, "answer": answer}
            example = own | example
        if self.config.kind == "pairs":
            example = self._ids_of_pair(example, path, number)
        return example

    def _value(self, name: str, feature: Any, raw: Mapping[str, Any], path: str, number: int) -> Any:
        if name in _IMAGES:
            return self._images(name, raw)
        (column,) = self.config.used[name]
        value = raw.get(column)
        is_empty = value is None or (isinstance(value, str) and not value.strip())
        if is_empty and name not in (*self._kind.required, "id"):
            return "" if feature.dtype == "string" else None
        if feature.dtype == "float64":
            return number_field(raw, column, path=path, number=number)
        if feature.dtype == "int32":
            found = number_field(raw, column, path=path, number=number)
            if not found.is_integer():
                raise ValueError(f"field {column!r} must be a whole number, found {value!r}")
            return int(found)
        # Ids and names of groups may be numbers.
        if isinstance(value, int) and not isinstance(value, bool) and name not in self._kind.required:
            return str(value)
        return text_field(raw, column, path=path, number=number, empty=name == "description")

    def _images(self, name: str, raw: Mapping[str, Any]) -> Any:
        """The images of a row: paths, cells, or None for one that is missing."""
        columns = self.config.used[name]
        values = [raw.get(column) for column in columns]
        if len(columns) == 1 and isinstance(values[0], list):
            values = values[0]
        found = [self._image(value, raw) for value in values]
        if self.config.kind == "pairs" and len(found) != 2:
            raise ValueError(f"expected two images, found {len(found)}")
        if name == "image":
            if len(found) != 1:
                raise ValueError(f"expected one image, found {len(found)}")
            return found[0]
        # Questions on several images leave the further columns empty.
        present = [image for image in found if image is not None]
        return found if self.config.kind == "pairs" else present or [None]

    def _image(self, value: Any, raw: Mapping[str, Any]) -> str | ImageCell | None:
        if value is None or isinstance(value, ImageCell):
            return value
        if not isinstance(value, str):
            raise ValueError(f"an image must be bytes, base64 or a path, found {value!r:.80}")
        text = value if is_base64(value) else clean_text(value)
        if not text:
            return None
        if is_base64(text):
            return _Base64Text(text)
        return self._images_by_index.get(text, text)

    @cached_property
    def _images_by_index(self) -> dict[str, ImageCell]:
        """Images by the `index` of the row that holds them, which other rows may name (VLMEvalKit's tables)."""
        column = next((names[0] for role in _IMAGES if len(names := self.config.used.get(role, ())) == 1), None)
        rows = self._good_rows() if "index" in self.source.columns else []
        found = {clean_text(str(raw.get("index"))): raw.get(column or "") for raw in rows}
        return {index: cell for index, cell in found.items() if isinstance(cell, ImageCell)}

    def _options(self, raw: Mapping[str, Any], path: str, number: int) -> Any:
        columns = self.config.used["options"]
        if len(columns) == 1:
            value = raw.get(columns[0])
            return _list_in_text(value) if isinstance(value, str) else value
        values = [None if value is None or value == "" else value for value in map(raw.get, columns)]
        while values and values[-1] is None:
            values.pop()
        if None in values:
            empty = columns[values.index(None)]
            reason = f"column {empty!r} is empty and a later option is not; the letters of the options would move"
            raise BadAnnotationError(reason, path=path, row=number)
        return values

    def _answer(self, raw: Mapping[str, Any], options: Sequence[str], path: str, number: int) -> str:
        if self._answers == "private":
            return ""
        value = raw.get(self.config.used["answer"][0])
        read = letter_of_text if self._answers == "texts" else checked_letter
        return read(value, options, path=path, number=number)

    @cached_property
    def _answers(self) -> str:
        """What the answers are: "letters", "texts" or "private"."""
        column = self.config.used["answer"][0]
        letters = texts = 0
        unclear = ""
        rows = [raw for raw in self._good_rows() if raw.get(column) not in (None, "")]
        for raw in rows:
            options = self._options_or_none(raw)
            answer = clean_text(raw[column]) if isinstance(raw[column], str) else ""
            letter = answer.upper() in list(ascii_uppercase[: len(options)])
            letters += letter
            texts += answer in options
            if letter and answer in options and options[ascii_uppercase.index(answer.upper())] != answer:
                unclear = f"{answer!r} to the options {list(options)}"
        if unclear and letters == texts:
            reason = f"the answer {unclear} may be a letter or a text; write all answers as letters"
            raise DataError(reason, path=self.config.path)
        return "private" if not rows else "texts" if texts > letters else "letters"

    def _options_or_none(self, raw: Mapping[str, Any]) -> Sequence[str]:
        try:
            return clean_options(self._options(raw, "", 0), path="", number=0)
        except BadAnnotationError:
            # The row itself is reported when it is parsed.
            return ()

    def _ids_of_pair(self, example: dict[str, Any], path: str, number: int) -> dict[str, Any]:
        """Add the file names of the images as their ids, where the data have no others."""
        for name, image in zip(_SIDES, example["images"], strict=True):
            if name in example:
                continue
            if not isinstance(image, str):
                reason = f"missing column {name!r}: images that are not files have no names to tell them apart by"
                raise BadAnnotationError(reason, path=path, row=number)
            example[name] = image
        return example

    def _check_images(self, example: dict[str, Any], path: str, number: int) -> None:
        # Paths in a file of one's own may lead anywhere.
        images = example["images"] if "images" in example else [example["image"]]
        for image in images:
            if isinstance(image, ImageCell) and image.problem:
                raise BadAnnotationError(image.problem, path=path, row=number)


def _list_in_text(text: str) -> Any:
    """Read a list that a table's cell writes as JSON or as Python does; anything else is given as it is."""
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return text
