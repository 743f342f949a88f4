"""What a run shows of itself while it goes: `progress.json` in its folder, which `eyechart view` reads."""

import datetime
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic_core import to_json

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.datasets_scripts.common.whole import write_whole
from eyechart.evaluators.backends.chat import decode_image
from eyechart.evaluators.backends.stored import BackendWrapper
from eyechart.evaluators.report.samples import thumbnail
from eyechart.evaluators.requests.types import Backend, Request, Response
from eyechart.evaluators.requests.values import printable
from eyechart.evaluators.results.results_file import PROGRESS_FILE, TaskResult
from eyechart.evaluators.results.score_rows import named_headlines
from eyechart.evaluators.runs.screen import RunProgress

_SECONDS, _MOST_SHARE, _IMAGE_SECONDS = 3.0, 0.02, 0.1
"""Least time between two writes, the share of the run that they may take, and when a write begins no other image."""
_REPLIES, _CHARACTERS, _PIXELS = 4, 600, 256
"""How many replies are shown, how much of each text, and the longest side of an image."""


class LiveRun:
    """Writes how far a run is, its last replies and its scores so far, every few seconds until it ends."""

    def __init__(self, folder: Path, model: str, progress: RunProgress) -> None:
        """Write that the run began."""
        self.results: Sequence[TaskResult] = ()
        """Of the tasks that finished."""
        self._file, self._model, self._progress = folder / PROGRESS_FILE, model, progress
        self._replies: deque[Response] = deque(maxlen=_REPLIES)
        self._started = time.monotonic()
        self._write()

    def answered(self, response: Response) -> None:
        """Take note of a response, and write if it is time."""
        self._replies.append(response)
        if time.monotonic() >= self._next:
            self._write()

    def end(self) -> None:
        """Remove the file."""
        with suppress(OSError):
            self._file.unlink(missing_ok=True)

    def _write(self) -> None:
        began = time.monotonic()
        (done, total), seconds = self._progress.counts, began - self._started
        values = {
            "model": printable(self._model),
            "updated": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "done": done,
            "total": total,
            "seconds": seconds,
            "seconds_left": seconds * (total - done) / done if done else None,
            "scores": named_headlines(self.results),
            "replies": [_shown(response, began + _IMAGE_SECONDS) for response in reversed(self._replies)],
        }
        # A run does not fail because nobody can watch it.
        with suppress(OSError):
            write_whole(self._file, to_json(values))
        ended = time.monotonic()
        self._next = ended + max(_SECONDS, (ended - began) / _MOST_SHARE)


class WatchedBackend(BackendWrapper):
    """Shows each response to those who watch the run."""

    def __init__(self, backend: Backend, live: LiveRun) -> None:
        """Keep both."""
        super().__init__(backend)
        self._live = live

    def answer(self, requests: Sequence[Request]) -> Iterator[Response]:
        """Yield the backend's responses as they are."""
        for response in self._backend.answer(requests):
            self._live.answered(response)
            yield response


def _shown(response: Response, until: float) -> dict[str, Any]:
    """A request with its images, unless it is too late for them, and what the model replied."""
    images = []
    for source in response.request.images if time.monotonic() < until else ():
        with suppress(DataError):
            images.append(thumbnail(decode_image(source), _PIXELS))
    reply = response.text if response.text is not None else str(response.error or dict(response.logits or {}))
    texts = {"id": response.request.id, "prompt": response.request.rendered(), "reply": reply}
    return {name: printable(text[:_CHARACTERS]) for name, text in texts.items()} | {"images": images}
