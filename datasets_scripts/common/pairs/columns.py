"""The columns of pairs, and the databases in 2AFC's label files on which the scores of pairs depend."""

from typing import TYPE_CHECKING

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

    scores = ("first_quality", "second_quality", "first_released_score", "second_released_score")
    return datasets.Features(
        {
            "id": datasets.Value("string"),
            "images": datasets.Sequence(datasets.Image()),
            **dict.fromkeys(("first_id", "second_id"), datasets.Value("string")),
            **dict.fromkeys(scores, datasets.Value("float64")),
            **dict.fromkeys(("database", "pool"), datasets.Value("string")),
            "round": datasets.Value("int32"),
        }
    )
