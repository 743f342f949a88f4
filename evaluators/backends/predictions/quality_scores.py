"""Scores of any quality measure: CSV with a column of image names and the column `score`."""

from collections.abc import Mapping
from typing import Any

from eyechart.evaluators.backends.predictions.cells import finite_of, shortened, text_of
from eyechart.evaluators.backends.predictions.prediction import Prediction

NAMES = ("id", "image", "image_name", "name", "filename")
"""Columns that may hold the names; the first of these that is there does."""


def parse(row: Mapping[str, Any]) -> Prediction:
    """Read one row.

    Raises:
        ValueError: The name is empty, or the score no finite number.
    """
    column = next(name for name in NAMES if name in row)
    name = text_of(row[column]).strip()
    if not name:
        raise ValueError(f"'{column}' is empty")
    score = finite_of(row["score"])
    if score is None:
        raise ValueError(f"'score' is {shortened(row['score'])}; expected a finite number")
    return Prediction(names=(name,), score=score)
