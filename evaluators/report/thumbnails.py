"""Thumbnails of images from the data that a run's settings name."""

import base64
import hashlib
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyechart.evaluators.results.finished_runs import MINI, OFFICIAL, TaskKey
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.evaluators.tasks import known_task

if TYPE_CHECKING:
    from PIL.Image import Image

_LARGEST_SIDE, _SMALLEST_SIDE = 512, 112
BUDGET = 1_200_000
"""Characters of all thumbnails together, so that a page of 10,000 samples stays below 5 MB."""


@dataclass
class Album:
    """Thumbnails, each stored once even if several samples show it."""

    uris: list[str] = field(default_factory=list)
    """`data:` addresses, in order of first use."""
    room: int = 0
    """Characters that may still be added."""
    left_out: int = 0
    """Images for which there was no room."""
    _indices: dict[str, int] = field(default_factory=dict)

    def add(self, encoded: Mapping[str, Any], share: int) -> int | None:
        """The index of the thumbnail of `{"bytes", "path"}`; None if it cannot be read or the album is full.

        A thumbnail of more than `share` characters is made smaller, down to the smallest side.
        """
        from eyechart.datasets_scripts.common.errors import DataError
        from eyechart.datasets_scripts.common.images import open_image

        content = encoded["bytes"]
        key = encoded["path"] if content is None else hashlib.sha256(content).hexdigest()
        if key in self._indices:
            return self._indices[key]
        if self.room <= 0:
            self.left_out += 1
            return None
        try:
            image = open_image(encoded)
        except DataError:
            return None
        uri = _encoded(image, _LARGEST_SIDE)
        while len(uri) > share and max(image.size) > _SMALLEST_SIDE:
            # Smaller images need more bytes per pixel.
            side = max(image.size) * math.sqrt(0.8 * share / len(uri))
            uri = _encoded(image, max(_SMALLEST_SIDE, int(side)))
        self._indices[key] = len(self.uris)
        self.uris.append(uri)
        self.room -= len(uri)
        return self._indices[key]


def add_images(
    album: Album, key: TaskKey, result: TaskResult, ids: Sequence[str]
) -> tuple[dict[str, list[int | None]], str]:
    """Put items' images into an album; return what `Album.add` gave for each item, and why there are none, else ""."""
    from eyechart.evaluators.evaluation.data import undecoded_rows, without_progress_bars

    data = result.settings.get("data")
    if not isinstance(data, dict) or not isinstance(source := data.get("source"), str):
        return {}, "the run's settings do not name the data"
    if source not in (OFFICIAL, MINI) and not Path(source).exists():
        return {}, f"the data are no longer at {source!r}"
    try:
        with without_progress_bars():
            dataset = _load(key, data)
        wanted = set(ids)
        rows = undecoded_rows(dataset.select([i for i, id in enumerate(dataset["id"]) if id in wanted]))
        of_id = {row["id"]: row["images"] if "images" in row else filter(None, [row["image"]]) for row in rows}
        # In the order of the samples, because the album may become full.
        images = {id: list(of_id[id]) for id in ids if id in of_id}
        share = album.room // max(1, sum(map(len, images.values())))
        return {id: [album.add(image.read(), share) for image in of_row] for id, of_row in images.items()}, ""
    # The files or the dataset may have changed since the run; the report is then written without images.
    except Exception as error:
        return {}, f"the data can no longer be read: {type(error).__name__}: {str(error).splitlines()[0][:200]}"


def _load(key: TaskKey, data: Mapping[str, Any]) -> Any:
    from eyechart.datasets_scripts.loading import prepared_dataset
    from eyechart.datasets_scripts.own_data import load_own
    from eyechart.evaluators.evaluation.data import DataRequest, load_data

    source, options, task = data["source"], data.get("options") or {}, known_task(key.task)
    # Items that the run left out are in no sample.
    lenient: dict[str, Any] = {"skip_missing": True, "skip_bad": True}
    if task is None:
        names = {name: options[name] for name in ("columns", "split", "image_dir") if name in options}
        return load_own(source, options["kind"], **names, config=data.get("config"), **lenient)
    if source == OFFICIAL:
        return prepared_dataset(key.dataset, task.data.config, split=key.split, options=options)
    folder = None if source == MINI else source
    request = DataRequest(
        dataset=key.dataset, split=key.split, data_dir=folder, is_mini=source == MINI, options=options, **lenient
    )
    return load_data(task, request).dataset


def _encoded(image: "Image", side: int) -> str:
    """The image as a `data:` address, with at most this side."""
    image.thumbnail((side, side))
    buffer = io.BytesIO()
    image.save(buffer, format="WEBP", quality=60, method=0)
    return f"data:image/webp;base64,{base64.b64encode(buffer.getvalue()).decode('ascii')}"
