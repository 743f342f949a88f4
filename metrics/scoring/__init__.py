"""Pure scoring functions on text and arrays, which need only the standard library, NumPy and SciPy.

This file imports nothing, so that importing a single module, such as `choices.replies`, stays fast.
"""
