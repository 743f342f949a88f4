"""Backends around others: the store and processes; and functions as backends."""

import json
import math
import os
import subprocess
import sys
from dataclasses import replace

import pyarrow.parquet
import pytest

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators.backends import processes
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.backends.processes import DistributedBackend
from eyechart.evaluators.backends.stored import StoredBackend
from eyechart.evaluators.requests.errors import MissingPredictionError, ModelError
from eyechart.evaluators.requests.types import Loss, Request, Response
from tests.evaluators.backends.logging_model import LoggingModel, in_processes, make_requests, plain

IDENTITY = {"model": "logging"}


def text_request(id, text="?", **changes):
    return Request(id=id, prompt=(text,), images=(), **changes)


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
    assert replace(by_id["row 9"], request=by_id["row 8"].request) == by_id["row 8"]
    assert by_id["row 9"].request is requests[9]


EXACT = [
    {"text": "", "options": ("x", "y"), "rendered_prompt": "USER: ?", "response_metadata": {"served": "a/b@1"}},
    {"text": "\ud83d" + "\ude00 \udc80 é 😀 \x00 \u2028 \r\n", "usage": {"completion_tokens": 2**63 - 1}},
    {"logits": {"poor": 0.1 + 0.2, "good": -5e-324, "x": -0.0}, "upper_bound_words": ("good",), "images_downscaled": 0},
    {"losses": (Loss(1 / 3, 3), Loss(2.5e-17, 1))},
]


@pytest.mark.parametrize("fields", EXACT)
def test_responses_come_back_exactly(store, fields):
    backend = StoredBackend(LoggingModel(IDENTITY, say=lambda request: Response(request, **fields)), store)
    (asked,) = backend.answer([text_request("a")])
    (again,) = backend.answer([text_request("b")])
    assert (asked.stored, again.stored, again.request.id) == (False, True, "b")
    assert replace(again, request=asked.request) == asked == Response(asked.request, **fields)
    assert repr(again.logits) == repr(asked.logits)


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


def test_nothing_of_the_identity_or_the_request_is_in_the_file(store):
    model = LoggingModel({"model": "logging", "base_url": "https://user:secret-key@host"})
    list(StoredBackend(model, store).answer([text_request("row", "private question", prefill="private start")]))
    store._connection.close()
    data = store.path.read_bytes()
    assert b"test/logging" in data
    assert not any(secret in data for secret in (b"secret-key", b"private", b"host"))


def test_a_stored_answer_without_a_word_that_is_needed_now_is_asked_again(store):
    def say(request):
        return Response(request, logits={word: 1.0 for word in request.words})

    asked = Request("a", ("?",), (), words=("good", "poor"), optional_words=("high", "low"))
    first, again, other = (LoggingModel(IDENTITY, say=say) for _ in range(3))
    assert [response.stored for response in StoredBackend(first, store).answer([asked])] == [False]
    assert [response.stored for response in StoredBackend(again, store).answer([asked])] == [True]
    swapped = replace(asked, words=("high", "low"), optional_words=("good", "poor"))
    (response,) = StoredBackend(other, store).answer([swapped])
    assert not response.stored and response.logits == {"high": 1.0, "low": 1.0} and other.calls == 1


# Two processes in one, which has loaded all that they need; the variables are those that torchrun sets.
TWO_PROCESSES = """
import os, socket, sys
from eyechart.evaluators.cli import app
from eyechart.evaluators.runs import run as runs

runs._write_report = lambda *arguments: True
run = ["run", "q_bench/perception", "--limit", "5", "--no-store", "--out"]
app([*run, sys.argv[1]], standalone_mode=False)
with socket.create_server(("127.0.0.1", 0)) as free:
    port = free.getsockname()[1]
os.environ |= {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
other = os.fork()
os.environ["RANK"] = os.environ["LOCAL_RANK"] = str(int(other == 0))
app([*run, sys.argv[2]], standalone_mode=False)
sys.exit(other and os.waitpid(other, 0)[1])
"""


@pytest.mark.slow
def test_two_processes_give_the_results_of_one(tmp_path):
    """Of five rows, one process gets fewer."""
    folders = [tmp_path / "one", tmp_path / "two"]
    command = [sys.executable, "-c", TWO_PROCESSES, *map(str, folders)]
    variables = {**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Results: ") == 2, "of the two, one prints"
    (expected,), (observed,) = (json.loads((folder / "results.json").read_text())["tasks"] for folder in folders)
    one, two = (pyarrow.parquet.read_table(folder / "predictions.parquet").to_pylist() for folder in folders)
    assert observed["scores"] == expected["scores"] and one == two
    assert observed["settings"]["model"]["processes"] == 2


def echo(request):
    """The id; one request has no answer, and another breaks the model."""
    if request.id == "broken":
        raise RuntimeError("this process has a broken accelerator")
    error = MissingPredictionError("no image") if request.id == "5" else None
    return Response(request, text=None if error else request.id, error=error)


def test_every_process_yields_the_same_responses_to_its_own_requests(monkeypatch):
    monkeypatch.setattr(processes, "_REQUESTS_PER_ROUND", 2)

    def ask(processes):
        requests = [Request(str(number), ("Why?",), (b"%d" % number,)) for number in range(7)]
        backend = DistributedBackend(LoggingModel(None, say=echo), processes).for_data("some")
        responses = list(backend.answer(requests))
        assert all(response.request is requests[int(response.request.id)] for response in responses)
        assert (backend.name, backend.settings()) == ("test/logging", {"backend": "logging", "processes": 3})
        return [(response.request.id, response.text, repr(response.error)) for response in responses]

    first, *others = in_processes(3, ask)
    assert others == [first] * 2
    error = repr(MissingPredictionError("no image"))
    assert sorted(first) == [(id, None if id == "5" else id, error if id == "5" else "None") for id in "0123456"]


def test_a_process_that_fails_makes_all_fail_with_its_reason():
    def ask(processes):
        requests = [Request("broken" if number == 6 else str(number), ("Why?",), ()) for number in range(8)]
        try:
            list(DistributedBackend(LoggingModel(None, say=echo), processes).answer(requests))
        except (ModelError, RuntimeError) as error:
            return f"{type(error).__name__}: {error}"

    observed = in_processes(2, ask)
    reason = "RuntimeError: this process has a broken accelerator"
    assert sorted(observed) == sorted([reason, f"ModelError: process {observed.index(reason)} of 2 failed: {reason}"])


TEXT = Request("q1", ("Is it dark?",), ())
LOGITS = Request("q1", ("Rate it.",), (), words=("good", "poor"))


def test_half_of_a_character_is_an_error_of_the_item_as_no_file_can_hold_it():
    replies = iter(["dark \ud83d", "dark \U0001f600\x00\x1b[2J"])
    half, whole = FunctionBackend(lambda messages: next(replies)).answer([TEXT] * 2)
    assert isinstance(half.error, DataError) and r"invalid Unicode: 'dark \ud83d'" in str(half.error)
    assert whole.text == "dark \U0001f600\x00\x1b[2J"


def broken(messages):
    raise TypeError("of its own")


@pytest.mark.parametrize(
    ("function", "request_for", "error", "problem"),
    [
        (lambda messages: "A", LOGITS, ModelError, r"takes \(messages\), .* function\(messages, words\)"),
        (lambda messages, words: {}, TEXT, ModelError, r"takes \(messages, words\), .* function\(messages\) that"),
        (lambda messages: 3, TEXT, ModelError, "returned int for item 'q1'; expected a string"),
        (broken, TEXT, TypeError, "of its own"),
        *(
            (lambda messages, words, returned=returned: returned, LOGITS, ModelError, "finite logits of good, poor")
            for returned in (
                None,
                {"good": 1.0},
                {"good": 1.0, "poor": 1.0, "fair": 1.0},
                {"good": 1.0, "poor": math.nan},
            )
        ),
    ],
)
def test_a_function_that_does_not_fit_is_refused(function, request_for, error, problem):
    backend = FunctionBackend(function)
    with pytest.raises(error, match=problem):
        backend.check(request_for.output_type)
        list(backend.answer([request_for]))
