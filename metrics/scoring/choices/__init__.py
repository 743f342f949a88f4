"""Multiple-choice replies: which option they name, and scores of single answers, CircularEval and self-awareness."""

from eyechart.metrics.scoring.choices.extraction import extract_choice

__all__ = ["extract_choice"]
