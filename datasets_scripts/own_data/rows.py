"""Conversion of a source's rows to the documented columns."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

import datasets

from eyechart.datasets_scripts.common.builder import Annotation, BenchmarkBuilder, BenchmarkConfig
from eyechart.datasets_scripts.common.choice.columns import description_features, multiple_choice_features
from eyechart.datasets_scripts.common.files.image_cells import ImageCell, base64_problem, decode_base64, is_base64
from eyechart.datasets_scripts.common.files.readers import ROW_ERROR, Row, clean_text, number_field, text_field
from eyechart.datasets_scripts.common.left_out import LeftOut
from eyechart.datasets_scripts.common.pairs import pair_features
from eyechart.datasets_scripts.common.quality.database import quality_features
from eyechart.datasets_scripts.own_data.choices import (
    QUALITIES,
    WINNER,
    AnswerForm,
    find_answer_form,
    read_answer,
    read_options,
    read_winner,
)
from eyechart.datasets_scripts.own_data.sources import OwnSource

_IMAGES = ("image", "images")
_SIDES = ("first_id", "second_id")
NUMBERED = ("answer", WINNER)
"""Columns that may contain numbers, if their base is given."""


@dataclass(frozen=True)
class Kind:
    """The documented columns of one kind of data."""

    features: datasets.Features
    required: tuple[str, ...]
    always: tuple[str, ...]
    """Columns of the result, even if the data do not have them."""


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "multiple choice": Kind(
            multiple_choice_features([]),
            ("images", "question", "options", "answer"),
            ("id", "question_id", "rotation", "hint"),
        ),
        "quality": Kind(quality_features(), ("image", "quality"), ("id",)),
        "pairs": Kind(
            datasets.Features({**pair_features(), WINNER: datasets.Value("string")}),
            ("images", *QUALITIES),
            ("id", *_SIDES, *QUALITIES),
        ),
        "description": Kind(description_features(), ("image", "description"), ("id",)),
    }
)


@dataclass
class OwnDataConfig(BenchmarkConfig):
    """The settings that `load_own` derived from the data."""

    path: str = ""
    fingerprint: str = ""
    kind: str = "quality"
    used: dict[str, tuple[str, ...]] = field(default_factory=dict)
    bases: dict[str, int] = field(default_factory=dict)
    empty: tuple[str, ...] = ()
    image_dir: str | None = None
    groups: dict[str, str] = field(default_factory=dict)
    split: str = "test"


@dataclass(frozen=True)
class _Base64Text(ImageCell):
    """A base64 image that was read as text."""

    text: str

    @property
    def problem(self) -> str:  # type: ignore[override]
        return base64_problem(self.text)

    def load(self) -> bytes:
        return decode_base64(self.text)


class OwnData(BenchmarkBuilder):
    """Converts the rows of a source to the documented columns; reads it several times instead of keeping it."""

    BUILDER_CONFIG_CLASS = OwnDataConfig
    RELATIVE_NAMES = False
    citation = ""
    source: OwnSource

    @property
    def _kind(self) -> Kind:
        return KINDS[self.config.kind]

    def _about(self) -> tuple[datasets.Features, str, str]:
        kept = {*self.config.used, *self._kind.always}
        documented = {name: feature for name, feature in self._kind.features.items() if name in kept}
        return datasets.Features(documented | dict.fromkeys(self.config.groups, datasets.Value("string"))), "", ""

    def _annotations(self, dl_manager: datasets.DownloadManager) -> list[Annotation]:
        folders = self.source.folders if self.config.image_dir is None else (self.config.image_dir,)
        return [Annotation(self.config.split, (self.config.path,), folders)]

    def _checked(self, annotation: Annotation, left_out: LeftOut) -> tuple[int, Iterator[dict[str, Any]]]:
        count = sum(1 for _ in self._iterate(annotation, left_out))
        return count, self._iterate(annotation, LeftOut(skip_missing=True, skip_bad=True, log=False))

    def _read(self, path: str) -> Iterator[Row]:
        images = [name for role in _IMAGES for name in self.config.used.get(role, ())]
        further = [name for names in self.config.used.values() for name in names if name not in images]
        empty = self.config.empty
        for row, (number, raw) in enumerate(self.source.read(images, further), 1):
            yield number, {name: None if cell in empty else cell for name, cell in raw.items()} | {"_row": row}

    def _good_rows(self) -> Iterator[dict[str, Any]]:
        return (raw for _, raw in self._read(self.config.path) if ROW_ERROR not in raw)

    def _example(self, raw: dict[str, Any], *, annotation: Annotation, path: str, number: int) -> dict[str, Any]:
        used, bases, features = self.config.used, self.config.bases, self._kind.features
        example: dict[str, Any] = {"id": str(raw["_row"])}
        for name in used:
            if name in features and name not in ("options", *NUMBERED):
                example[name] = self._value(name, features[name], raw, path, number)
        for name, column in self.config.groups.items():
            example[name] = "" if raw.get(column) is None else str(raw[column])
        if self.config.kind == "multiple choice":
            options = read_options(raw, used["options"])
            answer = read_answer(raw.get(used["answer"][0]), options, self._answer_form, bases.get("answer", 0))
            own = {"question_id": example["id"], "rotation": 0, "hint": ""}
            return own | example | {"options": options, "answer": answer}
        if self.config.kind == "pairs":
            example = dict.fromkeys(QUALITIES) | example
            for name, image in zip(_SIDES, example["images"], strict=True):
                if name not in example and not isinstance(image, str):
                    raise ValueError(f"missing column {name!r}: images that are not files need ids")
                example.setdefault(name, image)
            if WINNER in used:
                columns = [(column,) for column in used["images"]] if len(used["images"]) > 1 else [(), ()]
                names = [(example[side], *column) for side, column in zip(_SIDES, columns, strict=True)]
                example[WINNER] = read_winner(raw.get(used[WINNER][0]), names, bases.get(WINNER))
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
            whole = number_field(raw, column, path=path, number=number)
            if not whole.is_integer() or abs(whole) >= 2**31:
                raise ValueError(f"field {column!r} must be a whole number below 2**31, found {value!r:.80}")
            return int(whole)
        # Ids, names of groups and references may be numbers.
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and (name == "description" or (isinstance(value, int) and name not in self._kind.required)):
            return str(value)
        return text_field(raw, column, path=path, number=number, empty=name == "description")

    def _images(self, name: str, raw: Mapping[str, Any]) -> Any:
        """The images of a row: paths, cells, or None for one that is missing."""
        columns = self.config.used[name]
        values = [raw.get(column) for column in columns]
        if len(columns) == 1 and isinstance(values[0], list):
            values = values[0]
        images = [self._image(value) for value in values]
        count = 1 if name == "image" else 2 if self.config.kind == "pairs" else len(images)
        if len(images) != count:
            raise ValueError(f"expected {'one image' if count == 1 else 'two images'}, found {len(images)}")
        if name == "image":
            return images[0]
        # Columns of further images may be empty.
        present = [image for image in images if image is not None]
        return images if self.config.kind == "pairs" else present or [None]

    def _image(self, value: Any) -> str | ImageCell | None:
        if value is None or isinstance(value, ImageCell):
            return value
        if not isinstance(value, str):
            raise ValueError(f"an image must be bytes, base64 or a path; found {value!r:.80}")
        text = value if is_base64(value) else clean_text(value)
        if "://" in text:
            raise ValueError(f"an image is the URL {text!r:.80}; download or unpack the images and use their paths")
        if is_base64(text):
            return _Base64Text(text)
        return self._images_by_index.get(text, text) or None

    @cached_property
    def _images_by_index(self) -> dict[str, ImageCell]:
        """Images by the `index` of their row, which other rows may name (VLMEvalKit's tables)."""
        column = next((names[0] for role in _IMAGES if len(names := self.config.used.get(role, ())) == 1), None)
        rows = self._good_rows() if "index" in self.source.columns else ()
        cells = ((raw.get("index"), raw.get(column or "")) for raw in rows)
        return {clean_text(str(index)): cell for index, cell in cells if isinstance(cell, ImageCell)}

    @cached_property
    def _answer_form(self) -> AnswerForm:
        used = self.config.used
        has_base = "answer" in self.config.bases
        return find_answer_form(self._good_rows(), used["answer"][0], used["options"], has_base, self.config.path)
