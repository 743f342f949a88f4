"""A small dataset per kind, in the documented columns, for evaluators that run on a Python function, and servers."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import datasets
import numpy as np
import pytest
from PIL import Image
from pytest_httpserver import HTTPServer

from eyechart.evaluators.backends.endpoint.options import EndpointOptions
from eyechart.evaluators.judging import EndpointJudge, JudgeOptions
from eyechart.evaluators.requests.store import ResponseStore
from tests.evaluators.scripted_server import Script


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "EYECHART_JUDGE_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def _http() -> Iterator[HTTPServer]:
    with HTTPServer(threaded=True) as server:
        yield server


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """No half second before a retry, or until a server that is started is asked."""
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01, raising=False)
    monkeypatch.setattr("eyechart.evaluators.backends.endpoint.serving._READY_INTERVAL", 0.05)


@pytest.fixture
def http(_http: HTTPServer, impatient: None) -> Iterator[HTTPServer]:
    """A server without any answers yet."""
    _http.clear()
    yield _http
    _http.clear()


@pytest.fixture
def script(http: HTTPServer) -> Script:
    """What makes the server say something."""
    return Script(http)


@pytest.fixture
def options(http: HTTPServer) -> Callable[..., JudgeOptions]:
    """Makes options of a judge on the server."""

    def make(model="judge", concurrency=4, timeout=10.0, max_retries=0, price=None, max_cost=None, **settings):
        address, limits = http.url_for("/v1"), {"price": price, "max_cost": max_cost}
        endpoint = EndpointOptions(address, concurrency, timeout, max_retries, **limits)
        return JudgeOptions(model, endpoint, **settings)

    return make


@pytest.fixture
def judge(options: Callable[..., JudgeOptions]) -> Callable[..., EndpointJudge]:
    """Makes a judge on the server."""
    return lambda store=None, **settings: EndpointJudge(options(**settings), store)


def picture(seed: int, size: int = 32) -> Image.Image:
    """A picture that differs for every seed."""
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (size, size, 3), dtype=np.uint8))


@pytest.fixture
def make_picture() -> Callable[..., Image.Image]:
    return picture


@pytest.fixture
def questions() -> datasets.Dataset:
    """Six questions of two types, right answers A B C A B C."""
    rows = {
        "id": [f"q{i}" for i in range(6)],
        "images": [[picture(i)] for i in range(6)],
        "question": [f"How is picture {i}?" for i in range(6)],
        "options": [["Good", "Fair", "Poor"]] * 6,
        "answer": ["A", "B", "C"] * 2,
        "question_type": ["how", "what"] * 3,
        "concern": ["other"] * 6,
    }
    return datasets.Dataset.from_dict(rows).cast_column("images", datasets.Sequence(datasets.Image()))


@pytest.fixture
def photographs() -> datasets.Dataset:
    """Forty pictures whose quality is their number."""
    rows = {
        "id": [f"p{i}" for i in range(40)],
        "image": [picture(i) for i in range(40)],
        "quality": [float(i) for i in range(40)],
    }
    return datasets.Dataset.from_dict(rows).cast_column("image", datasets.Image())


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ResponseStore]:
    with ResponseStore.open(tmp_path / "responses.sqlite") as store:
        yield store


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of four megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "eyechart", folder], capture_output=True)
    if mounted.returncode:
        pytest.skip("a small disk cannot be mounted here")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)
