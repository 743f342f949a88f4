from dataclasses import replace

import pytest

from eyechart.datasets_scripts.common.errors import BadImageError, DataError, ModelError
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.requests.types import Request

TEXT = Request("q1", ("Is it dark?",), ())
LOGITS = Request("q1", ("Rate it.",), (), words=("good", "poor"))


def answer(request, returned):
    return next(iter(FunctionBackend(lambda *given: returned).answer([request])))


def test_half_of_a_character_is_an_error_of_the_item_as_no_file_can_hold_it():
    error = answer(TEXT, "dark \ud83d").error
    assert isinstance(error, DataError) and r"invalid Unicode: 'dark \ud83d'" in str(error)
    assert answer(TEXT, "dark \U0001f600\x00\x1b[2J").text == "dark \U0001f600\x00\x1b[2J"


def test_an_image_that_cannot_be_read_is_an_error_of_its_item():
    unreadable, readable = FunctionBackend(lambda messages: "A").answer([replace(TEXT, images=(b"",)), TEXT])
    assert isinstance(unreadable.error, BadImageError) and readable.text == "A"


@pytest.mark.parametrize(
    "returned",
    [
        *("good", None, {"good": 1.0}, {"good": 1.0, "poor": 1.0, "fair": 1.0}),
        *({"good": 1.0, "poor": value} for value in (float("nan"), float("inf"), "high", None)),
    ],
)
def test_what_is_no_dict_of_finite_logits_is_refused(returned):
    with pytest.raises(ModelError, match="item 'q1'; expected a dict with finite logits of good, poor"):
        answer(LOGITS, returned)


@pytest.mark.parametrize(
    ("function", "request_for", "problem"),
    [
        (lambda messages: "A", LOGITS, r"takes \(messages\), .* function\(messages, words\) that returns a dict"),
        (lambda messages, words: {}, TEXT, r"takes \(messages, words\), .* function\(messages\) that returns a string"),
        (lambda *, messages: "A", TEXT, r"takes \(\*, messages\)"),
    ],
)
def test_a_function_that_cannot_be_called_so_is_refused_before_anything_is_asked(function, request_for, problem):
    with pytest.raises(ModelError, match=problem):
        FunctionBackend(function).check(request_for.output_type)


def test_a_function_that_does_not_tell_what_it_takes_is_called():
    (response,) = FunctionBackend(str).answer([TEXT])
    assert "Is it dark?" in response.text


def test_an_error_of_the_functions_own_is_not_taken_for_a_wrong_call():
    def broken(messages):
        raise TypeError("of its own")

    with pytest.raises(TypeError, match="of its own"):
        list(FunctionBackend(broken).answer([TEXT]))
