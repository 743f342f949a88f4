"""A judge on a local server that says what a test tells it."""

import pytest

from eyechart.evaluators.backends.endpoint.options import EndpointOptions
from eyechart.evaluators.judging import EndpointJudge, JudgeOptions


@pytest.fixture
def options(http):
    """Makes options of a judge on the server."""

    def make(model="judge", concurrency=4, timeout=10.0, max_retries=0, **settings):
        endpoint = EndpointOptions(http.url_for("/v1"), concurrency, timeout, max_retries)
        return JudgeOptions(model, endpoint, **settings)

    return make


@pytest.fixture
def judge(options):
    """Makes a judge on the server."""

    def make(store=None, **settings):
        return EndpointJudge(options(**settings), store)

    return make
