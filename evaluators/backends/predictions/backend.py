"""Precomputed predictions, read from a file: our own JSON Lines, benchmarks' answer files, or what other tools write.

| format | file | columns or keys |
|---|---|---|
| `eyechart` | `.jsonl` | `id`, and `text`, `logits` ({word: value}) or `score`; more in `predictions.json_lines` |
| `vlmevalkit` | `.xlsx`, `.tsv`, `.json` | `index`, `prediction`; `question`, `A`, `B`, ... as shown, `thinking` |
| `lmms-eval` | `.jsonl` | `doc_id`, `filtered_resps` (or `resps`), `doc` |
| `llava-mmbench` | `.jsonl` | `question_id`, `round_id`, `text`, `options`; `prompt` |
| `q-bench-answers` | `.json`, `.jsonl` | `img_path`, `response`; `question`, `candidates` |
| `aesbench-...-answers` | `.json` | by image, `AesP_response` or that of another part |
| `q-bench-logits` | `.json`, `.jsonl` | `img_path`, `logit_good`, `logit_poor` or further words; `gt_score` |
| `quality-scores` | `.csv` | `score`, and `id`, `image`, `image_name`, `name` or `filename` |

Suffix and columns decide the format, which is in the settings. How rows find their items is described in
`predictions.matching`. A letter stands for the options as they were shown, in whatever order; without options it means
the release's order.

Where pairs of images are asked about, a file of scores may name single images: the one with the better score is
preferred, and neither where scores are equal.

What becomes of rows and items that are not as they should be:

- no row for an item or one of its passes, or only a note of the tool that it had no answer: `MissingPredictionError`;
  left out and counted where bad items are skipped;
- rows that nobody asked for, as those of another split: counted (`predictions_unused`); their order never matters;
- two rows about the same pass over the same item: where they say the same, they count once and the result says so
  (`predictions_repeated`); where they do not, an error that names both;
- an empty answer (an empty cell, NaN): a text that names no option, counted with the unmatched ones;
- an answer of any length, in any language or form, with control characters: taken as it is. An XLSX cell ends at 32,767
  characters, so answers that long are counted (`cut_at_cell_limit`);
- numbers and truth values in place of text: their text, as a sheet shows it. A formula: an answer that begins with "=".
  A date: an error of that item, which names the row;
- reasoning in a column of its own: no part of the answer, counted (`with_thinking`);
- options that are not those of the question: an error of that item, which names the row. An empty cell stands for an
  option such as "N/A" or "None", which pandas takes for one;
- no Unicode text, no JSON, a row without its columns, a folder, an empty file: an error that names the file and row.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from copy import copy
from pathlib import Path
from typing import Any

from eyechart.datasets_scripts.common.errors import DataError, MissingPredictionError, ModelError, UsageError
from eyechart.evaluators.backends.predictions import FROM_FILE
from eyechart.evaluators.backends.predictions.containers import CELL_LIMIT, XLSX
from eyechart.evaluators.backends.predictions.formats import read_predictions
from eyechart.evaluators.backends.predictions.matching import READ_AS_EMPTY, Item, Matcher, comparable, group_items
from eyechart.evaluators.backends.predictions.prediction import Prediction
from eyechart.evaluators.requests.types import Backend, OutputType, Request, Response

_MOST_NAMED = 3
# What scores of single images say about two of them.
_PREFERRED = ("The first image.", "The second image.")
_EQUAL = "Both images have the same score."


class PredictionsFileBackend(Backend):
    """Answers requests from a file.

    Args:
        path: The file, in one of the formats above.
        name: How results call the model that made the answers; the file's name by default.
        lower_is_better: Whether a lower score is that of a better image, as for NIQE; such scores change their sign.
    """

    needs_images = False
    writes_replies = False

    def __init__(self, path: str | Path, *, name: str | None = None, lower_is_better: bool = False) -> None:
        """Read the whole file.

        Raises:
            MissingFileError: There is no such file.
            BadAnnotationError: It is of no known format, a row is malformed, or two say different things about the
                same pass over the same item; the message names the row.
            UsageError: Lower is said to be better of a file without scores.
        """
        self._path = Path(path)
        self._name = name or self._path.stem
        self._format, self._predictions = read_predictions(self._path)
        self._items = group_items(self._predictions, self._path)
        self._matcher = Matcher(self._items, self._path, has_our_ids=self._format.has_our_ids)
        self._has_scores = any(prediction.score is not None for prediction in self._predictions)
        if lower_is_better and not self._has_scores:
            raise UsageError(f"lower_is_better=True is about scores, and {self._path} holds none; leave it out")
        self._lower_is_better = lower_is_better
        self._used: set[int] = set()
        self._dataset = ""
        # By row, the data set that it answered about; shared by all that `for_data` makes.
        self._answered_about: dict[int, str] = {}

    @property
    def name(self) -> str:
        """The model that made the answers."""
        return self._name

    @property
    def config(self) -> str | None:
        """The one configuration of its data set that the file answers; None where unknown."""
        return self._format.config

    def check(self, output_type: OutputType) -> None:
        """Refuse losses; whether the file holds the texts or logits is known only item by item."""
        if output_type is OutputType.LOSSES:
            raise ModelError(f"a predictions file holds text, logits or scores but no {output_type.value}.")

    def for_data(self, dataset: str) -> "PredictionsFileBackend":
        """The same file, its rows matched with those of this data set alone; a row answers about one data set."""
        bound = copy(self)
        bound._dataset = dataset
        bound._matcher = Matcher(self._items, self._path, has_our_ids=self._format.has_our_ids)
        bound._used = set()
        return bound

    def answer(self, requests: Sequence[Request]) -> Iterator[Response]:
        """Look each request up; one that is not in the file, or lacks what was asked, is an error of that item.

        Raises:
            BadAnnotationError: Two items of the file are about the same item of the data.
        """
        self._matcher.match(requests)
        if self._has_scores:
            self._matcher.match([Request(image, (), ()) for request in requests for image in request.image_ids])
        for request in requests:
            try:
                yield self._look_up(request)
            except DataError as error:
                yield Response(request, error=error)

    def settings(self) -> dict[str, Any]:
        """The file, its format, how its rows found their items, and how many of them were not asked for."""
        distinct = sum(len(item.passes) for item in self._items)
        settings = {
            "backend": FROM_FILE,
            "name": self._name,
            "file": self._path.name,
            "format": self._format.name,
            "predictions": len(self._predictions),
            "predictions_unused": distinct - len(self._used),
            "matched_by": {way: count for way, count in self._matcher.ways.items() if count},
        }
        if distinct < len(self._predictions):
            settings["predictions_repeated"] = len(self._predictions) - distinct
        if self._has_scores:
            settings["lower_is_better"] = self._lower_is_better
        if any(prediction.reasoning for prediction in self._predictions):
            settings["with_thinking"] = sum(bool(prediction.reasoning) for prediction in self._predictions)
        if self._path.suffix.lower() == XLSX:
            lengths = (len(prediction.text or "") for prediction in self._predictions)
            settings["cut_at_cell_limit"] = sum(length >= CELL_LIMIT for length in lengths)
        return settings

    def _look_up(self, request: Request) -> Response:
        """The response to a request; where there is none, a DataError says why."""
        item = self._matcher.found.get(request.id)
        prediction = item.passes.get(request.pass_name) if item else None
        if prediction is None:
            if request.image_ids and self._has_scores:
                return self._compare(request)
            raise self._missing(request, item)
        self._used.add(prediction.row)
        about = self._answered_about.setdefault(prediction.row, self._dataset)
        place: dict[str, Any] = {"path": self._path, "row": prediction.row}
        if about != self._dataset:
            reason = (
                f"answered about {about} already, which also has an item '{request.id}', so it does not tell whether "
                f"it is about {self._dataset}; score each data set by itself, from a file of its own, with --dataset"
            )
            raise DataError(reason, **place)
        if prediction.failure:
            raise MissingPredictionError(f"the tool had no answer, only the note {prediction.failure!r}", **place)
        if prediction.problem:
            raise DataError(prediction.problem, **place)
        try:
            if request.words:
                return self._number(request, prediction)
            if prediction.text is None:
                raise ValueError("no text")
            return Response(
                request,
                text=prediction.text,
                reasoning=prediction.reasoning,
                finish_reason=prediction.finish_reason,
                options=_shown(request, prediction),
            )
        except ValueError as error:
            raise DataError(str(error), **place) from error

    def _number(self, request: Request, prediction: Prediction) -> Response:
        """The logits, or else the score; a ValueError if there is neither."""
        logits = prediction.logits or {}
        missing = [word for word in request.words if word not in logits]
        if not missing:
            return Response(request, logits={word: logits[word] for word in request.all_words if word in logits})
        if prediction.score is None:
            raise ValueError(f"no logits for {', '.join(missing)}")
        return Response(request, score=-prediction.score if self._lower_is_better else prediction.score)

    def _compare(self, request: Request) -> Response:
        """Which of two images has the better score."""
        scores = []
        for image in request.image_ids:
            item = self._matcher.found.get(image)
            score = None if item is None else item.first.score
            if item is None or score is None:
                raise MissingPredictionError(f"no score for image '{image}'", path=self._path)
            self._used.add(item.first.row)
            scores.append(-score if self._lower_is_better else score)
        first, second = scores
        text = _EQUAL if first == second else _PREFERRED[first < second]
        return Response(request, text=text, image_scores=(first, second))

    def _missing(self, request: Request, item: Item | None) -> DataError:
        """Why there is no prediction."""
        reason = f"no prediction for id '{request.id}', pass '{request.pass_name}'"
        if item is not None:
            return MissingPredictionError(f"{reason}; the file has {', '.join(item.passes)}", path=self._path)
        doubts = self._matcher.doubts.get(request.id)
        if doubts is not None:
            rows = _some([str(doubt.first.row) for doubt in doubts])
            reason += f"; its question and options are in row {rows}, and nothing tells which of several items it is"
        elif request.id in self._matcher.others:
            other = self._matcher.others[request.id].first
            reason = f"'{other.names[0]}' asks another question than item '{request.id}': {other.question!r}"
            return DataError(reason, path=self._path, row=other.row)
        elif self._matcher.shared:
            reason += f"; the file has the questions of only {self._matcher.shared} items, so it is about other data"
        elif not self._matcher.found:
            names = _some([f"'{known.first.names[0]}'" for known in self._items])
            reason += f", nor for any other that is asked for; the file has ids such as {names}"
        return MissingPredictionError(reason, path=self._path)


def _shown(request: Request, prediction: Prediction) -> tuple[str, ...] | None:
    """The question's options in the order in which the file shows them; None where it has none.

    Raises:
        ValueError: The file's options are others.
    """
    if prediction.options is None or not request.options:
        return None
    if sorted(prediction.options) == sorted(request.options):
        return prediction.options
    texts: dict[str, list[str]] = defaultdict(list)
    for option in request.options:
        texts[comparable(option)].append(option)
    shown = [comparable(option) for option in prediction.options]
    missing = list((Counter(map(comparable, request.options)) - Counter(shown)).elements())
    if len(missing) == 1 and missing[0] in READ_AS_EMPTY:
        # The tool took it for an empty cell: the last one, unless there is a gap.
        place = shown.index("") if "" in shown else len(shown)
        shown[place : place + 1] = missing
    if sorted(shown) != sorted(map(comparable, request.options)):
        raise ValueError(f"options {list(prediction.options)} are not those of the question: {list(request.options)}")
    return tuple(texts[option].pop(0) for option in shown)


def _some(names: Sequence[str]) -> str:
    more = ", ..." if len(names) > _MOST_NAMED else ""
    return f"{', '.join(names[:_MOST_NAMED])}{more}"
