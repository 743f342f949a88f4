"""Pairs of images: their columns, and the pools and rounds in which images are paired.

The rules are those of the 2AFC paper, https://arxiv.org/abs/2402.01162. Images are paired within pools, and each is
ranked separately. A round is a random perfect matching of a pool: every image is paired with one other (in an odd pool,
one image is left over).

The pools of the paper are those of the authors' label files. From any other database, a seeded procedure draws images
for each of its tables; the paper does not say how it drew them:

- coarse (Table II): one image per reference (160 images if references are unknown), one by one at random from the least
  filled of five equally wide levels of scores. Unlike the paper's, they are not balanced in spatial information and
  colourfulness;
- fine (Table III): all images of four references; a pool has one reference and one distortion type, or one level;
- fine (Table IV): 25 images from each quarter of the scale of scores.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from eyechart.datasets_scripts.common.errors import BadAnnotationError, UsageError, unknown_name
from eyechart.datasets_scripts.common.files.readers import ROW_ERROR, Row, clean_text, read_json_object

if TYPE_CHECKING:
    import datasets

MIXED = ("kadis700k", "SQAD")
"""Databases whose images were rated in one experiment, so that their scores are comparable."""
MIXED_POOL = "mixed"
"""The pool of all images of `MIXED` (Table II), which the label file does not list."""
BITRATES = "MM21"
"""The database for which the label file has bitrates instead of opinion scores."""
SEAT = "seat"
"""Field of an image of a label file: its pool, its position in the pool, and the pool's size."""
_LEVELS = 5
_SCALES = {"agiqa3k": (0, 5), "cgiqa6k": (0, 5), "csiq": (0, 1), "kadid10k": (1, 5), "koniq10k": (1, 5)}
"""Lowest and highest quality of the databases whose scale is not 0 to 100."""

Image = Mapping[str, Any]
"""`id`, `images` (a list of one, empty if images are skipped), `quality`, `released_score` and `database`."""
Pools = dict[str, Sequence[Image | None]]
"""Images by pool; None is an image that was left out, which keeps its position so that other pairs do not change."""


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


def read_label_file(path: str, databases: Sequence[str]) -> list[Row]:
    """Read the pools `databases` (all if empty) of a label file into one row per image, with its `SEAT`.

    Rows are numbered from 1 across all pools.
    """
    pools = {clean_text(name): images for name, images in read_json_object(path).items()}
    found = [*pools, MIXED_POOL] if pools.keys() >= {*MIXED} else [*pools]
    for database in databases:
        if database not in found:
            raise unknown_name("database", database, found, f"in {path}")
    wanted = {*(databases or found)}
    if MIXED_POOL in wanted:
        wanted |= {*MIXED}
    rows: list[Row] = []
    number = 0
    for name, images in pools.items():
        if not isinstance(images, list) or len(images) < 2:
            raise BadAnnotationError(f"pool {name!r} must be a list of at least two images", path=path)
        for place, image in enumerate(images):
            number += 1
            if name in wanted:
                fields = image if isinstance(image, dict) else {ROW_ERROR: f"expected a JSON object, found {image!r}"}
                rows.append((number, fields | {SEAT: (name, place, len(images))}))
    return rows


def label_pools(images: Sequence[Image], databases: Sequence[str]) -> Pools:
    """Put the images of a label file into the pools `databases` (all if empty), `MIXED_POOL` last."""
    pools: dict[str, list[Image | None]] = {}
    for image in images:
        name, place, size = image[SEAT]
        pools.setdefault(name, [None] * size)[place] = image
    if pools.keys() >= {*MIXED}:
        pools[MIXED_POOL] = [image for name in MIXED for image in pools[name]]
    return {name: pool for name, pool in pools.items() if not databases or name in databases}


def draw_coarse(images: Sequence[Image], size: int | None, rng: np.random.Generator) -> list[Image]:
    """Draw `size` images for Table II, at most one per reference; by default one of each."""
    is_known = all(image["reference"] is not None for image in images)
    references = [image["id"] if image["reference"] is None else image["reference"] for image in images]
    distinct, contents = np.unique(references, return_inverse=True)
    if size is None:
        size = len(distinct) if is_known else min(160, len(distinct))
    if size > len(distinct):
        raise UsageError(f"sample is {size}, but there are only {len(distinct)} references")
    scores = np.array([image["quality"] for image in images])
    levels = np.minimum((scores - scores.min()) / (np.ptp(scores) or 1) * _LEVELS, _LEVELS - 1).astype(int)
    filled = np.zeros(_LEVELS, int)
    left = rng.permutation(len(images))
    chosen: list[int] = []
    while len(chosen) < size:
        # Of levels that are equally filled, the one with the fewest images left.
        present = np.bincount(levels[left], minlength=_LEVELS)
        level = min(np.flatnonzero(present), key=lambda one: (filled[one], present[one]))
        image = int(left[levels[left] == level][0])
        chosen.append(image)
        filled[level] += 1
        left = left[contents[left] != contents[image]]
    return [images[place] for place in sorted(chosen)]


def draw_references(images: Sequence[Image], config: str, size: int | None, rng: np.random.Generator) -> Pools:
    """Draw `size` references (default 4) for Table III; pool their images by type ("fine_levels") or by level."""
    shared = "distortion_type" if config == "fine_levels" else "distortion_level"
    for image in images:
        for fact in ("reference", "distortion_type", "distortion_level"):
            if image[fact] is None:
                raise UsageError(f"the {fact} of image {image['id']!r} is unknown; this pairing rule needs it")
    references = list(dict.fromkeys(image["reference"] for image in images))
    if (size := size or 4) > len(references):
        raise UsageError(f"sample is {size}, but there are only {len(references)} references")
    drawn = {references[place] for place in rng.choice(len(references), size, replace=False)}
    pools: dict[str, list[Image | None]] = {}
    for image in images:
        if image["reference"] in drawn:
            pools.setdefault(f"{image['reference']}.{image[shared]}", []).append(image)
    return {name: pool for name, pool in pools.items() if len(pool) >= 2}


def draw_intervals(images: Sequence[Image], database: str, size: int | None, rng: np.random.Generator) -> Pools:
    """Draw `size` images (default 25) of each quarter of the database's scale for Table IV, all if there are fewer.

    A quarter includes its lower end, the last one also its upper end.
    """
    low, high = _SCALES.get(database, (0, 100))
    pools: dict[str, list[Image]] = {f"interval_{start}_{start + 25}": [] for start in (0, 25, 50, 75)}
    quarters = list(pools.values())
    for image in images:
        score = 100 * (image["quality"] - low) / (high - low)
        if not 0 <= score <= 100:
            reason = f"the quality of image {image['id']!r} is {image['quality']}, outside its scale, {low} to {high}"
            raise UsageError(reason)
        quarters[min(int(score // 25), 3)].append(image)
    return {
        name: [pool[place] for place in sorted(rng.choice(len(pool), min(size or 25, len(pool)), replace=False))]
        for name, pool in pools.items()
        if len(pool) >= 2
    }


def draw_rounds(n_images: int, rounds: int, pairing: str, rng: np.random.Generator) -> list[list[tuple[int, int]]]:
    """Draw the rounds of one pool, as pairs of positions; a pair may appear in several.

    With the pairing "released", round r is that of the authors' code: a shuffle by NumPy's legacy generator with the
    seed 1234 + r, the same for all pools of one size.

    Examples:
        >>> draw_rounds(5, 2, "released", np.random.default_rng(0))
        [[(4, 0), (1, 2)], [(0, 1), (4, 2)]]
    """
    found = []
    for number in range(rounds):
        source = rng if pairing == "random" else np.random.RandomState(1234 + number)
        order = source.permutation(n_images).tolist()
        found.append(list(zip(order[::2], order[1::2], strict=False)))
    return found


def pair_rows(pool: str, images: Sequence[Image | None], rounds: Sequence[Sequence[tuple[int, int]]]) -> list[dict]:
    """Return one row per pair, without those that contain a left-out image."""
    rows = []
    for number, pairs in enumerate(rounds):
        for place, (one, other) in enumerate(pairs):
            first, second = images[one], images[other]
            if first is None or second is None:
                continue
            row = {
                "id": f"{pool}-{number:02d}-{place:03d}",
                "images": [*first["images"], *second["images"]],
                "database": pool if pool == MIXED_POOL else first["database"],
                "pool": pool,
                "round": number,
            }
            for field in ("id", "quality", "released_score"):
                row |= {f"first_{field}": first[field], f"second_{field}": second[field]}
            rows.append(row)
    return rows
