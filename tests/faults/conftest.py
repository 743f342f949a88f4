"""Fixtures: those of the tests of `evaluators`, and a model and a judge on a server."""

import pytest

from eyechart.evaluators.requests.types import IMAGE, Request
from tests.evaluators.backends.conftest import backend
from tests.evaluators.conftest import _http, _no_key, disk, http, judge, make_picture, options, questions, script, store

__all__ = [
    "_http",
    "_no_key",
    "ask",
    "backend",
    "disk",
    "http",
    "judge",
    "make_picture",
    "options",
    "questions",
    "script",
    "store",
]


@pytest.fixture
def ask(backend, make_picture):
    """Sends one request; returns the response and the backend."""

    def ask_once(**options):
        model = backend(**options)
        request = Request("x", ("What is this?", IMAGE), (make_picture(0),))
        (response,) = model.answer([request])
        return response, model

    return ask_once
