"""The rules by which images are paired in the 2AFC paper (https://arxiv.org/abs/2402.01162, Sec. II-A and III).

Images are paired within pools, and each pool is ranked separately. A round is a random perfect matching of a pool:
every image is paired with one other (in an odd pool, one image is left over); a run has M = 12 rounds. A coarse pool
has images of a complete database; the three fine-grained rules below pool similar images.
"""

from collections.abc import Hashable, Sequence

import numpy as np

from eyechart.datasets_scripts.common.errors import UsageError, unknown_name

ROUNDS = 12
"""M of the paper, Sec. III-A."""
PAIRINGS = ("random", "released")
"""How rounds are drawn: by `random_matching` or by `released_matching`."""
RELEASED_SEED = 1234
"""Round r of the released code is drawn by NumPy's legacy generator with the seed 1234 + r."""
INTERVALS = ((0, 25), (25, 50), (50, 75), (75, 100))
"""Intervals of opinion scores on the scale 0 to 100; each includes its lower end, the last one also its upper end."""

Pools = dict[str, list[int]]
"""Positions of the images of each pool, by the pool's name."""


def random_matching(n_items: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Draw one round: a random perfect matching, in random order and with random first and second places.

    Args:
        n_items: Size of the pool, at least 2.
        rng: The only source of randomness.

    Returns:
        `n_items // 2` pairs of positions; every position is in one pair, except one if `n_items` is odd.

    Raises:
        UsageError: Fewer than two items.

    Examples:
        >>> random_matching(5, np.random.default_rng(0))
        [(2, 4), (3, 0)]
    """
    return _neighbours(rng.permutation(_checked_size(n_items)))


def released_matching(n_items: int, round_number: int) -> list[tuple[int, int]]:
    """Draw a round exactly as the authors' released code does, with the same rounds for all pools of one size.

    Args:
        n_items: Size of the pool, at least 2.
        round_number: From 0.

    Returns:
        As `random_matching`.

    Raises:
        UsageError: Fewer than two items.

    Examples:
        >>> released_matching(5, 0)
        [(4, 0), (1, 2)]
    """
    order = np.arange(_checked_size(n_items))
    np.random.RandomState(RELEASED_SEED + round_number).shuffle(order)
    return _neighbours(order)


def draw_rounds(n_items: int, rounds: int, pairing: str, rng: np.random.Generator) -> list[list[tuple[int, int]]]:
    """Draw the rounds of one pool.

    Args:
        n_items: Size of the pool, at least 2.
        rounds: Number of rounds; a pair may appear in several.
        pairing: One of `PAIRINGS`.
        rng: The only source of randomness; "released" does not use it.

    Returns:
        Pairs of positions by round.

    Raises:
        UsageError: Fewer than two items, or an unknown pairing.

    Examples:
        >>> draw_rounds(4, 2, "released", np.random.default_rng(0))
        [[(0, 1), (2, 3)], [(1, 0), (2, 3)]]
    """
    if pairing not in PAIRINGS:
        raise unknown_name("value", pairing, PAIRINGS, "of pairing")
    if pairing == "released":
        return [released_matching(n_items, number) for number in range(rounds)]
    return [random_matching(n_items, rng) for _ in range(rounds)]


def pools_of_levels(contents: Sequence[str], types: Sequence[str], levels: Sequence[Hashable]) -> Pools:
    """Pool images of the same content and distortion type but of different levels: the first fine-grained rule.

    Args:
        contents: The reference of each image.
        types: The distortion type of each image.
        levels: The distortion level of each image.

    Returns:
        Pools named `<content>.<type>` of at least two images, in order of first appearance.

    Raises:
        UsageError: A pool has one level twice.

    Examples:
        >>> pools_of_levels(["sea", "sea", "sea"], ["blur", "noise", "blur"], [1, 1, 2])
        {'sea.blur': [0, 2]}
    """
    return _pools_that_differ("level", contents, types, levels)


def pools_of_types(contents: Sequence[str], types: Sequence[str], levels: Sequence[Hashable]) -> Pools:
    """Pool images of the same content and distortion level but of different types: the second fine-grained rule.

    Args:
        contents: The reference of each image.
        types: The distortion type of each image.
        levels: The distortion level of each image.

    Returns:
        Pools named `<content>.<level>` of at least two images, in order of first appearance.

    Raises:
        UsageError: A pool has one type twice.

    Examples:
        >>> pools_of_types(["sea", "sea", "sea"], ["blur", "noise", "blur"], [1, 1, 2])
        {'sea.1': [0, 1]}
    """
    return _pools_that_differ("type", contents, levels, types)


def pools_of_intervals(scores: Sequence[float]) -> Pools:
    """Pool images whose scores are in the same one of the four `INTERVALS`: the third fine-grained rule.

    Args:
        scores: Mean opinion scores on the scale 0 to 100 (see `sampling.rescale`).

    Returns:
        Pools named `interval_<low>_<high>` of at least two images, the lowest first.

    Examples:
        >>> pools_of_intervals([0, 24.9, 25, 75, 100])
        {'interval_0_25': [0, 1], 'interval_75_100': [3, 4]}
    """
    pools: Pools = {f"interval_{low}_{high}": [] for low, high in INTERVALS}
    for position, score in enumerate(scores):
        low, high = INTERVALS[min(int(score // 25), len(INTERVALS) - 1)]
        pools[f"interval_{low}_{high}"].append(position)
    return _pairable(pools)


def _pools_that_differ(what: str, contents: Sequence[str], shared: Sequence, differing: Sequence[Hashable]) -> Pools:
    pools: Pools = {}
    seen: set[tuple[str, Hashable]] = set()
    for position, (content, own, other) in enumerate(zip(contents, shared, differing, strict=True)):
        pool = f"{content}.{own}"
        if (pool, other) in seen:
            raise UsageError(
                f"image {position} is the second with {what} {other!r} in pool {pool!r}; each {what} must occur once"
            )
        seen.add((pool, other))
        pools.setdefault(pool, []).append(position)
    return _pairable(pools)


def _pairable(pools: Pools) -> Pools:
    return {name: positions for name, positions in pools.items() if len(positions) >= 2}


def _checked_size(n_items: int) -> int:
    if n_items < 2:
        raise UsageError(f"n_items is {n_items}; a round needs at least 2")
    return n_items


def _neighbours(order: np.ndarray) -> list[tuple[int, int]]:
    places = order.tolist()
    return list(zip(places[::2], places[1::2], strict=False))
