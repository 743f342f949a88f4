"""Systematic samples: shares of strata, and chances of rows."""

from collections import Counter
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from eyechart.metrics.scoring.statistics.sampling import systematic_rows


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=60), st.data())
def test_each_stratum_has_its_share_to_within_one_item(strata: list[str], data: Any) -> None:
    n = data.draw(st.integers(1, len(strata)))
    rows = systematic_rows([(name,) for name in strata], n, np.random.default_rng(data.draw(st.integers(0, 99))))
    assert len(set(rows)) == n and rows == sorted(rows)
    drawn, all_of = Counter(strata[row] for row in rows), Counter(strata)
    assert all(abs(drawn[name] - n * count / len(strata)) < 1 + 1e-9 for name, count in all_of.items())


def test_every_item_has_the_same_chance() -> None:
    strata = [("a",)] * 7 + [("b",)] * 4
    found = Counter(row for seed in range(4000) for row in systematic_rows(strata, 3, np.random.default_rng(seed)))
    assert np.allclose([found[row] / 4000 for row in range(11)], 3 / 11, atol=0.03)
