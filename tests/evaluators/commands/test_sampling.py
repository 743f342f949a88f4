"""The options of sampling."""

import pytest

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.backends.chat_options import Sampling
from eyechart.evaluators.commands.sampling import SamplingArguments


def test_a_temperature_above_0_draws_and_0_does_not():
    assert SamplingArguments().options() is None
    assert SamplingArguments(temperature=0.0).options() is None
    assert SamplingArguments(temperature=0.7).options() == Sampling(0.7, 1.0, 0)
    assert SamplingArguments(temperature=0.7, top_p=0.9, sampling_seed=4).options() == Sampling(0.7, 0.9, 4)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"top_p": 0.9}, "--top-p 0.9 has no effect at temperature 0; give --temperature above 0 with it"),
        ({"temperature": 0.0, "sampling_seed": 0}, "--sampling-seed 0 has no effect at temperature 0"),
        ({"temperature": 0.7, "top_p": 0.0}, "top_p=0.0 is not allowed"),
    ],
)
def test_what_has_no_effect_or_cannot_be_is_refused(given, said):
    with pytest.raises(UsageError, match=said):
        SamplingArguments(**given).options()
