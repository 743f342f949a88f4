"""`predictions.parquet`: a model's answers, and what was parsed from them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyechart.datasets_scripts.common.errors import BadAnnotationError
from eyechart.evaluators.results.evaluation import Evaluation
from eyechart.metrics.scoring.judging.descriptions import DIMENSIONS

if TYPE_CHECKING:
    from pyarrow import Schema

    from eyechart.evaluators.results.results_file import TaskResult

PREDICTIONS_FILE = "predictions.parquet"
REPEAT = "repeat"
"""The column with the number of the repeat."""
JUDGED_DIMENSIONS = tuple(dict.fromkeys(name for names in DIMENSIONS.values() for name in names))
"""Columns with a judge's scores of descriptions."""
_MAPS = ("logits", "groups")


def predictions_schema() -> "Schema":
    """The columns of `predictions.parquet`: one row for each response."""
    import pyarrow

    text, number, whole, flag = pyarrow.string(), pyarrow.float64(), pyarrow.int64(), pyarrow.bool_()
    return pyarrow.schema(
        {
            **dict.fromkeys(("task", "dataset", "split", "model", "id", "pass", "question", "text", "error"), text),
            # What the model was asked: a local model's rendered chat template, otherwise the text sent to it.
            "prompt": text,
            # Number of the reply to the same request, from 1.
            REPEAT: whole,
            # What a reasoning model wrote before its answer, and how the text ended.
            **dict.fromkeys(("reasoning", "finish_reason"), text),
            "groups": pyarrow.map_(text, text),
            # What the row shares with others: its image, or the column named in the task file.
            "cluster": text,
            "logits": pyarrow.map_(text, number),
            "upper_bound_words": pyarrow.list_(text),
            # Each option's loss over all its tokens, in nats, and the number of these tokens.
            "losses": pyarrow.list_(number),
            "loss_tokens": pyarrow.list_(whole),
            # The options as shown, and the correct letter, "" if private.
            "options": pyarrow.list_(text),
            "answer": text,
            # The parsed letter, the step that parsed it, and whether it is correct; for pairs, the preferred image.
            "choice": text,
            "step": text,
            "correct": flag,
            "judge_failed_rounds": whole,
            # Number of passes of the question, asked or not, and whether all are correct.
            "pass_count": whole,
            "circular_correct": flag,
            "refusal": text,
            "forced_choice": text,
            "forced_step": text,
            "forced_judge_failed_rounds": whole,
            "outcome": text,
            # Judged texts: the reference, the scores in each round of each dimension, and their means.
            "reference": text,
            "rounds": pyarrow.list_(pyarrow.list_(whole)),
            "empty_prediction": flag,
            **dict.fromkeys((*JUDGED_DIMENSIONS, "judge_score"), number),
            "exact_match": flag,
            # What the task's own scoring function returned.
            "own_score": number,
            # Opinion score, predicted score, and the score that rank correlations use, with its own ties.
            **dict.fromkeys(("quality", "quality_score", "rank_score"), number),
            # The images of a pair, in the order shown.
            **dict.fromkeys(("first_id", "second_id", "pool"), text),
            **dict.fromkeys(("first_quality", "second_quality"), number),
            **dict.fromkeys(("reversed_choice", "reversed_step"), text),
            "consistent": flag,
        }
    )


def write_predictions(path: Path, evaluations: Sequence[Evaluation]) -> None:
    """Write one row for each response.

    Args:
        path: The file, which is replaced.
        evaluations: Tasks that finished.
    """
    import pyarrow
    from pyarrow import parquet

    records = [
        {
            "task": e.task,
            "dataset": e.dataset,
            "split": e.split,
            "model": e.model,
            **prediction,
            **{name: _pairs(prediction.get(name)) for name in _MAPS},
        }
        for e in evaluations
        for prediction in e.predictions
    ]
    # Opened here: pyarrow rejects paths that are not valid text, and reads some paths as URLs.
    with path.open("wb") as file:
        parquet.write_table(pyarrow.Table.from_pylist(records, schema=predictions_schema()), file)


def read_columns(folder: Path, result: "TaskResult", columns: Sequence[str]) -> list[dict[str, Any]]:
    """Columns of one task's rows in a run's folder, from the first repeat only.

    Raises:
        BadAnnotationError: The file cannot be read, or a column is missing.
    """
    from pyarrow import ArrowException, parquet

    path = folder / PREDICTIONS_FILE
    filters = [("task", "=", result.task), ("dataset", "=", result.dataset), ("split", "=", result.split)]
    try:
        with path.open("rb") as file:
            read = [*columns, *(name for name in parquet.read_schema(file).names if name == REPEAT)]
            rows: list[dict[str, Any]] = parquet.read_table(
                file, columns=read, filters=filters, use_threads=False
            ).to_pylist()
    # Damaged names in a file raise the last two.
    except (ArrowException, OSError, ValueError, LookupError) as error:
        raise BadAnnotationError(f"cannot be read as predictions: {error}", path=path) from error
    return [row for row in rows if is_first(row.pop(REPEAT, None))]


def is_first(repeat: int | None) -> bool:
    """Whether an answer is from the first repeat, which scores use; earlier versions wrote no number."""
    return repeat in (None, 1)


def _pairs(values: Mapping[str, Any] | None) -> list[tuple[str, Any]] | None:
    return None if values is None else list(values.items())
