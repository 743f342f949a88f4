"""A real server: `transformers serve` with the tiny model, compared with the tiny model run here."""

import base64
from itertools import pairwise

import pytest

from eyechart.evaluators import tiny_vlm
from eyechart.evaluators.backends import resolve_backend
from eyechart.evaluators.backends.endpoint import backend
from eyechart.evaluators.backends.endpoint.options import EndpointOptions
from eyechart.evaluators.backends.endpoint.serving import Server
from eyechart.evaluators.requests.errors import EndpointError
from eyechart.evaluators.requests.types import IMAGE, Request

pytestmark = pytest.mark.slow

COMMAND = "transformers serve {model} --device cpu --host 127.0.0.1 --port {port}"
QUESTION = "What distortion degrades the quality of the image?\n"


@pytest.fixture(scope="session")
def address(tmp_path_factory):
    """The base URL of a server of the tiny model. Without a cache, it cannot list its models."""
    server = Server(COMMAND, tiny_vlm.NAME, tmp_path_factory.mktemp("serve") / "log.txt")
    try:
        options = server.start(EndpointOptions())
        assert options.served_name == str(tiny_vlm.folder())
        yield options.base_url
    finally:
        server.close()


@pytest.fixture
def on_server(address):
    return resolve_backend(str(tiny_vlm.folder()), endpoint=EndpointOptions(base_url=address, max_retries=1))


def texts(responses):
    answers = {response.request.id: response.text for response in responses}
    assert None not in answers.values()
    return answers


def test_eight_clients_at_once_get_the_answers_of_the_model_run_here(on_server, here, make_picture):
    pictures = [make_picture(i, 40 + 7 * i) for i in range(12)]
    requests = [Request(f"text {i}", (f"How is picture {i}?",), (), max_new_tokens=6) for i in range(4)]
    requests += [Request(f"one {i}", (QUESTION, IMAGE), (picture,)) for i, picture in enumerate(pictures)]
    prompt = ("Which is better?\n", IMAGE, IMAGE, "\nA. The first B. The second")
    requests += [Request(f"two {i}", prompt, pair) for i, pair in enumerate(pairwise(pictures))]
    answers = texts(on_server.answer(requests))
    assert answers == texts(here.answer(requests))
    assert len(set(answers.values())) > 3, "the answers must differ for the comparison to mean something"
    asked = on_server.settings()["asked"]
    assert asked["requests"] == len(requests) and asked["retries"] == 0
    assert asked["prompt_tokens"] > 10 * len(requests) and asked["completion_tokens"] >= len(requests)


def test_a_prefilled_reply_is_continued_as_the_template_leaves_it_open(on_server, make_picture):
    image = make_picture(0, 64)
    (whole,) = on_server.answer([Request("whole", (QUESTION, IMAGE), (image,))])
    head, _, rest = whole.text.partition(" ")
    assert rest
    assert texts(on_server.answer([Request("rest", (QUESTION, IMAGE), (image,), prefill=head)])) == {"rest": rest}
    assert on_server.settings()["prefill"] == ["last assistant message"]


def test_a_bad_image_is_an_error_of_its_item_and_the_server_goes_on(on_server, monkeypatch):
    rubbish = f"data:image/png;base64,{base64.b64encode(b'rubbish').decode()}"
    monkeypatch.setattr(backend, "_data_url", lambda source: rubbish)
    (response,) = on_server.answer([Request("bad", (IMAGE,), (None,), max_new_tokens=2)])
    with pytest.raises(EndpointError, match="answered 500 after 1 retry: Internal Server Error"):
        raise response.error
    assert texts(on_server.answer([Request("good", ("What?",), (), max_new_tokens=2)]))["good"]


def test_a_model_of_another_name_is_refused_in_the_servers_words(address, make_picture):
    model = resolve_backend("another/model", endpoint=EndpointOptions(base_url=address))
    (response,) = model.answer([Request("x", (QUESTION, IMAGE), (make_picture(0),))])
    with pytest.raises(EndpointError, match=r"answered 400: Server is pinned to .*requested 'another/model'"):
        raise response.error
