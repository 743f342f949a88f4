"""Several replies to the same questions: whether any of them is right, and what most of them say.

Protocol: pass@k is Eq. 1 of Chen et al. 2021 (https://arxiv.org/abs/2107.03374), the probability that at least one of k
replies, drawn from the n that were given, is right: 1 - C(n - c, k) / C(n, k) where c of the n are. With k = n, as in
`repeat_scores`, that is whether any is. The majority vote is the self-consistency of Wang et al. 2023
(https://arxiv.org/abs/2203.11171, Sec. 2). Departures, as they leave these open: of answers that are equally frequent,
the one that was given first wins, and a reply that names no option has no vote.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from math import comb
from typing import Any, TypeVar

from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.inputs import check_lengths
from eyechart.metrics.scoring.statistics.intervals import listed_intervals
from eyechart.metrics.scoring.statistics.shares import Clusters, share_interval

_Answer = TypeVar("_Answer", bound=Hashable)


def pass_at_k(right: int, n: int, k: int) -> float:
    """Eq. 1: the probability that at least one of k replies to a question is right, without bias.

    Args:
        right: How many of its replies are right.
        n: How many there are.
        k: How many are drawn, from 1 to n.

    Returns:
        In [0, 1]; higher is better.

    Raises:
        InputError: Not 0 <= right <= n, or not 1 <= k <= n.

    Examples:
        >>> pass_at_k(1, n=4, k=2), pass_at_k(1, n=4, k=4), pass_at_k(0, n=4, k=4)
        (0.5, 1.0, 0.0)
    """
    if not 0 <= right <= n or not 1 <= k <= n:
        raise InputError(f"right={right}, n={n}, k={k}; needed: 0 <= right <= n and 1 <= k <= n")
    return 1.0 - comb(n - right, k) / comb(n, k)


def majority_vote(answers: Sequence[_Answer | None]) -> _Answer | None:
    """The most frequent answer, of several the first that was given; None where there is none.

    Args:
        answers: In the order of the repeats, None where a reply names no option.

    Examples:
        >>> majority_vote(["A", "B", None, "B"]), majority_vote(["B", None, "A"]), majority_vote([None])
        ('B', 'B', None)
    """
    # Equal counts keep the order in which answers came.
    found = Counter(answer for answer in answers if answer is not None).most_common(1)
    return found[0][0] if found else None


def repeat_scores(
    right: Sequence[int], voted: Sequence[bool], repeats: int, clusters: Sequence[str | None] | None = None
) -> dict[str, Any]:
    """pass@K and the accuracy of the majority vote over items, each with the interval of a share.

    Args:
        right: In how many repeats each item is right, shape (n,).
        voted: Whether what most of its replies say is right, shape (n,).
        repeats: K, the number of repeats.
        clusters: What each item shares with others; None if they are independent.

    Returns:
        `pass_at_k` and `majority_vote` in [0, 1], higher is better; `pass_at_k_ci95` and `majority_vote_ci95`, and
        `intervals`, their kinds; `n`.

    Raises:
        InputError: There are no items, or the lengths differ.

    Examples:
        >>> found = repeat_scores([2, 1, 0, 0], [True, False, False, False], repeats=2)
        >>> found["pass_at_k"], found["majority_vote"], found["n"]
        (0.5, 0.25, 4)
    """
    n = check_lengths(right=right, voted=voted)
    shared = Clusters.of(clusters, n)
    any_right = [pass_at_k(count, repeats, repeats) for count in right]
    intervals = {"pass_at_k": share_interval(any_right, shared), "majority_vote": share_interval(voted, shared)}
    return {
        "pass_at_k": sum(any_right) / n,
        "majority_vote": sum(voted) / n,
        **listed_intervals(intervals),
        "n": n,
    }
