"""Pure scoring functions on text and arrays: standard library, NumPy and SciPy only.

Nothing is imported here, so that `eyechart.metrics.scoring.choices.extraction` costs only what it needs.
"""
