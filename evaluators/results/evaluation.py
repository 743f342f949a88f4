"""For rooms that still use the old names."""

from eyechart.evaluators.results.results_file import AVERAGE, PRIVATE
from eyechart.evaluators.results.results_file import TaskResult as Evaluation

__all__ = ["AVERAGE", "PRIVATE", "Evaluation"]
