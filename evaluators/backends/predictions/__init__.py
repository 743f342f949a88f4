"""Precomputed predictions: `formats` reads files of several tools, `matching` finds the item of each `prediction`."""
