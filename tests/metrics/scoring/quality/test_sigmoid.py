"""Where the searches of a fit start; what they find is in `test_correlation.py`."""

import numpy as np
import pytest

from eyechart.metrics.scoring.quality.sigmoid import _Cells, _Problem, _steps


def _cells(*x: float) -> _Cells:
    return _Cells(np.array(x), np.arange(len(x)) * 1.0, np.ones(len(x)))


def test_quantiles_lie_in_the_middle_of_their_cells() -> None:
    shares = np.array([0.125, 0.25, 0.5, 0.875])
    assert _cells(0, 1, 2, 3).quantiles(shares) == pytest.approx([0, 0.5, 1.5, 3])
    heavy = _Cells(np.array([0.0, 1.0]), np.zeros(2), np.array([3.0, 1.0]))
    assert heavy.quantiles(np.array([0.375, 0.875])) == pytest.approx([0, 1])


def test_coarser_cells_have_about_equal_weight() -> None:
    cells = _cells(0, 1, 2, 3)
    assert cells.coarser(4) is cells
    two = cells.coarser(2)
    assert (two.x.tolist(), two.y.tolist(), two.weight.tolist()) == ([0.5, 2.5], [0.5, 2.5], [2, 2])


def test_steps_are_at_the_best_gap_and_on_the_cells_beside_it() -> None:
    cells = _Cells(np.array([0.0, 1.0, 5.0, 7.0]), np.array([0.0, 0.0, 1.0, 1.0]), np.ones(4))
    problem = _Problem(cells, line=False)
    assert _steps(problem, least=0.0) == [(0.5, 3.0), (10.0, 1.0), (5.0, 5.0)]
    assert _steps(problem, least=1.0) == []
