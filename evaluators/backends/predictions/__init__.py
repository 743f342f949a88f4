"""Precomputed predictions: `formats` reads the files of several tools, and `matching` finds the item of each row."""
