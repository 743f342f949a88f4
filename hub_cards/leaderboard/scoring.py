"""The scores that a board ranks: those of an entry's replies, on the release that is at hand.

An entry gives ids, passes, replies and settings. Options, right answers, groups, clusters, opinion scores and chance
levels are those of the release.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from eyechart.datasets_scripts.common.errors import DataError, MissingFileError, UsageError
from eyechart.datasets_scripts.loading import prepared_dataset
from eyechart.evaluators.evaluation.data import LoadedData, load_data, read_rows
from eyechart.evaluators.evaluation.loop import cluster_of, evaluate_rows
from eyechart.evaluators.evaluation.options import DataRequest, Images, RunOptions
from eyechart.evaluators.requests.errors import MissingPredictionError
from eyechart.evaluators.requests.types import Backend, OutputType, Request, Response
from eyechart.evaluators.requests.values import brief
from eyechart.evaluators.results.finished_runs import OFFICIAL, Answers
from eyechart.evaluators.results.items import changed
from eyechart.evaluators.results.results_file import PRIVATE, TaskResult
from eyechart.evaluators.tasks.task import Task
from eyechart.hub_cards.leaderboard.boards import Board
from eyechart.hub_cards.leaderboard.entries import REPLY

_MOST_PASSES = 20
"""More passes than any protocol has."""
_TAKEN = ("max_new_tokens", "early_stop")
"""The settings of an entry under which it is scored; the others are the board's."""


class ReleaseError(UsageError):
    """The release of a board cannot be read, or is not the board's."""


class Replies(Backend):
    """The replies of an entry as a backend; they are found by id and pass.

    Raises:
        DataError: Two predictions have the same id and pass, or a column has another type than `eyechart run` gives it.
    """

    needs_images = False
    writes_replies = False

    def __init__(self, name: str, answers: Answers) -> None:
        """Take the columns that a reply consists of."""
        self.name = name
        values = [answers.column(column, kind) for column, kind in REPLY.items()]
        keys = zip(answers.column("id", str), answers.column("pass", str), strict=True)
        self._replies: dict[tuple[str, str], dict[str, Any]] = {}
        for key, *reply in zip(keys, *values, strict=True):
            if key in self._replies:
                raise DataError(f"item {brief(key[0])} has two predictions for the pass {brief(key[1])}")
            self._replies[key] = dict(zip(REPLY, reply, strict=True))

    @property
    def ids(self) -> set[str]:
        """The ids of all replies."""
        return {id for id, _ in self._replies}

    def answer(self, requests: Sequence[Request]) -> Iterator[Response]:
        """The reply to each request; an error if there is none of its kind."""
        for request in requests:
            reply = self._replies.get((request.id, request.pass_name))
            given = {} if reply is None else _given(request, reply)
            if given:
                yield Response(request, **given)
            else:
                yield Response(request, error=MissingPredictionError(f"no reply for the pass {request.pass_name!r}"))

    def settings(self) -> dict[str, Any]:
        """Nothing but the name: an entry's own settings describe its model."""
        return {"name": self.name}


def _given(request: Request, reply: Mapping[str, Any]) -> dict[str, Any]:
    """What a reply gives of a response; empty if that is not what the request asks for."""
    if request.output_type is OutputType.TEXT:
        return {} if reply["text"] is None else {name: reply[name] for name in ("text", "finish_reason")}
    logits = dict(reply["logits"] or ())
    if len(logits) < len(reply["logits"] or ()):
        raise DataError(f"item {brief(request.id)} has two logits of one word")
    is_complete = logits.keys() >= set(request.words)
    return {"logits": {word: logits[word] for word in request.all_words if word in logits}} if is_complete else {}


@dataclass(frozen=True)
class Release:
    """The rows of a board's data, of which all entries need the same."""

    loaded: LoadedData

    def for_task(self, task: Task) -> LoadedData:
        """The data, with what their rows share, which is read from the images only once."""
        if task.name not in self._clusters:
            rows = read_rows(self.loaded.dataset)
            self._clusters[task.name] = {row["id"]: cluster_of(task, row) for row in rows}
        clusters = self._clusters[task.name]
        return replace(self.loaded, cluster_of=lambda row: clusters[row["id"]])

    _clusters: dict[str, dict[Any, str | None]] = field(default_factory=dict)

    @cached_property
    def ids(self) -> set[str]:
        """The ids of its rows."""
        return {str(row["id"]) for row in read_rows(self.loaded.dataset)}

    @cached_property
    def digest(self) -> str:
        """The beginning of the SHA-256 of its annotations."""
        content = hashlib.sha256()
        for row in read_rows(self.loaded.dataset):
            annotations = {name: value for name, value in row.items() if not name.startswith("image")}
            content.update(json.dumps(annotations, sort_keys=True, default=str).encode())
        return content.hexdigest()[:12]


@dataclass(frozen=True)
class Releases:
    """The releases at hand: in given folders, downloaded before, or the data of task files."""

    data_dirs: Mapping[str, str] = field(default_factory=dict)
    """Folders by dataset; "" for all other datasets."""
    _known: dict[str, Release | None] = field(default_factory=dict)

    def of(self, board: Board) -> Release | None:
        """The release of a board; None if it is not at hand. Raises ReleaseError for a folder without it."""
        if board.name not in self._known:
            self._known[board.name] = self._load(board)
        return self._known[board.name]

    def _load(self, board: Board) -> Release | None:
        dataset, split, path = board.dataset, board.split, board.task.data.path
        folder, options = self.data_dirs.get(dataset, self.data_dirs.get("", path)), board.data_options
        if folder is None:
            config = board.task.data.config
            try:
                rows = prepared_dataset(dataset, config, split=split, options=options)
            except MissingFileError:
                return None
            return _checked(
                Release(LoadedData(rows, dataset, split, OFFICIAL, config=config, options=dict(options))), board
            )
        if folder == path and not Path(folder).exists():
            return None
        # Items with the same image depend on each other.
        needs_images = board.task.protocol.shares_images and not board.task.cluster
        images: Images = "load" if needs_images else "skip"
        request = DataRequest(None, dataset, split, folder, options=options, skip_bad=True, images=images)
        try:
            return _checked(Release(load_data(board.task, request)), board)
        except DataError as error:
            # A folder without a name may have the data of other boards.
            if isinstance(error, MissingFileError) and dataset not in self.data_dirs and folder != path:
                return None
            raise ReleaseError(f"the data of {dataset} in {folder} are not the release: {error}") from error


def _checked(release: Release, board: Board) -> Release:
    data = release.loaded
    if data.is_mini:
        raise ReleaseError(f"the data of {data.name} in {data.source} are synthetic; name the folder of the release")
    if board.items not in (None, len(data.dataset)):
        raise ReleaseError(
            f"the data of {data.name} ({data.split}) in {data.source} have {len(data.dataset):,} usable items; the "
            f"release has {board.items:,}"
        )
    return release


def score_on(release: Release, board: Board, result: TaskResult, answers: Answers) -> TaskResult:
    """Score the replies of an entry's result; raises DataError if they do not answer the items of the release."""
    if len(answers) > (most := _MOST_PASSES * len(release.loaded.dataset)):
        raise DataError(f"{len(answers):,} predictions; at most {most:,} answer the items of the release")
    replies = Replies(result.model, answers)
    if foreign := sorted(replies.ids - release.ids):
        raise DataError(f"{len(foreign):,} items of the predictions are not in the release; first: {brief(foreign[0])}")
    given, protocol = result.settings, board.task.protocol
    settings = {name: given[name] for name in _TAKEN if hasattr(protocol, name) and given.get(name) is not None}
    scored = evaluate_rows(board.task, RunOptions(settings=settings), replies, release.for_task(board.task))
    lacking = [item for item in scored.left_out if item.reason != PRIVATE]
    if lacking:
        first = f"{brief(lacking[0].id)}: {brief(lacking[0].reason)}"
        raise DataError(f"{len(lacking):,} items of the release have no reply that can be used; first: {first}")
    if not scored.complete:
        raise DataError(f"some passes have no reply: {' '.join(scored.caveats)}")
    scored.settings["model"], scored.timings = given.get("model"), result.timings
    # The paired tests need no texts, which would fill the memory.
    scored.items = [changed(item, dict.fromkeys(("question", "prompt", "text"))) for item in scored.items]
    return scored
