"""pass@K and majority votes against hand computations and against counting."""

from itertools import combinations

import pytest

from eyechart.metrics.scoring.choices.repeats import majority_vote, pass_at_k, repeat_scores
from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.statistics.intervals import wilson_interval


@pytest.mark.parametrize("n", range(1, 7))
def test_pass_at_k_is_the_share_of_draws_with_a_right_reply(n: int) -> None:
    for right in range(n + 1):
        replies = [True] * right + [False] * (n - right)
        for k in range(1, n + 1):
            draws = [any(draw) for draw in combinations(replies, k)]
            assert pass_at_k(right, n, k) == pytest.approx(sum(draws) / len(draws))


@pytest.mark.parametrize(("right", "n", "k"), [(-1, 3, 1), (4, 3, 1), (1, 3, 0), (1, 3, 4)])
def test_numbers_that_cannot_be_are_refused(right: int, n: int, k: int) -> None:
    with pytest.raises(InputError, match="needed: 0 <= right <= n and 1 <= k <= n"):
        pass_at_k(right, n, k)


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (["A", "B", "B"], "B"),
        (["A", "B"], "A"),
        (["B", "A"], "B"),
        (["C", "A", "B", "B", "A"], "A"),
        ([None, None, "C"], "C"),
        ([None, "B", "A"], "B"),
        ([None], None),
        ([], None),
    ],
)
def test_the_majority_wins_and_of_equals_the_first_seen(answers: list[str | None], expected: str | None) -> None:
    assert majority_vote(answers) == expected


def test_shares_are_over_items_with_their_intervals() -> None:
    found = repeat_scores([3, 1, 0, 2], [True, False, False, True], 3)
    assert (found["pass_at_k"], found["majority_vote"], found["n"]) == (0.75, 0.5, 4)
    assert found["pass_at_k_ci95"] == list(wilson_interval(3, 4))
    assert found["majority_vote_ci95"] == list(wilson_interval(2, 4))
