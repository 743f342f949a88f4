"""Where the data of a run came from, as results say it; any other source is the folder that was given."""

MINI = "mini release"
"""Synthetic data, which a run on embedded defaults has."""
OFFICIAL = "official release"
"""A release that was downloaded from its authors, now or earlier."""
GIVEN = "given"
"""A `Dataset` object."""
