import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.pair_ranking import perron, perron_scores

PAIRS = st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 7)).filter(lambda pair: pair[0] != pair[1]), min_size=1, max_size=40
)


def _dense(winners, losers, n: int, damping: float = 0.01) -> np.ndarray:
    """The principal left eigenvector of the damped, row-stochastic matrix, by NumPy."""
    lost_to = np.zeros((n, n))
    np.add.at(lost_to, (losers, winners), 1)
    rows = lost_to.sum(axis=1, keepdims=True)
    matrix = (1 - damping) * np.where(rows > 0, lost_to / np.maximum(rows, 1), 1 / n) + damping / n
    assert matrix.sum(axis=1) == pytest.approx(1)
    values, vectors = np.linalg.eig(matrix.T)
    principal = vectors[:, np.argmax(values.real)].real
    return principal / principal.sum()


@pytest.mark.parametrize(("n", "pairs", "seed"), [(100, 600, 0), (100, 60, 1), (30, 2000, 2), (5, 12, 3)])
def test_equal_to_the_dense_eigenvector(n: int, pairs: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    winners = rng.integers(0, n, size=pairs)
    losers = (winners + rng.integers(1, n, size=pairs)) % n
    assert perron_scores(winners, losers, n) == pytest.approx(_dense(winners, losers, n), abs=1e-12)


@given(PAIRS, st.sampled_from([0.01, 0.15, 0.5]))
def test_equal_to_the_dense_eigenvector_for_any_outcomes(pairs: list[tuple[int, int]], damping: float) -> None:
    winners, losers = np.array(pairs).T
    found = perron_scores(winners, losers, 8, damping=damping)
    assert found == pytest.approx(_dense(winners, losers, 8, damping), abs=1e-11)
    assert found.sum() == pytest.approx(1) and (found > 0).all()


def test_the_walk_ends_when_nothing_changes_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = []

    class Counted(csr_array):
        def __matmul__(self, other: np.ndarray) -> np.ndarray:
            steps.append(1)
            return super().__matmul__(other)

    monkeypatch.setattr(perron, "csr_array", Counted)
    assert perron_scores(np.arange(50), np.roll(np.arange(50), 1), 50) == pytest.approx(1 / 50, abs=1e-12)
    assert len(steps) == 1


def test_a_circle_is_a_draw() -> None:
    n = 50
    assert perron_scores(np.arange(n), np.roll(np.arange(n), 1), n) == pytest.approx(1 / n, abs=1e-12)


def test_two_items_by_hand() -> None:
    # The loser's row is (0.995, 0.005), the unbeaten winner's (0.5, 0.5): x = 0.5 x + 0.995 (1 - x).
    assert perron_scores([0], [1], 2) == pytest.approx([0.995 / 1.495, 0.5 / 1.495])


def test_wins_raise_and_items_without_a_win_come_last() -> None:
    found = perron_scores([0, 0, 0, 1, 1, 2], [1, 2, 3, 2, 3, 3], 5)
    assert found[0] > found[1] > found[2] > found[3]
    assert found[3] == pytest.approx(found[4]) == pytest.approx(found.min())


@given(PAIRS, st.randoms(use_true_random=False))
def test_equivariant_under_renaming(pairs: list[tuple[int, int]], random) -> None:
    winners, losers = np.array(pairs).T
    renamed = np.array(random.sample(range(8), 8))
    expected = np.empty(8)
    expected[renamed] = perron_scores(winners, losers, 8)
    assert perron_scores(renamed[winners], renamed[losers], 8) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("damping", [0, 1e-4, 1, -0.1, float("nan")])
def test_damping_out_of_range(damping: float) -> None:
    with pytest.raises(InputError, match="damping is"):
        perron_scores([0], [1], 2, damping=damping)
