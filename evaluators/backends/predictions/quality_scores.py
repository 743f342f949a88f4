"""Scores of any quality metric: CSV with a column of image names and the column `score`."""

from collections.abc import Mapping
from typing import Any

from eyechart.evaluators.backends.predictions.cells import name_of, number_of
from eyechart.evaluators.backends.predictions.prediction import Prediction

NAMES = ("id", "image", "image_name", "name", "filename")
"""Possible columns of image names; the first one that exists is used."""


def parse(row: Mapping[str, Any]) -> Prediction:
    """Parse one row; raises ValueError if it is malformed."""
    column = next(name for name in NAMES if name in row)
    return Prediction(names=(name_of(row, column),), score=number_of(row["score"], "'score'"))
