"""How many of a benchmark's official items a result covers."""

from collections.abc import Mapping
from typing import Any

from eyechart.datasets_scripts.official import official_counts
from eyechart.evaluators.results.results_file import AVERAGE, TaskResult
from eyechart.evaluators.results.sources import GIVEN
from eyechart.metrics.scores import specs_in


def official_items(result: TaskResult) -> tuple[int, ...]:
    """Number of items of the split in the official release.

    Args:
        result: One task on one dataset, or an average over datasets.

    Returns:
        The number; several if the split was released more than once, the current one first. Empty if unknown, and for
        synthetic data or the user's own data.
    """
    data = result.settings.get("data")
    if not isinstance(data, Mapping) or data.get("is_mini") is not False:
        return ()
    if result.dataset == AVERAGE:
        names = result.settings.get("databases")
        counts = [official_counts(str(name), None, result.split) for name in names] if isinstance(names, list) else []
        return (sum(count[0] for count in counts),) if counts and all(counts) else ()
    if data.get("source") == GIVEN:
        return ()
    return official_counts(result.dataset, data.get("config"), result.split, data.get("options"))


def scored_items(scores: Mapping[str, Any]) -> int | None:
    """Number of items that the scores cover; None if they do not record it."""
    found = next((spec.n(scores) for spec in specs_in(scores) if spec.headline), None)
    return found if isinstance(found, int) and not isinstance(found, bool) else None
