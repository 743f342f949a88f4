"""Several replies to the same question: whether any of them is correct, and the majority vote.

Protocol: pass@k is Eq. 1 of Chen et al. 2021 (https://arxiv.org/abs/2107.03374), the probability that at least one of k
replies, drawn from n replies of which c are correct, is correct: 1 - C(n - c, k) / C(n, k). With k = n, as in
`repeat_scores`, it is 1 if any reply is correct, else 0. The majority vote is the self-consistency of Wang et al. 2023
(https://arxiv.org/abs/2203.11171, Sec. 2). The papers leave two points open: here, of equally frequent answers the
first one wins, and a reply that names no option has no vote.
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
    """Unbiased estimate of the probability that at least one of k replies to a question is correct (Eq. 1).

    Args:
        right: Number of correct replies.
        n: Number of replies.
        k: Number of replies drawn, from 1 to n.

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
    """The most frequent answer, or the first of several equally frequent ones; None without an answer.

    Args:
        answers: Answers in the order of the repeats; None for a reply that names no option.

    Examples:
        >>> majority_vote(["A", "B", None, "B"]), majority_vote(["B", None, "A"]), majority_vote([None])
        ('B', 'B', None)
    """
    # `most_common` keeps answers with equal counts in the order of their first appearance.
    found = Counter(answer for answer in answers if answer is not None).most_common(1)
    return found[0][0] if found else None


def repeat_scores(
    right: Sequence[int], voted: Sequence[bool], repeats: int, clusters: Sequence[str | None] | None = None
) -> dict[str, Any]:
    """pass@K and the accuracy of the majority vote over items, with intervals.

    Args:
        right: Number of repeats in which each item is correct, shape (n,).
        voted: Whether the majority vote of each item is correct, shape (n,).
        repeats: K, the number of repeats.
        clusters: Cluster of each item; None if items are independent.

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
