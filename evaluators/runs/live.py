"""What a run shows of itself while it goes: `progress.json` in its folder, which `eyechart view` reads."""

import datetime
import math
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic_core import to_json

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.datasets_scripts.common.whole import write_whole
from eyechart.evaluators.backends.chat import decode_image
from eyechart.evaluators.evaluation.data import LoadedData
from eyechart.evaluators.evaluation.waves import Scoring
from eyechart.evaluators.report.samples import thumbnail
from eyechart.evaluators.requests.types import Response
from eyechart.evaluators.requests.values import printable
from eyechart.evaluators.results.results_file import PROGRESS_FILE, TaskResult
from eyechart.evaluators.results.score_rows import ScoreRow, named_headlines
from eyechart.evaluators.runs.screen import RunProgress
from eyechart.evaluators.tasks import headline_of
from eyechart.evaluators.tasks.task import Task

_SECONDS, _MOST_SHARE, _IMAGE_SECONDS = 3.0, 0.02, 0.1
"""Least time between two writes or scorings, the share of the run that each may take, and when a write begins no other
image."""
_REPLIES, _CHARACTERS, _PIXELS = 4, 600, 256
"""How many replies are shown, how much of each text, and the longest side of an image."""


class LiveRun:
    """Writes how far a run is, its last replies and its scores so far, every few seconds until it ends."""

    def __init__(self, folder: Path, model: str, progress: RunProgress, *, is_shown: bool = True) -> None:
        """Write that the run began; nothing is written of one that is not shown."""
        self._file, self._model, self.progress = folder / PROGRESS_FILE, model, progress
        self._replies: deque[Response] = deque(maxlen=_REPLIES)
        self._started = self._next_scoring = time.monotonic()
        self._finished, self._so_far = list[ScoreRow](), list[ScoreRow]()
        self._next = math.inf
        if is_shown:
            self._write()

    def answered(self, task: Task, loaded: LoadedData, response: Response, score: Scoring) -> None:
        """Take note of a response to a task on some data; if it is time, score the answers so far, and write."""
        self._replies.append(response)
        began = time.monotonic()
        if began < self._next:
            return
        if began >= self._next_scoring and response.request.repeat == 1:
            self._so_far = []
            # Few answers may have no score, and a run does not fail because nobody can watch it.
            with suppress(Exception):
                if (result := score()) is not None:
                    result.task, result.dataset, result.split = task.name, loaded.name, loaded.split
                    result.headline = headline_of(task).key
                    rows = named_headlines([result])
                    self._so_far = [(f"{row[0]}, so far", *row[1:]) for row in rows if "undefined" not in row]
            self._next_scoring = _next(began)
        self._write()

    def finished(self, results: Sequence[TaskResult]) -> None:
        """Take note of the results of all tasks that finished."""
        # An average has no scores before the last of its databases.
        self._finished, self._so_far = named_headlines([each for each in results if each.scores is not None]), []

    def end(self) -> None:
        """Remove the file."""
        with suppress(OSError):
            self._file.unlink(missing_ok=True)

    def _write(self) -> None:
        began = time.monotonic()
        (done, total), seconds = self.progress.counts, began - self._started
        values = {
            "model": printable(self._model),
            "updated": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "done": done,
            "total": total,
            "seconds": seconds,
            "seconds_left": seconds * (total - done) / done if done else None,
            "scores": [*self._finished, *self._so_far],
            "replies": [_shown(response, began + _IMAGE_SECONDS) for response in reversed(self._replies)],
        }
        # A run does not fail because nobody can watch it.
        with suppress(OSError):
            write_whole(self._file, to_json(values))
        self._next = _next(began)


def _next(began: float) -> float:
    """When to do again what began at a time and ends now."""
    ended = time.monotonic()
    return ended + max(_SECONDS, (ended - began) / _MOST_SHARE)


def _shown(response: Response, until: float) -> dict[str, Any]:
    """A request with its images, unless it is too late for them, and what the model replied."""
    images = []
    for source in response.request.images if time.monotonic() < until else ():
        with suppress(DataError):
            images.append(thumbnail(decode_image(source), _PIXELS))
    logits = ", ".join(f"{word}: {logit:.2f}" for word, logit in (response.logits or {}).items())
    reply = response.text if response.text is not None else str(response.error or logits)
    texts = {"id": response.request.id, "prompt": response.request.rendered(), "reply": reply}
    return {name: printable(text[:_CHARACTERS]) for name, text in texts.items()} | {"images": images}
