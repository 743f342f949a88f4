"""Scores of any quality measure: CSV with a column of image names and the column `score`."""

from collections.abc import Mapping
from typing import Any

from eyechart.evaluators.backends.predictions.cells import name_of, number_of
from eyechart.evaluators.backends.predictions.prediction import Prediction

NAMES = ("id", "image", "image_name", "name", "filename")
"""Columns that may hold the names; the first of these that is there does."""


def parse(row: Mapping[str, Any]) -> Prediction:
    """Read one row; a malformed one is a ValueError."""
    column = next(name for name in NAMES if name in row)
    return Prediction(names=(name_of(row, column),), score=number_of(row["score"], "'score'"))
