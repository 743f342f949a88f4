"""What the response store costs per request: keys, lookups, transactions, on a model that costs nothing.

Run it as a script. The aim is well under 1 ms per request, whether its answer is new or stored. The images are random
bytes of the size of a JPEG, one to each request or one to four of them, as with the rotations of CircularEval. Hashing
them is shown apart: it takes as long as the processor's SHA-256, and is spread over threads.
"""

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from eyechart.evaluators.backends.stored import StoredBackend
from eyechart.evaluators.requests.keys import request_keys
from eyechart.evaluators.requests.store import ResponseStore
from eyechart.evaluators.requests.types import IMAGE, Backend, OutputType, Request, Response
from tests.growth import shortest_time

COUNT = 4000
REPEATS = 5
PROMPT = "What distortion degrades the picture most?\nA. Blur\nB. Noise\nC. Overexposure\nD. Compression\n" * 2
IDENTITY = {"backend": "benchmark", "model": "a/b", "settings": {f"setting {i}": i for i in range(20)}}


class FreeModel(Backend):
    """Says the same at once."""

    name = "benchmark/free"

    def check(self, output_type: OutputType) -> None:
        """Everything can be asked."""

    def identity(self) -> dict[str, Any]:
        return IDENTITY

    def settings(self) -> dict[str, Any]:
        return {}

    def answer(self, requests: Sequence[Request]) -> Iterator[Response]:
        for request in requests:
            yield Response(request, text="The answer is B.", rendered_prompt=PROMPT, images_downscaled=1)


def make_requests(image_bytes: int, per_image: int) -> list[Request]:
    """Requests with images as a dataset holds them."""
    rng = np.random.default_rng(0)
    images = [{"bytes": rng.bytes(image_bytes), "path": None} for _ in range(-(-COUNT // per_image))]
    return [Request(f"{i}", (PROMPT, IMAGE, f"{i}"), (images[i // per_image],)) for i in range(COUNT)]


def make_keys(requests: list[Request]) -> list[bytes | None]:
    """As the store makes them."""
    parts = (requests[start : start + 256] for start in range(0, len(requests), 256))
    return [key for part in parts for key in request_keys(IDENTITY, part)]


def microseconds(run: Callable[[], object]) -> float:
    """Processor time per request, of all threads."""
    return 1e6 * shortest_time(run, 1) / COUNT


def measure(requests: list[Request]) -> dict[str, float]:
    """Shortest times of several runs, which other work on the machine disturbs least; each run has a new store."""
    times: dict[str, list[float]] = {"no store": [], "hash": [], "key": [], "new": [], "stored": []}
    images = {id(request.images[0]): request.images[0]["bytes"] for request in requests}.values()
    model = FreeModel()
    for _ in range(REPEATS):
        times["no store"].append(microseconds(lambda: list(model.answer(requests))))
        times["hash"].append(microseconds(lambda: [hashlib.sha256(data).digest() for data in images]))
        times["key"].append(microseconds(lambda: make_keys(requests)))
        with tempfile.TemporaryDirectory() as folder, ResponseStore.open(Path(folder) / "responses.sqlite") as store:
            backend = StoredBackend(model, store)
            for name in ("new", "stored"):
                times[name].append(microseconds(lambda backend=backend: list(backend.answer(requests))))
    return {name: min(values) for name, values in times.items()}


def main() -> None:
    """Print microseconds per request, and ratios to the aim."""
    print(f"load average over one minute: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    titles = ("no store", "hash alone", "key alone", "new", "stored", "new - hash")
    print(f"{'microseconds per request':38} " + " ".join(f"{title:>10}" for title in titles))
    slowest = 0.0
    for image_bytes, per_image in ((10_000, 1), (300_000, 1), (300_000, 4)):
        times = measure(make_requests(image_bytes, per_image))
        name = f"images of {image_bytes // 1000} kB, {per_image} request{'s' if per_image > 1 else ''} each"
        own = times["new"] - times["hash"] - times["no store"]
        print(f"{name:38} " + " ".join(f"{value:10.1f}" for value in (*times.values(), own)))
        slowest = max(slowest, own)
    print(f"besides hashing images, a request costs at most {slowest / 1000:.2f} of the aim of 1 ms")


if __name__ == "__main__":
    main()
