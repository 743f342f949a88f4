"""The environment that the pages assume: a folder with data, models and runs, a server, a judge, the Hub's cache."""

import json
import shutil
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from transformers import AutoModelForImageTextToText, AutoProcessor
from werkzeug import Request

from eyechart.datasets_scripts import official
from eyechart.evaluators import tiny_vlm
from eyechart.evaluators.results.finished_runs import read_runs
from eyechart.evaluators.tasks import TASKS
from eyechart.hub_cards.leaderboard import boards
from tests.docs import stage
from tests.evaluators.backends.endpoint.model_server import ModelServer
from tests.evaluators.scripted_server import PATH, Script, completion


@pytest.fixture(scope="session")
def _prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("reader")
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.chdir(folder)
        stage.build(folder)
    return folder


@pytest.fixture(scope="session")
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("hub")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stage.fill_cache(folder)
    return folder


def judged(request: Request) -> Any:
    """The requested number of judge replies, in the format that the template requires."""
    body = json.loads(request.data)
    prompt = str(body["messages"][-1]["content"])
    forms = (("format: Score:", "Score: 2"), ("Your output:", "A"))
    reply = next((form for asked, form in forms if asked in prompt), "1")
    return completion(*[reply] * body.get("n", 1))


@pytest.fixture(scope="session")
def addresses() -> Iterator[dict[str, str]]:
    """The addresses of the server and the judge on the pages, and the ones that replace them in a test."""
    folder = tiny_vlm.folder()
    with warnings.catch_warnings(), HTTPServer(threaded=True) as server, HTTPServer(threaded=True) as judge:
        warnings.simplefilter("ignore")
        tiny = ModelServer(AutoModelForImageTextToText.from_pretrained(folder), AutoProcessor.from_pretrained(folder))
        server.expect_request(PATH, method="POST").respond_with_handler(tiny.respond)
        server.expect_request("/tokenize", method="POST").respond_with_handler(tiny.tokenize)
        Script(judge).say(judged)
        yield {
            "http://127.0.0.1:8000/v1": server.url_for("/v1"),
            "http://127.0.0.1:8001/v1": judge.url_for("/v1"),
        }


@pytest.fixture
def folder(_prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the prepared folder as the current folder; models and releases, which no test changes, are links."""
    for path in _prepared.iterdir():
        if path.name == "path":
            (tmp_path / path.name).symlink_to(path)
        elif path.is_dir():
            shutil.copytree(path, tmp_path / path.name)
        else:
            shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def offline_hub(_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the models named on the pages into the Hub's cache."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(_cache))
    monkeypatch.setattr("transformers.utils.hub.constants.HF_HUB_CACHE", str(_cache))


@pytest.fixture
def official_counts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the item counts of the small releases official, so that their runs can be published."""
    counts: dict[tuple[str, str, str], Any] = dict(official.OFFICIAL)
    (run,) = read_runs(["eyechart_runs/mine"])
    for result in run.results.tasks:
        config = result.settings["data"]["config"] or "default"
        n = result.scores.get("n_questions") or result.scores["n"]
        counts[result.dataset, config, result.split] = (n,)
    monkeypatch.setattr(official, "OFFICIAL", MappingProxyType(counts))
    again = (board for task in TASKS for board in boards._boards(task))
    for board, with_counts in zip(boards.BOARDS, again, strict=True):
        monkeypatch.setitem(vars(board), "items", with_counts.items)


@pytest.fixture
def at_hand(folder: Path, addresses: dict[str, str], offline_hub: None, official_counts: None) -> Callable[[str], str]:
    """Replaces the addresses in a page's text by the test's addresses."""

    def put(text: str) -> str:
        for shown, own in addresses.items():
            text = text.replace(shown, own)
        return text

    return put
