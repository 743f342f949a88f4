"""For rooms that still use the old names."""

from eyechart.evaluators.results.items import PREDICTIONS_FILE, write_predictions
from eyechart.metrics.scores import DIMENSIONS as JUDGED_DIMENSIONS

REPEAT = "repeat"

__all__ = ["JUDGED_DIMENSIONS", "PREDICTIONS_FILE", "REPEAT", "is_first", "write_predictions"]


def is_first(repeat: int | None) -> bool:
    """Whether an answer is from the first repeat."""
    return repeat in (None, 1)
