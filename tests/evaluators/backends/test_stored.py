import dataclasses

import pytest

from eyechart.datasets_scripts.common.errors import BadImageError, DataError, ModelError
from eyechart.evaluators.backends import resolve_backend
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.backends.stored import StoredBackend
from eyechart.evaluators.requests.store import ResponseStore
from eyechart.evaluators.requests.types import Backend, Loss, OutputType, Request, Response
from tests.evaluators.backends.logging_model import LoggingModel, make_requests, plain
from tests.evaluators.running import run

IDENTITY = {"model": "logging"}


def Scripted(say):
    """A model that gives the responses of a function."""
    return LoggingModel(IDENTITY, say=say)


def text_request(id, text="?", **changes):
    return Request(id=id, prompt=(text,), images=(), **changes)


def test_it_is_a_backend_like_the_one_it_asks(store):
    backend = StoredBackend(LoggingModel(IDENTITY), store)
    assert isinstance(backend, Backend) and resolve_backend(backend) is backend
    assert (backend.name, backend.needs_images, backend.identity()) == ("test/logging", True, IDENTITY)
    assert (backend.writes_replies, backend.billed_per_request, backend.samples) == (True, False, False)
    assert backend.settings() == {"backend": "logging"}
    with pytest.raises(ModelError, match="not losses"):
        StoredBackend(FunctionBackend(len), store).check(OutputType.LOSSES)


def test_what_is_stored_is_not_asked_again_and_the_rest_in_one_call(store):
    requests = make_requests(700)
    first = LoggingModel(IDENTITY)
    assert len(list(StoredBackend(first, store).answer(requests[100:200]))) == 100
    second = LoggingModel(IDENTITY, batch_size=8)
    responses = list(StoredBackend(second, store).answer(requests))
    assert plain(responses) == plain(LoggingModel(IDENTITY).answer(requests))
    assert second.calls == 1
    assert not {r.id for r in second.asked} & {r.id for r in requests[100:200]}
    assert {r.request.id for r in responses if r.stored} == {r.id for r in requests[100:200]}
    third = LoggingModel(IDENTITY)
    assert plain(StoredBackend(third, store).answer(requests)) == plain(responses)
    assert third.calls == 0


def test_equal_requests_are_asked_once_and_all_answered(store):
    requests = make_requests(100)
    model = LoggingModel(IDENTITY)
    responses = list(StoredBackend(model, store).answer(requests))
    assert len(model.asked) == 90
    assert sorted(r.request.id for r in responses) == sorted(r.id for r in requests)
    by_id = {r.request.id: r for r in responses}
    assert dataclasses.replace(by_id["row 9"], request=by_id["row 8"].request) == by_id["row 8"]
    assert by_id["row 9"].request is requests[9]


EXACT = [
    {"text": ""},
    {"text": "\ud83d" + "\ude00 \udc80 é 😀 \x00 \u2028 \r\n", "usage": {"completion_tokens": 2**63 - 1}},
    {"logits": {"poor": 0.1 + 0.2, "good": -5e-324}, "upper_bound_words": ("good",)},
    {"logits": {"good": -0.0, "poor": 1.7976931348623157e308}},
    {"losses": (Loss(1 / 3, 3), Loss(2.5e-17, 1))},
    {"text": "B", "options": ("x", "y")},
    {"text": "B", "rendered_prompt": "USER: ?", "images_downscaled": 0, "response_metadata": {"served": "a/b@1"}},
]


@pytest.mark.parametrize("fields", EXACT)
def test_responses_come_back_exactly(store, fields):
    backend = StoredBackend(Scripted(lambda request: Response(request, **fields)), store)
    (asked,) = backend.answer([text_request("a")])
    (again,) = backend.answer([text_request("b")])
    assert (asked.stored, again.stored, again.request.id) == (False, True, "b")
    assert dataclasses.replace(again, request=asked.request) == asked == Response(asked.request, **fields)
    assert repr(again.logits) == repr(asked.logits)


def test_errors_are_not_stored(store):
    replies = iter([{"error": DataError("the server is busy")}, {"text": "now"}])
    backend = StoredBackend(Scripted(lambda request: Response(request, **next(replies))), store)
    asked = [response for _ in range(3) for response in backend.answer([text_request("a")])]
    assert [(response.text, response.stored) for response in asked] == [(None, False), ("now", False), ("now", True)]
    assert asked[0].error.reason == "the server is busy"


@pytest.mark.parametrize(
    ("identity", "asked"),
    [(IDENTITY, 0), ({"model": "other"}, 5), ({"model": "logging", "temperature": 1.0}, 5), (None, 5)],
)
def test_only_the_same_model_with_the_same_settings_is_not_asked_again(store, identity, asked):
    list(StoredBackend(LoggingModel(IDENTITY), store).answer(make_requests(5)))
    model = LoggingModel(identity)
    assert len(list(StoredBackend(model, store).answer(make_requests(5)))) == 5
    assert len(model.asked) == asked
    assert sum(stored.answers for stored in store.models()) == 5 + (asked if identity else 0)


def test_an_image_that_cannot_be_read_is_the_backends_to_explain(store):
    bad = [Request(id=f"bad {i}", prompt=("?",), images=("/does/not/exist.png",)) for i in range(2)]

    def say(request):
        if request.id.startswith("bad"):
            return Response(request, error=BadImageError(f"no image of {request.id}"))
        return Response(request, text="x")

    backend = StoredBackend(Scripted(say), store)
    for _ in range(2):
        again = {r.request.id: r for r in backend.answer([*bad, text_request("good")])}
        assert [str(again[f"bad {i}"].error) for i in range(2)] == ["no image of bad 0", "no image of bad 1"]
        assert again["good"].text == "x"


def test_an_answer_is_on_the_disk_when_it_is_handed_on(store):
    requests = make_requests(50)
    with ResponseStore.open(store.path) as other:
        for count, _ in enumerate(StoredBackend(LoggingModel(IDENTITY), store).answer(requests), start=1):
            if count in (1, 7, 45):
                assert sum(model.answers for model in other.models()) == count - count // 10


def test_nothing_of_the_identity_or_the_request_is_in_the_file(store):
    model = LoggingModel({"model": "logging", "base_url": "https://user:secret-key@host"})
    list(StoredBackend(model, store).answer([text_request("row", "private question", prefill="private start")]))
    store._connection.close()
    data = store.path.read_bytes()
    assert b"test/logging" in data
    assert not any(secret in data for secret in (b"secret-key", b"private", b"host"))


def test_a_run_from_the_store_gives_the_same_result(store, questions):
    """Scores, settings and predictions; only the timings say where the answers came from."""

    def say(request):
        number = int(request.id[1:])
        facts = {"images_downscaled": number % 2, "response_metadata": {"served": f"m@{number // 3}"}}
        return Response(request, text="ABC"[number % 3], rendered_prompt=f"USER: <image>{number}", **facts)

    def ask(dataset):
        model = Scripted(say)
        return run("q_bench/perception", StoredBackend(model, store), dataset), len(model.asked)

    unstored = run("q_bench/perception", Scripted(say), questions)
    ask(questions.select([4, 1]))
    (mixed, mixed_asked), (repeated, repeated_asked) = ask(questions), ask(questions)
    assert (mixed_asked, repeated_asked) == (4, 0)
    for result, stored in ((mixed, 2), (repeated, 6)):
        assert result.timings["answers_from_store"] == stored
        assert result.model_copy(update={"timings": {}}) == unstored.model_copy(update={"timings": {}})
    facts = {"rendered_prompt": "USER: <image>0", "downscaled_share": 0.5, "served": ["m@0", "m@1"]}
    assert repeated.settings["model"] == {"backend": "logging", **facts}


def test_a_stored_answer_without_a_word_that_is_needed_now_is_asked_again(store):
    def say(request):
        return Response(request, logits={word: 1.0 for word in request.words})

    asked = Request("a", ("?",), (), words=("good", "poor"), optional_words=("high", "low"))
    first, again, other = Scripted(say), Scripted(say), Scripted(say)
    assert [response.stored for response in StoredBackend(first, store).answer([asked])] == [False]
    assert [response.stored for response in StoredBackend(again, store).answer([asked])] == [True]
    swapped = dataclasses.replace(asked, words=("high", "low"), optional_words=("good", "poor"))
    (response,) = StoredBackend(other, store).answer([swapped])
    assert not response.stored and response.logits == {"high": 1.0, "low": 1.0} and other.calls == 1
