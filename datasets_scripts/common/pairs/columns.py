"""The columns of pairs: their features, and rows of pairs from pools of images."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import datasets


def pair_features() -> "datasets.Features":
    """Return the features of the pairs kind."""
    # Imported here: protocols need this file's pools, and `eyechart tasks` must not wait for datasets.
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


@dataclass(frozen=True)
class Pool:
    """Images that are paired with each other and ranked together."""

    name: str
    """Unique within a dataset."""
    database: str
    """The database of the images."""
    images: Sequence[Mapping[str, Any] | None]
    """`id`, `images` (a list of one, empty if images are skipped), `quality` and `released_score` of each image; None
    for an image that was left out, which keeps its position so that the other pairs do not change."""


def pair_rows(pool: Pool, rounds: Sequence[Sequence[tuple[int, int]]]) -> list[dict[str, Any]]:
    """Return one row per pair, with an id of the form `<pool>-<round>-<position in the round>`.

    Args:
        pool: The images.
        rounds: Pairs of positions in the pool, by round.

    Returns:
        Rows in order of the rounds, without the pairs that contain a left-out image.

    Examples:
        >>> images = [{"id": name, "images": [], "quality": 1, "released_score": 1} for name in "ab"]
        >>> [row["id"] for row in pair_rows(Pool("sea", "csiq", [*images, None]), [[(1, 0)], [(0, 2)], [(0, 1)]])]
        ['sea-00-000', 'sea-02-000']
    """
    rows = []
    for number, pairs in enumerate(rounds):
        for place, (one, other) in enumerate(pairs):
            first, second = pool.images[one], pool.images[other]
            if first is None or second is None:
                continue
            rows.append(
                {
                    "id": f"{pool.name}-{number:02d}-{place:03d}",
                    "images": [*first["images"], *second["images"]],
                    "first_id": first["id"],
                    "second_id": second["id"],
                    "first_quality": first["quality"],
                    "second_quality": second["quality"],
                    "first_released_score": first["released_score"],
                    "second_released_score": second["released_score"],
                    "database": pool.database,
                    "pool": pool.name,
                    "round": number,
                }
            )
    return rows
