import pytest

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.datasets_scripts.common.errors import ModelError
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.types import Request

TEXT = Request("q1", ("Is it dark?",), ())
LOGITS = Request("q1", ("Rate it.",), (), words=("good", "poor"))


def answer(request, returned):
    return next(iter(FunctionBackend(lambda *given: returned).answer([request])))


def test_half_of_a_character_is_an_error_of_the_item_as_no_file_can_hold_it():
    error = answer(TEXT, "dark \ud83d").error
    assert isinstance(error, DataError) and r"half of a character: 'dark \ud83d'" in str(error)
    assert answer(TEXT, "dark \U0001f600\x00\x1b[2J").text == "dark \U0001f600\x00\x1b[2J"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "high", None])
def test_logits_that_are_no_finite_numbers_are_refused(value):
    with pytest.raises(ModelError, match="expected a dict with the logits of good, poor"):
        answer(LOGITS, {"good": 1.0, "poor": value})
