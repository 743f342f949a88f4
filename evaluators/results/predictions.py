"""The table of what a model answered, `predictions.parquet`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from eyechart.evaluators.results.evaluation import Evaluation

if TYPE_CHECKING:
    from pyarrow import Schema

PREDICTIONS_FILE = "predictions.parquet"


def predictions_schema() -> "Schema":
    """The columns of `predictions.parquet`."""
    import pyarrow

    return pyarrow.schema(
        {
            "task": pyarrow.string(),
            "subset": pyarrow.string(),
            "split": pyarrow.string(),
            "model": pyarrow.string(),
            "id": pyarrow.string(),
            "pass": pyarrow.string(),
            "question": pyarrow.string(),
            "text": pyarrow.string(),
            "error": pyarrow.string(),
            "score": pyarrow.float64(),
            # Each option's loss over all its tokens, in nats, and how many these are.
            "losses": pyarrow.list_(pyarrow.float64()),
            "loss_tokens": pyarrow.list_(pyarrow.int64()),
            "logits": pyarrow.map_(pyarrow.string(), pyarrow.float64()),
            "upper_bound_words": pyarrow.list_(pyarrow.string()),
            "options": pyarrow.list_(pyarrow.string()),
            "answer": pyarrow.string(),
            "extracted": pyarrow.string(),
            # By which step of choice extraction the reply was read, and whether the choice is right.
            "step": pyarrow.string(),
            "correct": pyarrow.bool_(),
            "reference": pyarrow.string(),
            # What a judge gave, by dimension: means over its rounds.
            "marks": pyarrow.map_(pyarrow.string(), pyarrow.float64()),
            "quality": pyarrow.float64(),
            "first_id": pyarrow.string(),
            "second_id": pyarrow.string(),
        }
    )


def write_predictions(path: Path, evaluations: Sequence[Evaluation]) -> None:
    """Write one row for each answer.

    Args:
        path: The file, which is replaced.
        evaluations: Tasks that finished.
    """
    import pyarrow
    from pyarrow import parquet

    records = [
        {
            "task": e.task,
            "subset": e.subset,
            "split": e.split,
            "model": e.model,
            **prediction,
            **{name: _pairs(prediction.get(name)) for name in ("logits", "marks")},
        }
        for e in evaluations
        for prediction in e.predictions
    ]
    parquet.write_table(pyarrow.Table.from_pylist(records, schema=predictions_schema()), path)


def _pairs(numbers: Mapping[str, float] | None) -> list[tuple[str, float]] | None:
    return None if numbers is None else list(numbers.items())
