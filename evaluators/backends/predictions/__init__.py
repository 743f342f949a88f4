"""Precomputed predictions: `formats` reads the files of several tools, and `matching` finds the item of each row."""

FROM_FILE = "predictions_file"
"""Name of this backend in results."""
