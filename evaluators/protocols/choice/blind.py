"""For rooms that still use the old names."""

from eyechart.evaluators.results.notes import note
from eyechart.metrics.scores import GAIN

ASKED_BLIND = note("blind").text

__all__ = ["ASKED_BLIND", "GAIN"]
