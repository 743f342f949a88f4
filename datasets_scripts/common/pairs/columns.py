"""The columns of pairs, and the databases in 2AFC's label files on which the scores of pairs depend."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import datasets

MIXED = ("kadis700k", "SQAD")
"""Databases whose images were rated in one experiment, so that their scores are comparable."""
MIXED_POOL = "mixed"
"""The pool of all images of `MIXED` (Table II), which the label file does not list."""
BITRATES = "MM21"
"""The database for which the label file has bitrates instead of opinion scores."""


def pair_features() -> "datasets.Features":
    """Return the features of the pairs kind."""
    # Imported here: protocols need the names above, and `eyechart tasks` must not wait for datasets.
    import datasets

    text, number = datasets.Value("string"), datasets.Value("float64")
    return datasets.Features(
        {
            "id": text,
            "images": datasets.Sequence(datasets.Image()),
            "first_id": text,
            "second_id": text,
            "first_quality": number,
            "second_quality": number,
            "first_released_score": number,
            "second_released_score": number,
            "database": text,
            "pool": text,
            "round": datasets.Value("int32"),
        }
    )


def has_bitrates(pair: Mapping[str, Any]) -> bool:
    """Whether the qualities of a pair (a row) of `BITRATES` are the released values."""
    return all(pair.get(f"{side}_quality") == pair.get(f"{side}_released_score") for side in ("first", "second"))
