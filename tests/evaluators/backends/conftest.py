"""An untrained model, a backend on a server, and a server that answers with the tiny model as real servers do."""

import pytest

from eyechart.evaluators import tiny_vlm
from eyechart.evaluators.backends import resolve_backend
from eyechart.evaluators.backends.endpoint.backend import OpenAIBackend
from eyechart.evaluators.backends.endpoint.options import EndpointOptions
from tests.evaluators.backends import architectures
from tests.evaluators.backends.endpoint.model_server import ModelServer
from tests.evaluators.scripted_server import PATH


@pytest.fixture(scope="session")
def llava():
    """An untrained model and its processor; weights drawn wide, so that answers differ between prompts."""
    return architectures.build("llava")


@pytest.fixture
def llava_folder(llava, tmp_path):
    """The same on disk."""
    model, processor = llava
    model.save_pretrained(tmp_path / "model")
    processor.save_pretrained(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def backend(http):
    """Makes a backend that asks the server."""

    def make(model="tiny", **options):
        return OpenAIBackend(model, EndpointOptions(**{"base_url": http.url_for("/v1"), "max_retries": 1, **options}))

    return make


@pytest.fixture(scope="session")
def tiny():
    """The bundled model and its processor."""
    from transformers import AutoModelForImageTextToText, AutoProcessor

    folder = tiny_vlm.folder()
    model = AutoModelForImageTextToText.from_pretrained(folder).eval()
    return model, AutoProcessor.from_pretrained(folder)


@pytest.fixture(scope="session")
def here():
    """The same as a backend."""
    return resolve_backend(None, batch_size=1)


@pytest.fixture
def model_server(http, tiny):
    """The tiny model on the server."""
    server = ModelServer(*tiny)
    http.expect_request(PATH, method="POST").respond_with_handler(server.respond)
    http.expect_request("/v1/models").respond_with_handler(server.models)
    http.expect_request("/tokenize", method="POST").respond_with_handler(server.tokenize)
    return server
