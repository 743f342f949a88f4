"""The label files of the 2AFC paper, which list the images of each pool.

A file maps a pool to a list of images. Every image gets seats, its positions in the pools to which it belongs, so that
a pool keeps its size and order if images are left out. In the coarse label file, the images of `MIXED` also form the
pool `mixed` (Table II of the paper), which the file does not list.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eyechart.datasets_scripts.common.errors import BadAnnotationError, unknown_name
from eyechart.datasets_scripts.common.files.readers import ROW_ERROR, Row, clean_text, read_json_object
from eyechart.datasets_scripts.common.pairs.columns import Pool

MIXED = ("kadis700k", "SQAD")
"""Databases whose images were rated in one experiment, so that their scores are comparable."""
MIXED_POOL = "mixed"
BITRATES = "MM21"
"""The database for which the label file has bitrates instead of opinion scores."""
SEATS = "seats"
"""Field of a row with its `Seat`s."""


@dataclass(frozen=True)
class Seat:
    """One image's position in a pool."""

    pool: str
    """The pool's name."""
    place: int
    """The image's position in the pool."""
    size: int
    """Number of images in the pool."""


def read_label_rows(path: str, databases: Sequence[str]) -> list[Row]:
    """Read a label file into one row per image, with its seats; rows are numbered from 1 across all pools.

    Args:
        path: The label file.
        databases: Databases to keep, also `MIXED_POOL`; all if empty. An image's database is the first folder of its
            `img_path`.

    Raises:
        MissingFileError: The file is missing.
        BadAnnotationError: Not a JSON object of lists of at least two images.
        UsageError: One of `databases` is not in the file.
    """
    pools = {clean_text(name): images for name, images in read_json_object(path).items()}
    for name, images in pools.items():
        if not isinstance(images, list) or len(images) < 2:
            raise BadAnnotationError(f"pool {name!r} must be a list of at least two images", path=path)
    mixed = MIXED if set(MIXED) <= set(pools) else ()
    everything = [(name, place, image) for name, images in pools.items() for place, image in enumerate(images)]
    found = dict.fromkeys(_database(name, image) for name, _, image in everything) | dict.fromkeys(
        mixed and [MIXED_POOL]
    )
    for database in databases:
        if database not in found:
            raise unknown_name("database", database, found, f"in {path}")
    wanted = set(databases or found)
    rows: list[Row] = []
    for number, (name, place, image) in enumerate(everything, 1):
        seats = [Seat(name, place, len(pools[name]))] if _database(name, image) in wanted else []
        if name in mixed and MIXED_POOL in wanted:
            before = sum(len(pools[other]) for other in mixed[: mixed.index(name)])
            seats.append(Seat(MIXED_POOL, before + place, sum(len(pools[other]) for other in mixed)))
        if seats:
            fields = image if isinstance(image, dict) else {ROW_ERROR: f"expected a JSON object, found {image!r}"}
            rows.append((number, fields | {SEATS: seats}))
    return rows


def seated_pools(images: Sequence[Mapping[str, Any]]) -> list[Pool]:
    """Put images into their pools, `MIXED_POOL` last.

    Args:
        images: `SEATS`, `database`, and the fields of an image of `Pool`.

    Returns:
        Every pool with at least one image, in order of first appearance.
    """
    members: dict[str, list[Mapping[str, Any] | None]] = {}
    databases: dict[str, str] = {}
    for image in images:
        for seat in image[SEATS]:
            members.setdefault(seat.pool, [None] * seat.size)[seat.place] = image
            databases[seat.pool] = seat.pool if seat.pool == MIXED_POOL else image["database"]
    names = sorted(members, key=lambda name: name == MIXED_POOL)
    return [Pool(name, databases[name], members[name]) for name in names]


def has_bitrates(pair: Mapping[str, Any]) -> bool:
    """Whether the qualities of a pair of `BITRATES` are the released values.

    Args:
        pair: A row of the dataset.
    """
    return all(pair.get(f"{side}_quality") == pair.get(f"{side}_released_score") for side in ("first", "second"))


def _database(pool: str, image: Any) -> str:
    """Return an image's database; if the path is malformed, the pool's name, as in the coarse label file."""
    name = image.get("img_path") if isinstance(image, dict) else None
    return clean_text(name).partition("/")[0] if isinstance(name, str) and "/" in name else pool
