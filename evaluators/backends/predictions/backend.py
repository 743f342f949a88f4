"""Precomputed predictions as a backend; docs/topics/predictions.md has the rules for rows and items with problems."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from copy import copy
from itertools import zip_longest
from pathlib import Path
from typing import Any, Self

from typing_extensions import override

from eyechart.datasets_scripts.common.errors import DataError, UsageError
from eyechart.datasets_scripts.common.files.spreadsheets import CELL_LIMIT
from eyechart.evaluators.backends.predictions.formats import OWN, XLSX, read_predictions
from eyechart.evaluators.backends.predictions.inspect_log import SUFFIX, read_header
from eyechart.evaluators.backends.predictions.matching import READ_AS_EMPTY, Matcher, comparable, group_items
from eyechart.evaluators.backends.predictions.prediction import Prediction
from eyechart.evaluators.requests.errors import MissingPredictionError, ModelError
from eyechart.evaluators.requests.types import FROM_FILE, Backend, OutputType, Request, Response

_IMAGES = re.compile(r"(?:<image>)+")


class PredictionsFileBackend(Backend):
    """Answers requests from a file of precomputed predictions.

    Args:
        path: The file, in one of the supported formats.
        name: Name in results of the model that made the predictions; by default that in a log of inspect-ai, or the
            file's name.
        lower_is_better: Whether a lower score means a better image, as for NIQE; the scores are then negated.

    Raises:
        MissingFileError: The file does not exist.
        BadAnnotationError: The format is unknown, a row is malformed, or two rows about the same pass over the same
            item differ; the message names the row.
        UsageError: `lower_is_better` is given for a file without scores.
    """

    needs_images = False
    writes_replies = False

    def __init__(self, path: str | Path, *, name: str | None = None, lower_is_better: bool = False) -> None:
        """Read the complete file."""
        self._path = Path(path)
        self._header = read_header(self._path) if self._path.suffix.lower() == SUFFIX else None
        self.name = name or (self._header.model if self._header else self._path.stem)
        self._format, self._predictions = read_predictions(self._path)
        self._items, self._passes = group_items(self._predictions, self._path)
        self._has_scores = any(prediction.score is not None for prediction in self._predictions)
        if lower_is_better and not self._has_scores:
            raise UsageError(f"lower_is_better=True needs scores, but {self._path} has none; leave it out")
        self._sign = -1 if lower_is_better else 1
        # By row, the dataset for which it was used; shared by all backends that `for_data` makes.
        self._dataset_of = [""] * (1 + self._predictions[-1].row)
        self._bind("")

    def _bind(self, dataset: str) -> None:
        self._dataset = dataset
        self._matcher = Matcher(self._items, self._path, has_our_ids=self._format is OWN)
        self._is_used = bytearray(len(self._dataset_of))

    @property
    def config(self) -> str | None:
        """The config of the dataset that the file is about; None if unknown."""
        return self._format.config

    @override
    def check(self, output_type: OutputType) -> None:
        # Whether the file has the texts or logits is known only item by item.
        if output_type is OutputType.LOSSES:
            raise ModelError(f"a predictions file gives text, logits or scores, not {output_type.value}.")

    def for_data(self, dataset: str) -> Self:
        """The same file, matched to the rows of this dataset only; a row of the file is used for one dataset."""
        bound = copy(self)
        bound._bind(dataset)
        return bound

    def answer(self, requests: Sequence[Request]) -> Iterator[Response]:
        """Look up each request; if its prediction is missing or not of the right kind, that is an error of its item."""
        self._matcher.match(requests)
        if self._has_scores:
            self._matcher.match([Request(image, (), ()) for request in requests for image in request.image_ids])
        for request in requests:
            try:
                yield self._look_up(request)
            except DataError as error:
                yield Response(request, error=error)

    def settings(self) -> dict[str, Any]:
        """The file, its format, how its rows were matched to items, and how many rows were not used."""
        distinct = len(self._items) + sum(len(passes) - 1 for passes in self._passes.values())
        settings = {
            "backend": FROM_FILE,
            "name": self.name,
            "file": self._path.name,
            "format": self._format.name,
            "predictions": len(self._predictions),
            "predictions_unused": distinct - sum(self._is_used),
            "matched_by": {way: count for way, count in self._matcher.ways.items() if count},
        }
        if self._header:
            settings |= self._header.decoding
        if distinct < len(self._predictions):
            settings["predictions_repeated"] = len(self._predictions) - distinct
        if self._has_scores:
            settings["lower_is_better"] = self._sign < 0
        if with_thinking := sum(bool(prediction.reasoning) for prediction in self._predictions):
            settings["with_thinking"] = with_thinking
        if self._path.suffix.lower() == XLSX:
            lengths = (len(prediction.text or "") for prediction in self._predictions)
            settings["cut_at_cell_limit"] = sum(length >= CELL_LIMIT for length in lengths)
        return settings

    def _look_up(self, request: Request) -> Response:
        """The response to a request; raises a DataError if there is none."""
        item = self._matcher.matched.get(request.id)
        passes = self._passes.get(item.id, {item.pass_name: item}) if item else {}
        prediction = passes.get(request.pass_name)
        if prediction is None:
            if request.image_ids and self._has_scores:
                return self._compare(request)
            if item is None and request.id in self._matcher.errors:
                raise self._matcher.errors[request.id]
            hint = f"; passes in the file: {', '.join(passes)}" if item else self._matcher.hint
            reason = f"no prediction for id '{request.id}', pass '{request.pass_name}'{hint}"
            raise MissingPredictionError(reason, path=self._path)
        self._is_used[prediction.row] = True
        if prediction.problem:
            raise MissingPredictionError(f"no reply: {prediction.problem}", path=self._path, row=prediction.row)
        self._check_asked(request, prediction)
        try:
            return self._respond(request, prediction)
        except ValueError as error:
            raise DataError(str(error), path=self._path, row=prediction.row) from error

    def _respond(self, request: Request, prediction: Prediction) -> Response:
        """The response with a prediction; raises ValueError if the prediction is not of the right kind."""
        dataset = self._dataset_of[prediction.row] = self._dataset_of[prediction.row] or self._dataset
        if dataset != self._dataset:
            raise ValueError(
                f"this row was used for {dataset}, but {self._dataset} also has an item '{request.id}'. Write a "
                "predictions file for each dataset, and score each with --dataset"
            )
        if request.words:
            logits = prediction.logits or {}
            missing = [word for word in request.words if word not in logits]
            if not missing:
                of_words = {word: logits[word] for word in request.all_words if word in logits}
                bounds = prediction.upper_bound_words
                return Response(request, logits=of_words, cluster=prediction.cluster, upper_bound_words=bounds)
            if prediction.score is None:
                raise ValueError(f"missing logits of {', '.join(missing)}")
            return Response(request, score=self._sign * prediction.score)
        if prediction.text is None:
            raise ValueError("the row has no text")
        return Response(
            request,
            text=prediction.text,
            reasoning=prediction.reasoning or None,
            finish_reason=prediction.finish_reason or None,
            options=_shown_options(request, prediction),
            cluster=prediction.cluster,
        )

    def _check_asked(self, request: Request, prediction: Prediction) -> None:
        """Refuse a reply to another request, if the file says what was asked."""
        if prediction.rendered_prompt is None:
            return
        # Without images, their number is unknown.
        asked, rendered = (_IMAGES.sub("<image>", text) for text in (prediction.rendered_prompt, request.rendered()))
        length = self._header.max_new_tokens if self._header else None
        if asked != rendered:
            lines = zip_longest(asked.splitlines(), rendered.splitlines(), fillvalue="")
            theirs, ours = next((pair for pair in lines if pair[0] != pair[1]), (asked, rendered))
            problem = f"the model was asked {theirs!r:.200}, and with these settings it would be {ours!r:.200}"
        elif request.output_type is OutputType.TEXT and length not in (None, request.max_new_tokens):
            problem = f"replies had at most {length} tokens, but max_new_tokens is {request.max_new_tokens}"
        else:
            return
        raise UsageError(f"{self._path}, item '{request.id}': {problem}; give the task and settings of the log")

    def _compare(self, request: Request) -> Response:
        """Which of two images has the better score."""
        scores = []
        for image in request.image_ids:
            item = self._matcher.matched.get(image)
            if item is None or item.score is None:
                raise MissingPredictionError(f"no score for image '{image}'", path=self._path)
            self._is_used[item.row] = True
            scores.append(self._sign * item.score)
        first, second = scores
        text = "The first image." if first > second else "The second image."
        text = text if first != second else "Both images have the same score."
        return Response(request, text=text, image_scores=(first, second))


def _shown_options(request: Request, prediction: Prediction) -> tuple[str, ...] | None:
    """The question's options in the file's order; None if there are none. Raises ValueError for other options."""
    if prediction.options is None or not request.options:
        return None
    if sorted(prediction.options) == sorted(request.options):
        return prediction.options
    texts: dict[str, list[str]] = defaultdict(list)
    for option in request.options:
        texts[comparable(option)].append(option)
    shown = [comparable(option) for option in prediction.options]
    missing = [text for text in texts if text not in shown]
    if len(missing) == 1 and missing[0] in READ_AS_EMPTY:
        # The tool read this option as an empty cell: the last one, unless there is a gap.
        index = shown.index("") if "" in shown else len(shown)
        shown[index : index + 1] = missing
    if Counter(shown) != Counter({text: len(same) for text, same in texts.items()}):
        raise ValueError(f"options {list(prediction.options)} differ from the question's: {list(request.options)}")
    return tuple(texts[option].pop(0) for option in shown)
