"""Letter logits on a server that runs the tiny model, compared with the same model run here."""

import pytest

from eyechart.datasets_scripts.common.errors import ModelError
from eyechart.evaluators import evaluator
from eyechart.evaluators.backends import resolve_backend
from eyechart.evaluators.evaluation.data import load_data
from eyechart.evaluators.tasks import get_task

LETTERS = evaluator("ql_bench/single", settings={"letter_logits": True})


def load():
    return load_data(get_task("ql_bench/single"), is_mini=True)


def test_calibration_is_that_of_the_model_run_here(model_server, backend):
    served, local = (
        LETTERS.run(model, load(), limit=24).diagnostics["calibration"]
        for model in (backend(top_logprobs=1280), resolve_backend(None, batch_size=1))
    )
    assert served["n"] == 24 and served["upper_bounds"] == 0
    assert served["confidence"] == pytest.approx(local["confidence"], abs=1e-3)
    assert served["abstention"]["by_probability"] == pytest.approx(local["abstention"]["by_probability"])


def test_letters_that_are_not_among_the_likeliest_tokens_are_counted(model_server, backend):
    found = LETTERS.run(backend(top_logprobs=3), load(), limit=12).diagnostics["calibration"]
    assert 0 < found["upper_bounds"] <= 12 and 0 <= found["accuracy"] <= 1


def test_a_server_without_logprobs_is_refused_with_the_reason(model_server, backend):
    model_server.returns_logprobs = False
    with pytest.raises(ModelError, match="log-probabilities"):
        LETTERS.run(backend(), load(), limit=4)
