import re

import numpy as np
import pytest

from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.pairs.scores import PairSettings, mean_over_pools, pool_replicates
from eyechart.metrics.scoring.statistics.bootstrap import part_generator

NAN = float("nan")


@pytest.mark.parametrize("undefined", ["leave_out", "zero"])
@pytest.mark.parametrize("weights", ["equal", "images"])
def test_a_replicate_is_the_mean_over_the_pools_drawn(weights: str, undefined: str) -> None:
    settings = PairSettings(pool_weights=weights, undefined_pools=undefined, resamples=200)
    values, sizes = np.array([0.25, NAN, -0.5]), np.array([2, 30, 160])
    drawn = part_generator(settings.seed, "pools").integers(0, 3, (200, 3))
    alone = [mean_over_pools(values[pools, None], sizes[pools], settings)[0] for pools in drawn]
    found = pool_replicates(values.tolist(), sizes.tolist(), settings)
    np.testing.assert_allclose(found, alone, rtol=1e-15)
    assert np.isnan(found).any() == (undefined == "leave_out")


def test_means_of_columns() -> None:
    rows, sizes = [[1.0, NAN, NAN], [0.5, 0.5, NAN]], [1, 3]
    by_images = PairSettings(pool_weights="images")
    np.testing.assert_array_equal(mean_over_pools(rows, sizes, PairSettings()), [0.75, 0.5, NAN])
    np.testing.assert_array_equal(mean_over_pools(rows, sizes, by_images), [0.625, 0.5, NAN])
    of_columns = [[1, 1, 1], [1, 1, 1]]
    np.testing.assert_array_equal(mean_over_pools(rows, of_columns, by_images), [0.75, 0.5, NAN])


_NO_COUNT, _NO_SEED = "it must be a whole number of at least 1", "it must be a whole number of at least 0"
_SIZE, _SHUFFLED = "it must be a positive number", {"aggregator": "trueskill"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"aggregator": "mlee"},
            "aggregator is 'mlee'; allowed: 'map', 'mle', 'mle_ridge', 'perron', 'trueskill'. Did",
        ),
        ({"pool_weights": "pairs"}, "pool_weights is 'pairs'; allowed: 'equal', 'images'"),
        ({"undefined_pools": 0}, "undefined_pools is 0; allowed: 'leave_out', 'zero'"),
        ({"fit": "logistic3"}, "fit is 'logistic3'; allowed: 'logistic4', 'logistic5'"),
        *(({"resamples": value}, f"resamples is {value!r}; {_NO_COUNT}") for value in (0, 2.5, True, None)),
        *(({"seed": value}, f"seed is {value!r}; {_NO_SEED}") for value in (-1, "1", 0.5, True, None)),
        ({"order_seed": 1}, "order_seed is 1; it can be set only with aggregator='trueskill'"),
        *((_SHUFFLED | {"order_seed": value}, f"order_seed is {value!r}; {_NO_SEED}") for value in (-1, "1", 0.5)),
        *(({"ridge": value}, f"ridge is {value!r}; {_SIZE}") for value in (0, -1.0, NAN, float("inf"), "1", None)),
    ],
)
def test_bad_settings_are_refused_before_there_are_pairs(settings: dict, message: str) -> None:
    with pytest.raises(InputError, match=f"^{re.escape(message)}"):
        PairSettings(**settings)
