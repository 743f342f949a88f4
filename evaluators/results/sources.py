"""Values of `data.source` in results: where the rows came from. Any other value is a folder or the id of a dataset."""

from collections.abc import Mapping
from typing import Any

MINI = "synthetic demo data"
"""The synthetic demo data: the default without `--model`, or asked for by `--mini`."""
_MINI_BEFORE = "mini release"
"""What earlier versions wrote for `MINI`."""
OFFICIAL = "official release"
"""A release that was downloaded from its authors, now or earlier."""
GIVEN = "given"
"""A `Dataset` object."""


def is_mini_data(settings: Mapping[str, Any]) -> bool:
    """Whether a result with these settings is on synthetic demo data."""
    data = settings.get("data")
    return isinstance(data, Mapping) and bool(data.get("is_mini") or is_mini_source(data.get("source")))


def is_mini_source(source: object) -> bool:
    """Whether a result's `data.source` is the synthetic demo data, as this version or an earlier one wrote it."""
    return source in (MINI, _MINI_BEFORE)
