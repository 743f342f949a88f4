"""For rooms that still use the old names."""

from eyechart.evaluators.protocols.choice.circular_eval import OPEN

__all__ = ["OPEN"]
