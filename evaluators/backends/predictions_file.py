"""Answers made elsewhere, read from a JSON Lines file.

Each line is an object with `id`, `pass` ("main" if absent), and `text` or `logits` ({word: value}); `options` are the
options as they were shown. A letter without `options` means the release's order.
"""

import json
import math
from collections.abc import Iterator
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eyechart.datasets_scripts.common.errors import BadAnnotationError
from eyechart.datasets_scripts.common.errors import DataError
from eyechart.datasets_scripts.common.errors import MissingFileError
from eyechart.datasets_scripts.common.errors import ModelError
from eyechart.evaluators.types import Request
from eyechart.evaluators.types import Response
from eyechart.evaluators.types import Wanted


@dataclass(frozen=True)
class _Prediction:
    line: int
    text: str | None
    logits: dict[str, float] | None
    options: tuple[str, ...] | None


class PredictionsFileBackend:
    """Answers requests from a file.

    Args:
        path: The JSON Lines file.
        name: How results call the model that made the answers; the file's name by default.
    """

    needs_images = False
    asks_singly = False

    def __init__(self, path: str | Path, *, name: str | None = None) -> None:
        """Read the whole file.

        Raises:
            MissingFileError: There is no such file.
            BadAnnotationError: A line is malformed or its (id, pass) was there before; the message names the line.
        """
        self._path = Path(path)
        self._name = name or self._path.stem
        self._predictions = _read(self._path)
        self._used = 0

    @property
    def name(self) -> str:
        """The model that made the answers."""
        return self._name

    def check(self, wanted: Wanted) -> None:
        """Refuse losses; whether the file holds the texts or logits is known only item by item."""
        if wanted is Wanted.LOSSES:
            raise ModelError(f"a predictions file holds text or logits but no {wanted.value}.")

    def identity(self) -> None:
        """Unknown: what is read from a file needs no store."""

    def answer(self, requests: Sequence[Request]) -> Iterator[Response]:
        """Look each request up; one that is not in the file, or lacks what was asked, is an error of that item."""
        for request in requests:
            prediction = self._predictions.get((request.id, request.pass_name))
            if prediction is None:
                reason = f"no prediction for id '{request.id}', pass '{request.pass_name}'"
                yield Response(request, error=DataError(reason, path=self._path))
                continue
            self._used += 1
            yield self._respond(request, prediction)

    def settings(self) -> dict[str, Any]:
        """The file and how many of its predictions were not asked for."""
        return {
            "backend": "predictions_file",
            "name": self._name,
            "file": self._path.name,
            "predictions": len(self._predictions),
            "predictions_unused": len(self._predictions) - self._used,
        }

    def _respond(self, request: Request, prediction: _Prediction) -> Response:
        if request.words:
            lacking = [word for word in request.words if word not in (prediction.logits or {})]
            if lacking:
                reason = f"no logits for {', '.join(lacking)}"
                return Response(request, error=DataError(reason, path=self._path, row=prediction.line))
            return Response(request, logits={word: (prediction.logits or {})[word] for word in request.words})
        if prediction.text is None:
            return Response(request, error=DataError("no text", path=self._path, row=prediction.line))
        shown = prediction.options
        if shown is not None and sorted(shown) != sorted(request.options):
            reason = f"options {list(shown)} are not those of the question: {list(request.options)}"
            return Response(request, error=DataError(reason, path=self._path, row=prediction.line))
        return Response(request, text=prediction.text, options=shown)


def _read(path: Path) -> dict[tuple[str, str], _Prediction]:
    try:
        # Not splitlines: JSON strings may hold the other characters that it takes for line breaks.
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except FileNotFoundError as error:
        raise MissingFileError("the predictions file does not exist", path=path) from error
    except (OSError, UnicodeDecodeError) as error:
        raise BadAnnotationError(f"the predictions file cannot be read as UTF-8 text: {error}", path=path) from error
    predictions: dict[tuple[str, str], _Prediction] = {}
    for number, line in enumerate(lines, start=1):
        if line.strip():
            key, prediction = _parse(line, number, path)
            if key in predictions:
                reason = f"id '{key[0]}', pass '{key[1]}' was already given in row {predictions[key].line}"
                raise BadAnnotationError(reason, path=path, row=number)
            predictions[key] = prediction
    if not predictions:
        raise BadAnnotationError("the predictions file holds no predictions", path=path)
    return predictions


def _parse(line: str, number: int, path: Path) -> tuple[tuple[str, str], _Prediction]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadAnnotationError(f"not JSON: {error}", path=path, row=number) from error
    problem = _problem(record)
    if problem:
        raise BadAnnotationError(problem, path=path, row=number)
    logits = record.get("logits")
    options = record.get("options")
    return (str(record["id"]), str(record.get("pass", "main"))), _Prediction(
        line=number,
        text=record.get("text"),
        logits=None if logits is None else {word: float(value) for word, value in logits.items()},
        options=None if options is None else tuple(options),
    )


def _problem(record: Any) -> str:
    """What is wrong with one parsed line; "" if nothing is."""
    if not isinstance(record, dict):
        return f"expected an object, found {type(record).__name__}"
    if not (_is_text(record.get("id")) or isinstance(record.get("id"), int)) or record["id"] == "":
        return f"'id' is {record.get('id')!r}; expected a non-empty string or a whole number"
    if not _is_text(record.get("text", "")) and record["text"] is not None:
        return f"'text' is {record['text']!r}; expected a string"
    logits = record.get("logits")
    if not isinstance(logits, dict | None):
        return f"'logits' is {logits!r}; expected an object of word to number"
    for word, value in (logits or {}).items():
        if not _is_finite(value):
            return f"the logit of '{word}' is {value!r}; expected a finite number"
    options = record.get("options")
    if options is not None and not (isinstance(options, list) and all(_is_text(o) for o in options)):
        return f"'options' is {options!r}; expected a list of strings"
    if record.get("text") is None and logits is None:
        return "neither 'text' nor 'logits' is there"
    return ""


def _is_text(value: Any) -> bool:
    """Whether it is a string that can be written to a file: JSON can spell halves of characters."""
    return isinstance(value, str) and not any("\ud800" <= character <= "\udfff" for character in value)


def _is_finite(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False
