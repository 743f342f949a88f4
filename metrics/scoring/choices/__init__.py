"""Multiple-choice replies: extraction of choices, and scores of single answers, CircularEval and self-awareness."""

from eyechart.metrics.scoring.choices.replies import extract_choice

__all__ = ["extract_choice"]
