"""Tables of paired comparisons: one row of scores for each part of the data, and averages of the rows.

Protocol: 2AFC, Sec. III (https://arxiv.org/abs/2402.01162). Table II has one row per database, and averages weighted
by the numbers of sampled images. Tables III and IV have one row per distortion type, level or interval of scores, and
plain averages. If a row has several pools, its rho is their mean. Departure: for an undefined ranking, Table IV has a
rho of 0.000, which enters the average; here such a row is left out of the average, and its name is reported.
"""

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eyechart.metrics.scoring.errors import InputError, ScoringWarning
from eyechart.metrics.scoring.inputs import check_lengths, rows_by_value
from eyechart.metrics.scoring.items import ItemColumns, select_rows
from eyechart.metrics.scoring.pairs.pools import Pairs
from eyechart.metrics.scoring.pairs.preferences import SHARES
from eyechart.metrics.scoring.pairs.scores import CORRELATIONS, PairSettings, pair_scores

_COUNTS = ("n_pairs", "n_consistent", "n_images")
_RATES = (*SHARES, "first_rate")
_INTERVALS = (*(f"{name}_ci95" for name in (*_RATES, "srcc", "plcc")), "intervals")


def part_scores(
    items: ItemColumns, pairs: Pairs, parts: Sequence[str], settings: PairSettings | None = None
) -> dict[str, dict[str, Any]]:
    """The scores of each part of the data.

    Args:
        items: Items of n pairs, from `read_pairs`.
        pairs: The pairs.
        parts: Name of each pair's part, length n; a part must contain complete pools.
        settings: Ranking, averaging over a part's pools, fit and bootstrap.

    Returns:
        A dict from each part to its scores from `pair_scores`, without the scores of images and single pools. An
        undefined score is nan, without a warning.

    Raises:
        InputError: The lengths differ, or an image has two references within a pool.

    Examples:
        >>> from eyechart.metrics.scoring.pairs.pools import check_pairs
        >>> from eyechart.metrics.scoring.pairs.preferences import read_pairs
        >>> pairs = check_pairs(["a", "c"], ["b", "d"], [1, 3], [2, 4], ["sea.blur", "sea.noise"])
        >>> table = part_scores(read_pairs(["B", "A"], ["A", "A"], pairs), pairs, ["blur", "noise"])
        >>> table["blur"]["consistency"], table["noise"]["consistency"], table["noise"]["n_images"]
        (1.0, 0.0, 2)
    """
    check_lengths(choice=items["choice"], first_ids=pairs.first_ids, parts=parts)
    table = {}
    for part, rows in rows_by_value(parts).items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ScoringWarning)
            found = pair_scores(select_rows(items, rows), pairs.select(rows), settings)
        table[part] = {name: found[name] for name in (*_RATES, *CORRELATIONS, *_INTERVALS, *_COUNTS)}
    return table


def average_rows(table: Mapping[str, Mapping[str, float]], weights: str = "equal") -> dict[str, Any]:
    """Averages of a table's rows.

    Args:
        table: A dict from each part to its scores, at least one part; with `n_images` if these are the weights.
        weights: "equal" (Tables III and IV) or "n_images" (Table II).

    Returns:
        `over`, the parts; `weights`; the mean of each of `SHARES` and `CORRELATIONS` that all rows have, nan if it is
        undefined in all rows; `undefined`, a dict from each score to the parts that are left out of its mean; and the
        sums of the rows' counts.

    Raises:
        InputError: There are no rows, or `weights` is not allowed.

    Examples:
        >>> table = {"CSIQ": {"srcc": 0.5, "n_images": 30}, "SPAQ": {"srcc": 0.8, "n_images": 160}}
        >>> round(average_rows(table, "n_images")["srcc"], 4)
        0.7526
    """
    if not table:
        raise InputError("table has no rows; an average needs at least one")
    if weights not in ("equal", "n_images"):
        raise InputError(f"weights is {weights!r}; it must be 'equal' or 'n_images'")
    found: dict[str, Any] = {"over": list(table), "weights": weights}
    undefined = {}
    for name in (*SHARES, *CORRELATIONS):
        if not all(name in row for row in table.values()):
            continue
        kept = [row for row in table.values() if math.isfinite(row[name])]
        sizes = [1 if weights == "equal" else row["n_images"] for row in kept]
        found[name] = float(np.average([row[name] for row in kept], weights=sizes)) if kept else float("nan")
        if len(kept) < len(table):
            undefined[name] = [part for part, row in table.items() if not math.isfinite(row[name])]
    counted = [name for name in _COUNTS if all(name in row for row in table.values())]
    return found | {name: sum(row[name] for row in table.values()) for name in counted} | {"undefined": undefined}
