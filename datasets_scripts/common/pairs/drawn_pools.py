"""Pools of images drawn from the rows of a quality dataset, by the rules of the 2AFC paper.

Default sample sizes are the paper's: one image per reference for databases with references, 160 images for others
(KonIQ-10k, SPAQ); four contents (CSIQ); 25 images per interval of scores (SPAQ).
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from datasets.utils import tqdm

from eyechart.datasets_scripts.common.errors import BadImageError, UsageError
from eyechart.datasets_scripts.common.files.image_cells import load_image
from eyechart.datasets_scripts.common.images import open_image
from eyechart.datasets_scripts.common.pairs.pairing import Pools, pools_of_intervals
from eyechart.datasets_scripts.common.pairs.sampling import coarse_sample, draw, rescale
from eyechart.datasets_scripts.common.quality.image_statistics import colorfulness, spatial_information

COARSE_SIZE = 160
"""Images of a coarse sample if references are unknown."""
CONTENTS = 4
"""Contents of the first two fine-grained rules."""
PER_INTERVAL = 25
"""Images per interval of the third fine-grained rule."""
CANDIDATES = 4
"""Candidates per image of a balanced sample: only these are decoded, not the full database."""
SCALES: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        "agiqa3k": (0, 5),
        "cgiqa6k": (0, 5),
        "csiq": (0, 1),
        "kadid10k": (1, 5),
        "kadis700k": (0, 100),
        "koniq10k": (1, 5),
        "live_fb": (0, 100),
        "live_itw": (0, 100),
        "mm21": (0, 100),
        "spaq": (0, 100),
        "sqad": (0, 100),
    }
)
"""Lowest and highest possible quality on the scale of each quality dataset."""

Rows = list[dict[str, Any]]
PoolRule = Callable[[Sequence[str], Sequence[str], Sequence[int]], Pools]
_FACTS = ("reference", "distortion_type", "distortion_level")


def draw_coarse(
    rows: Rows, size: int | None, rng: np.random.Generator, bad: Callable[[BadImageError], None] | None
) -> Rows:
    """Draw a coarse sample: uniform over quality levels, one image per reference, balanced in image attributes.

    Args:
        rows: Rows of a quality dataset.
        size: Number of images; by default the number of references, or at most `COARSE_SIZE` if some are unknown.
        rng: The only source of randomness.
        bad: Called for an image that cannot be decoded, which is left out unless the call raises; None skips balancing
            and decodes nothing.

    Returns:
        The drawn rows, in order.

    Raises:
        UsageError: There are not enough images or references.
    """
    contents = _contents(rows)
    if size is None:
        known = all(row["reference"] is not None for row in rows)
        size = len(set(contents)) if known else min(COARSE_SIZE, len(set(contents)))
    if bad is None:
        return _coarse(rows, size, rng)
    most = sum(min(count, CANDIDATES) for count in Counter(contents).values())
    candidates = _coarse(rows, min(CANDIDATES * size, most), rng, per_content=CANDIDATES)
    measured = _measure(candidates, bad)
    return _coarse([row for row, _ in measured], size, rng, attributes=np.array([values for _, values in measured]))


def draw_contents(rows: Rows, size: int | None, rng: np.random.Generator, rule: PoolRule) -> dict[str, Rows]:
    """Draw contents and pool all their images by one of the first two fine-grained rules.

    Args:
        rows: Rows of a quality dataset.
        size: Number of contents; `CONTENTS` by default.
        rng: The only source of randomness.
        rule: `pairing.pools_of_levels` or `pairing.pools_of_types`.

    Returns:
        Rows by pool.

    Raises:
        UsageError: The reference, distortion type or distortion level of a row is unknown, or there are fewer than
            `size` contents.
    """
    for row in rows:
        for fact in _FACTS:
            if row[fact] is None:
                raise UsageError(
                    f"the {fact} of image {row['id']!r} is unknown; this pairing rule needs it for every image"
                )
    contents = list(dict.fromkeys(row["reference"] for row in rows))
    wanted = CONTENTS if size is None else size
    if wanted > len(contents):
        raise UsageError(f"sample is {wanted}, but there are only {len(contents)} contents")
    drawn = set(draw(contents, wanted, rng))
    part = [row for row in rows if row["reference"] in drawn]
    pools = rule(*([row[fact] for row in part] for fact in _FACTS))
    return {name: [part[place] for place in places] for name, places in pools.items()}


def draw_intervals(
    rows: Rows, size: int | None, rng: np.random.Generator, scale: tuple[float, float]
) -> dict[str, Rows]:
    """Draw images from each of the four intervals of scores.

    Args:
        rows: Rows of a quality dataset.
        size: Number of images per interval, `PER_INTERVAL` by default; all images of an interval that has fewer.
        rng: The only source of randomness.
        scale: Lowest and highest possible quality on the database's scale.

    Returns:
        Rows by pool.

    Raises:
        UsageError: A quality is outside the scale.
    """
    try:
        scores = rescale([row["quality"] for row in rows], *scale)
    except UsageError as error:
        error.add_note("Set the option scale to the lowest and the highest quality of this release")
        raise
    pools = pools_of_intervals(scores)
    wanted = PER_INTERVAL if size is None else size
    return {name: [rows[place] for place in draw(places, wanted, rng)] for name, places in pools.items()}


def _coarse(
    rows: Rows,
    size: int,
    rng: np.random.Generator,
    *,
    per_content: int = 1,
    attributes: np.ndarray | None = None,
) -> Rows:
    places = coarse_sample(
        [row["quality"] for row in rows],
        size,
        rng,
        contents=_contents(rows),
        attributes=attributes,
        per_content=per_content,
    )
    return [rows[place] for place in places]


def _measure(rows: Rows, bad: Callable[[BadImageError], None]) -> list[tuple[dict[str, Any], list[float]]]:
    """Return the rows whose images can be decoded, each with its spatial information and colourfulness."""
    measured = []
    for row in tqdm(rows, desc="Measuring image attributes", unit=" images", delay=2):
        try:
            pixels = np.asarray(open_image(load_image(row["image"])))
        except BadImageError as error:
            bad(BadImageError(error.reason, path=error.path, row=row["id"]))
            continue
        measured.append((row, [spatial_information(pixels), colorfulness(pixels)]))
    return measured


def _contents(rows: Rows) -> list[str]:
    """The content of every row: its reference, or the image itself if the reference is unknown."""
    return [row["id"] if row["reference"] is None else row["reference"] for row in rows]
