"""A backend whose answers follow from the request alone, and a process that runs it and writes down what it was asked.

Run as a script, it asks the model through the store, appends a line to a log when a request is asked and when its
answer comes, and at last writes all answers to a file.
"""

import argparse
import hashlib
import json
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from eyechart.evaluators.backends.processes import Processes
from eyechart.evaluators.backends.stored import StoredBackend
from eyechart.evaluators.requests.store import ResponseStore
from eyechart.evaluators.requests.types import IMAGE, Backend, Loss, Request, Response


class LoggingModel(Backend):
    """Answers in batches, which take `seconds`; `log` gets each batch before, `say` gives the response to a request."""

    name = "test/logging"

    def __init__(self, identity, batch_size=1, seconds=0.0, log=None, say=None):
        self._identity, self._batch_size, self._seconds = identity, batch_size, seconds
        self._log, self._say = log, say or answer
        self.asked, self.calls = [], 0

    def identity(self):
        return self._identity

    def settings(self):
        return {"backend": "logging"}

    def answer(self, requests):
        self.calls += 1
        for start in range(0, len(requests), self._batch_size):
            batch = requests[start : start + self._batch_size]
            self.asked += batch
            if self._log:
                self._log(batch)
            time.sleep(self._seconds)
            yield from map(self._say, batch)


def answer(request):
    """What the model says: of the kind that is wanted, different for different prompts."""
    digest = hashlib.sha256(repr((request.prompt, request.images, request.prefill)).encode()).digest()
    numbers = [byte / 7 for byte in digest]
    if request.words:
        logits = dict(zip(request.words, numbers, strict=False))
        return Response(request, logits=logits, upper_bound_words=request.words[:1])
    if request.continuations:
        return Response(request, losses=tuple(Loss(n, 3) for n, _ in zip(numbers, request.continuations, strict=False)))
    return Response(request, text=digest.hex(), usage={"prompt_tokens": digest[0]}, images_downscaled=digest[0] % 2)


def make_requests(count):
    """Requests of all kinds; every tenth asks the same as the one before it."""
    requests = []
    for i in range(count):
        number = i - 1 if i % 10 == 9 else i
        kind = ({}, {"words": ("good", "poor")}, {"continuations": ("good", "very poor")})[number % 3]
        prompt = (IMAGE, f"Question {number}?")
        requests.append(Request(id=f"row {i}", prompt=prompt, images=(f"{number}".encode() * 300,), **kind))
    return requests


def plain(responses):
    """Responses as JSON values, in the order of their rows."""
    return sorted(
        [r.request.id, r.text, r.logits, list(r.losses or ()), r.upper_bound_words, dict(r.usage)] for r in responses
    )


class _Thread(Processes):
    def __init__(self, rank: int, values: list[Any], barrier: threading.Barrier) -> None:
        self.rank, self.count = rank, len(values)
        self._values, self._barrier = values, barrier

    def gather(self, value):
        self._values[self.rank] = value
        self._barrier.wait()
        gathered = list(self._values)
        self._barrier.wait()
        return gathered


def in_processes(count: int, call: Callable[[Processes], Any]) -> list[Any]:
    """Call a function in the processes of one run, which are threads here; the results by rank."""
    values, barrier = [None] * count, threading.Barrier(count, timeout=120)
    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(lambda rank: call(_Thread(rank, values, barrier)), range(count)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    for name, kind in (("--count", int), ("--seconds", float), ("--out", str)):
        parser.add_argument(name, type=kind, required=True)
    arguments = parser.parse_args()
    log = os.open(arguments.folder / f"{arguments.out}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def asked(requests):
        os.write(log, "".join(f"asked {request.id}\n" for request in requests).encode())
        os.fsync(log)

    print("ready", flush=True)
    model = LoggingModel({"model": "logging"}, batch_size=4, seconds=arguments.seconds, log=asked)
    with ResponseStore.open(arguments.folder / "responses.sqlite") as store:
        responses = []
        for response in StoredBackend(model, store).answer(make_requests(arguments.count)):
            if not response.stored:
                os.write(log, f"got {response.request.id}\n".encode())
            responses.append(response)
    (arguments.folder / f"{arguments.out}.json").write_text(json.dumps(plain(responses)))


if __name__ == "__main__":
    main()
