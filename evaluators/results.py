"""What a run leaves behind: `results.json` and `predictions.parquet`.

Both are rewritten whole and moved into place after every task, so that a run that fails later has lost nothing.
"""

import math
import os
import platform
import re
import sys
from collections.abc import Callable
from collections.abc import Sequence
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any
from typing import Literal

from pydantic import BaseModel
from pydantic import ConfigDict
from pydantic import Field
from pydantic import ValidationError
from pydantic_core import from_json

from eyechart.datasets_scripts.common.errors import BadResultsError
from eyechart.datasets_scripts.common.errors import DataError
from eyechart.datasets_scripts.common.errors import MissingFileError
from eyechart.evaluators.types import Evaluation

if TYPE_CHECKING:
    from pyarrow import Schema

RESULTS_FILE = "results.json"
PREDICTIONS_FILE = "predictions.parquet"
SCHEMA = 1
"""What this version writes and reads."""
_NUMBERS = frozenset(
    {
        *("accuracy", "random_guess", "n", "circular_accuracy", "vanilla_accuracy", "n_questions"),
        *("score_cc", "score_rc", "score_sa", "answer_rate", "answer_accuracy", "score", "p0", "p1", "p2"),
        *("sum", "mean", "mean_score", "exact_match", "srcc", "plcc", "krcc", "plcc_fitted", "rmse_fitted"),
        *("consistency", "accuracy_all", "accuracy_consistent", "first_rate", "second_rate", "draw_rate"),
        *("exact", "random", "unmatched", "n_pairs", "n_images", "n_consistent", "n_vanilla"),
    }
)
"""Scores, as the metrics call them, that are numbers wherever they stand."""
_NOT_FINITE = re.compile(rb"NaN|Infinity|[eE]\+?\d{3}")
"""What becomes nan or an infinity when it is read."""
_HOLDS = {
    "yes_no": ("mean", "n_yes", "n_no"),
    "extraction": (),
    **dict.fromkeys(("completeness", "preciseness", "precision", "relevance"), ("score",)),
}
"""Scores that are objects, and what each holds."""
_PACKAGES = ("eyechart", "torch", "transformers", "datasets", "evaluate", "numpy", "scipy", "pillow", "tokenizers")


class LeftOut(BaseModel):
    """One item that has no part in the scores."""

    model_config = ConfigDict(extra="allow")

    id: str
    path: str | None = None
    reason: str


class TaskResult(BaseModel):
    """One task on one model."""

    model_config = ConfigDict(extra="forbid")

    task: str
    subset: str
    split: str
    model: str
    scores: dict[str, Any] | None
    """Exactly what the metric returned, undefined values as null; null itself where the answers are private."""
    settings: dict[str, Any]
    variants: dict[str, dict[str, Any]] = {}
    """The same answers scored in other ways, each exactly what a metric returned."""
    extras: dict[str, Any] = {}
    """What else the answers tell."""
    left_out: list[LeftOut]
    timings: dict[str, float]
    warnings: list[str] = []
    note: str = ""
    complete: bool = True
    """False where scores had to be made of less than was to be asked."""
    files: list[str] = []
    """Names of the task's own files, in `<task>/<subset>`."""


class FailedTask(BaseModel):
    """One task that did not finish."""

    model_config = ConfigDict(extra="forbid")

    task: str
    subset: str
    error: str


class Results(BaseModel):
    """The contents of `results.json`."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    schema_version: Literal[1] = Field(default=1, alias="schema")
    environment: dict[str, Any]
    suite: dict[str, Any] | None = None
    """The suite file that the run followed."""
    tasks: list[TaskResult]
    failed: list[FailedTask] = []


def collect(
    evaluations: Sequence[Evaluation], failed: Sequence[FailedTask], started: str, suite: dict[str, Any] | None = None
) -> Results:
    """Assemble the results of a run.

    Args:
        evaluations: The tasks that finished.
        failed: Those that did not.
        started: When the run began, ISO 8601.
        suite: The suite file that the run followed.
    """
    tasks = [
        TaskResult(
            task=e.task,
            subset=e.subset,
            split=e.split,
            model=e.model,
            scores=_without_nan(e.scores),
            settings=_without_nan(e.settings),
            variants=_without_nan(e.variants),
            extras=_without_nan(e.extras),
            left_out=[LeftOut(**item) for item in e.left_out],
            timings=e.timings,
            warnings=e.warnings,
            note=e.note,
            complete=e.complete,
            files=list(e.files),
        )
        for e in evaluations
    ]
    return Results(environment=_environment(started), suite=suite, tasks=tasks, failed=list(failed))


def read_results(path: str | Path) -> Results:
    """Read and validate a `results.json`.

    NaN and infinities, which other tools write although JSON does not have them, are read as undefined, as null is.

    Args:
        path: The file, or the run's folder.

    Raises:
        MissingFileError: The file is not there.
        BadResultsError: It is no JSON, of another schema, or not in the form of `Results`.
    """
    path = Path(path)
    file = path / RESULTS_FILE if path.is_dir() else path
    try:
        content = file.read_bytes()
        raw = from_json(content)
    except FileNotFoundError as error:
        raise MissingFileError(f"not there; a finished run has a {RESULTS_FILE}", path=file) from error
    except (OSError, ValueError) as error:
        raise _bad(file, f"cannot be read as results: {error}") from error
    if not isinstance(raw, dict) or "schema" not in raw:
        raise _bad(file, f'cannot be read as results: expected an object with the key "schema", which is {SCHEMA}')
    if raw["schema"] != SCHEMA or type(raw["schema"]) is not int:
        raise BadResultsError(
            f"its schema is {raw['schema']!r:.40}, and this version of eyechart ({metadata.version('eyechart')}) reads "
            f"schema {SCHEMA}; read a newer one with the version of eyechart that wrote it, or a later one",
            path=file,
        )
    try:
        results = Results.model_validate(_without_nan(raw) if _NOT_FINITE.search(content) else raw)
    except ValidationError as error:
        raise _bad(file, _first_misfit(error)) from error
    packages = results.environment.get("packages", {})
    if not isinstance(packages, dict):
        raise _bad(file, f"key environment.packages: expected an object; it is {packages!r:.60}")
    for place, task in enumerate(results.tasks):
        for name, scores in (("scores", task.scores or {}), *((f"variants.{k}", v) for k, v in task.variants.items())):
            misfit = _score_misfit(scores)
            if misfit:
                raise _bad(file, f"key tasks[{place}].{name}{misfit}")
    return results


def with_nan(value: Any) -> Any:
    """Scores from `read_results` as the metric returned them: nan for null, and no interval that is null as a whole."""
    if isinstance(value, dict):
        given = {key: item for key, item in value.items() if item is not None or not key.endswith("_ci95")}
        return {key: with_nan(item) for key, item in given.items()}
    if isinstance(value, list):
        return [with_nan(item) for item in value]
    return math.nan if value is None else value


def _bad(file: Path, reason: str) -> BadResultsError:
    error = BadResultsError(reason, path=file)
    error.add_note("A results file is not to be edited: restore it, or repeat the run, which asks nothing twice.")
    return error


def _first_misfit(error: ValidationError) -> str:
    """Where a file first departs from `Results`, what is expected there, and how many other places there are."""
    first, *others = error.errors(include_url=False, include_context=False)
    key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]).removeprefix(".")
    given = "" if first["type"] == "missing" else f"; it is {first['input']!r:.60}"
    more = f" ({len(others)} more of this kind)" if others else ""
    return f"key {key}: {first['msg'][0].lower()}{first['msg'][1:]}{given}{more}"


def _score_misfit(scores: dict[str, Any]) -> str:
    """Where a text or a list stands in place of a number, with which what reads results calculates; "" if nowhere."""
    for key, value in scores.items():
        misfit = _value_misfit(key, value)
        if misfit:
            return f".{key}{misfit}"
    return ""


def _value_misfit(key: str, value: Any) -> str:
    if key in _NUMBERS:
        return "" if _is_number(value) else f": expected a number or null; it is {value!r:.60}"
    if key.endswith("_ci95"):
        return "" if _is_interval(value) else f": expected [low, high] or null; it is {value!r:.60}"
    if key in _HOLDS:
        lacking = [name for name in _HOLDS[key] if not isinstance(value, dict) or name not in value]
        if lacking or not isinstance(value, dict):
            return f": expected an object with {', '.join(_HOLDS[key]) or 'numbers'}; it is {value!r:.60}"
        return _score_misfit(value)
    if key.startswith("by_") and value is not None:
        if not isinstance(value, dict):
            return f": expected an object; it is {value!r:.60}"
        for name, part in value.items():
            misfit = _score_misfit(part) if isinstance(part, dict) else f": expected an object; it is {part!r:.60}"
            if misfit:
                return f".{name}{misfit}"
    return ""


def _is_number(value: Any) -> bool:
    # A whole number of JSON can be larger than any float, with which no score can be calculated.
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value is None or (is_number and abs(value) <= sys.float_info.max)


def _is_interval(value: Any) -> bool:
    return value is None or (isinstance(value, list) and len(value) == 2 and all(map(_is_number, value)))


def write_run(folder: Path, results: Results, evaluations: Sequence[Evaluation]) -> None:
    """Write both files and those that tasks bring, each whole or not at all.

    A task's files lie in a folder of its own, `<task>/<subset>`. Those of a run that was written here before are
    removed where this one writes none, so that no submission of another model is taken for this one's.

    Args:
        folder: Created if absent.
        results: From `collect`.
        evaluations: The same tasks, for their predictions.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _remove_former(folder, results)
    text = results.model_dump_json(by_alias=True, indent=2) + "\n"
    _replace(folder / RESULTS_FILE, lambda path: path.write_text(text, encoding="utf-8"))
    _replace(folder / PREDICTIONS_FILE, lambda path: _write_predictions(path, evaluations))
    for evaluation in evaluations:
        own = folder / task_folder(evaluation)
        for name, content in evaluation.files.items():
            own.mkdir(parents=True, exist_ok=True)
            _replace(own / name, partial(_write_bytes, content))


def task_folder(task: Evaluation | TaskResult) -> Path:
    """Where a task's own files are, within the folder of the run."""
    return Path(task.task, task.subset)


def _remove_former(folder: Path, results: Results) -> None:
    """Remove the tasks' files that the results in a folder list and the new ones don't."""
    try:
        former = read_results(folder)
    except DataError:
        return
    kept = {task_folder(task) / name for task in results.tasks for name in task.files}
    for file in {task_folder(task) / name for task in former.tasks for name in task.files} - kept:
        # Results that were edited may name any file.
        if (folder / file).resolve().is_relative_to(folder.resolve()):
            (folder / file).unlink(missing_ok=True)


def _replace(target: Path, write: Callable[[Path], object]) -> None:
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        write(temporary)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _write_bytes(content: bytes, path: Path) -> None:
    path.write_bytes(content)


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
            "floored": pyarrow.list_(pyarrow.string()),
            "options": pyarrow.list_(pyarrow.string()),
            "answer": pyarrow.string(),
            "extracted": pyarrow.string(),
            # By which step of choice extraction the reply was read, and whether the choice is right.
            "step": pyarrow.string(),
            "correct": pyarrow.bool_(),
            "reference": pyarrow.string(),
            "quality": pyarrow.float64(),
            "first_id": pyarrow.string(),
            "second_id": pyarrow.string(),
        }
    )


def _write_predictions(path: Path, evaluations: Sequence[Evaluation]) -> None:
    import pyarrow
    from pyarrow import parquet

    records = [
        {
            "task": e.task,
            "subset": e.subset,
            "split": e.split,
            "model": e.model,
            **prediction,
            "logits": _pairs(prediction),
        }
        for e in evaluations
        for prediction in e.predictions
    ]
    parquet.write_table(pyarrow.Table.from_pylist(records, schema=predictions_schema()), path)


def _pairs(prediction: dict[str, Any]) -> list[tuple[str, float]] | None:
    logits = prediction["logits"]
    return None if logits is None else list(logits.items())


def _without_nan(value: Any) -> Any:
    """The same structure with None for nan and infinities, which JSON does not have."""
    if isinstance(value, dict):
        return {str(key): _without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _environment(started: str) -> dict[str, Any]:
    versions: dict[str, str | None] = {}
    for package in _PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = None
    return {
        "started": started,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processor": platform.machine(),
        "packages": versions,
    }
