"""The contents of `results.json`, written and read."""

import hashlib
import json
import math
import platform
import re
from collections.abc import Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, GetPydanticSchema, SkipValidation, ValidationError
from pydantic_core import PydanticCustomError, from_json, to_jsonable_python
from typing_extensions import TypedDict

from eyechart.datasets_scripts.common.errors import MissingFileError
from eyechart.datasets_scripts.common.paths import open_regular
from eyechart.evaluators.requests.errors import BadResultsError
from eyechart.evaluators.results.notes import Note
from eyechart.metrics.score_check import misfits
from eyechart.metrics.score_spec import ScoreSpec
from eyechart.metrics.scores import FIT_PARAMETERS, specs_in

RESULTS_FILE = "results.json"
PROGRESS_FILE = "progress.json"
"""In the folder of a run as long as it goes: how far it is, for `eyechart view`."""
SCHEMA = 1
"""The schema version that this version writes and reads."""
_MISFIT = "misfit"
_REQUIRED = ("task", "dataset", "split", "model", "scores", "settings", "left_out", "timings")
_NULLABLE = ("average_over", FIT_PARAMETERS, "suggested_word_pair", "all", "after_exact")
"""Keys whose null does not mean an undefined number."""
AVERAGE = "average"
"""Used instead of the dataset's name for an average over datasets."""
SAMPLE = "sample"
"""The setting of a result that describes its sample; absent if all items were asked."""
PRIVATE = "its answer is private"
"""Why an answered row is left out of the scores: its label is not public."""


def _check_scores(scores: dict[str, Any]) -> dict[str, Any]:
    """Refuse scores that no metric returns."""
    misfit = next(misfits(scores, ""), "")
    if misfit:
        raise PydanticCustomError(_MISFIT, "{misfit}", {"misfit": misfit})
    return scores


Scores = Annotated[dict[str, Any], AfterValidator(_check_scores)]
"""Exactly what a metric returned. Undefined values are nan, and null in files."""


class _Average(TypedDict):
    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]
    over: list[str]
    weights: str


class _Agreement(TypedDict):
    """How often the parsed letter is the one that people read."""

    agreement: float | None
    agreement_ci95: NotRequired[list[float | None]]
    n: int


class _Agreements(TypedDict):
    all: _Agreement | None
    after_exact: _Agreement | None
    unused: NotRequired[int]


class _Convergence(TypedDict):
    curve: list[Scores]
    upper_bound: list[Scores]
    limit: NotRequired[Scores]


class _Repeats(TypedDict):
    count: Annotated[int, Field(ge=2)]
    mean: dict[str, float | None]
    standard_deviation: dict[str, float | None]


class Diagnostics(TypedDict, total=False):
    """Further numbers about the answers; those that reports read are named here."""

    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]
    table: dict[str, Scores]
    averages: list[Annotated[_Average, AfterValidator(_check_scores)]]
    convergence: _Convergence
    extractor_agreement: _Agreements
    repeats: _Repeats
    unread: Annotated[int, Field(ge=0)]
    replies: Annotated[int, Field(ge=0)]


class _Data(TypedDict, total=False):
    __pydantic_config__ = ConfigDict(extra="allow", strict=True)  # type: ignore[misc]
    source: str
    config: str | None
    options: dict[str, Any] | None
    rows: int | None
    is_mini: bool | None


class Settings(TypedDict, total=False):
    """How a result was computed; the settings that readers need are named here."""

    __pydantic_config__ = ConfigDict(extra="allow", strict=True)  # type: ignore[misc]
    data: _Data
    model: dict[str, Any]
    judge: dict[str, Any]
    sample: dict[str, Any] | None
    limit: int | None


class Record(BaseModel):
    """A part of the file that has no other keys than these, and no values of other types."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True, strict=True)


class LeftOut(Record):
    """One item that the scores do not include."""

    id: str
    path: str | None = None
    reason: str
    split: str | None = None
    """The split, if loading left the item out; otherwise it is the task's split."""


class TaskResult(Record):
    """One task on one model: made by `Protocol.score`, completed by the evaluation, written, and read by everything."""

    task: str = ""
    dataset: str = ""
    split: str = ""
    model: str = ""
    scores: Scores | None = None
    """None if the labels are private."""
    settings: Annotated[dict[str, Any], GetPydanticSchema(lambda _, schema_of: schema_of(Settings))] = {}
    """How it was computed: `Settings`."""
    variants: dict[str, Scores] = {}
    """Alternative scorings of the same answers by name."""
    diagnostics: Annotated[dict[str, Any], GetPydanticSchema(lambda _, schema_of: schema_of(Diagnostics))] = {}
    """Further numbers about the answers: `Diagnostics`."""
    left_out: list[LeftOut] = []
    timings: dict[str, float] = {}
    """Seconds, items per second, and the number of answers from the store, which took no time."""
    warnings: list[str] = []
    """Warnings during scoring, for example of an undefined correlation."""
    notes: list[Note] = []
    """What a reader must know, for example why there is no score."""
    headline: str = ""
    """Key of the task's headline score; if empty, the metric's headline."""
    complete: bool = True
    """False if the scores do not use all requested answers; a note gives the reason."""
    files: list[str] = []
    """Names of the task's own files, in `<task>/<dataset>`."""
    items: SkipValidation[Sequence[Any]] = Field(default=(), exclude=True, repr=False)
    """What the responses gave, as items of the protocol; they are in `predictions.parquet`."""
    contents: dict[str, bytes] = Field(default={}, exclude=True, repr=False)
    """The contents of `files`."""

    def headline_spec(self) -> ScoreSpec | None:
        """The task's headline score; None if it has none."""
        specs = specs_in(self.scores or {})
        of_task = next((spec for spec in specs if spec.key == self.headline), None)
        return of_task or next((spec for spec in specs if spec.headline), None)

    @property
    def caveats(self) -> list[str]:
        """The notes in words."""
        return [note.text for note in self.notes]


class FailedTask(Record):
    """One task that did not finish."""

    task: str
    dataset: str
    error: str
    model: str = ""


class Results(Record):
    """The contents of `results.json`."""

    schema_version: Literal[1] = Field(default=1, alias="schema")
    environment: dict[str, Any]
    request: dict[str, Any] | None = None
    """The options that `eyechart run` was given, for `--like`; None if Python made the run."""
    tasks: list[TaskResult]
    failed: list[FailedTask] = []
    predictions_sha256: str = ""
    """Checksum of the `predictions.parquet` that belongs to these results; "" if none was written."""
    sha256: str = ""
    """Checksum of all other contents; "" if the file states none."""


def collect(
    tasks: Sequence[TaskResult], failed: Sequence[FailedTask], started: str, request: dict[str, Any] | None = None
) -> Results:
    """Assemble the results of a run that began at `started` (ISO 8601) with the options `request`."""
    return Results(
        environment={"started": started, **_machine()}, request=request, tasks=list(tasks), failed=list(failed)
    )


def read_results(path: str | Path) -> Results:
    """Read and validate a `results.json`, from the file or its folder; NaN and infinities are read like null.

    Raises `MissingFileError` for no file, and `BadResultsError` for another schema version or malformed contents.
    """
    path = Path(path)
    file = path / RESULTS_FILE if path.is_dir() else path
    try:
        with open_regular(file) as opened:
            content = opened.read()
        raw = from_json(content)
        json.loads(content, object_pairs_hook=_object, parse_float=_float)
    except FileNotFoundError as error:
        raise MissingFileError(f"does not exist; every finished run has a {RESULTS_FILE}", path=file) from error
    except (OSError, ValueError) as error:
        raise bad_results(file, f"cannot be read as results: {error}") from error
    if not isinstance(raw, dict) or "schema" not in raw:
        raise bad_results(
            file, f'cannot be read as results: expected an object with the key "schema" and its value {SCHEMA}'
        )
    if raw["schema"] != SCHEMA or type(raw["schema"]) is not int:
        raise BadResultsError(
            f"its schema is {raw['schema']!r:.40}, but this version of eyechart ({metadata.version('eyechart')}) reads "
            f"only schema {SCHEMA}; use the version of eyechart that wrote the file, or a later one",
            path=file,
        )
    try:
        results = Results.model_validate(to_jsonable_python(raw, inf_nan_mode="null"))
    except ValidationError as error:
        raise bad_results(file, _first_misfit(error)) from error
    keys: set[tuple[str, str, str]] = set()
    for number, task in enumerate(results.tasks):
        keys.add((task.task, task.dataset, task.split))
        if len(keys) == number:
            raise bad_results(file, f"tasks[{number}] repeats the task, dataset and split of an earlier result")
        missing = [name for name in _REQUIRED if name not in task.model_fields_set]
        if missing:
            raise bad_results(file, f"key tasks[{number}].{missing[0]}: field required")
        task.scores, task.variants, task.diagnostics = map(with_nan, (task.scores, task.variants, task.diagnostics))
    return results


def sealed(values: dict[str, Any]) -> dict[str, Any]:
    """The contents of a file with their checksum."""
    others = {name: value for name, value in values.items() if name != "sha256"}
    return {**others, "sha256": hashlib.sha256(json.dumps(others, sort_keys=True).encode()).hexdigest()}


def check_unedited(folder: Path) -> None:
    """Raise `BadResultsError` if results that can be read do not have the checksum that they state."""
    values = json.loads((folder / RESULTS_FILE).read_bytes())
    if values.get("sha256") and values != sealed(values):
        raise bad_results(folder / RESULTS_FILE, "was edited: its contents do not have the checksum that it states")


def with_nan(value: Any) -> Any:
    """Scores from a file as the metric returned them: null becomes nan, and null intervals are removed."""
    if isinstance(value, dict):
        given = {key: item for key, item in value.items() if item is not None or not key.endswith("_ci95")}
        return {
            key: math.nan if item is None and key not in _NULLABLE else with_nan(item) for key, item in given.items()
        }
    if isinstance(value, list):
        return [math.nan if item is None else with_nan(item) for item in value]
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(value := dict(pairs)) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(name for name in value if names.count(name) > 1)!r:.80} appears twice")
    return value


def _float(text: str) -> float:
    if math.isinf(value := float(text)):
        raise ValueError(f"the number {text:.40} is too large")
    return value


def bad_results(file: Path, reason: str) -> BadResultsError:
    """The error for the results in a file."""
    error = BadResultsError(reason, path=file)
    error.add_note("Results files must not be edited: restore the file, or repeat the run (stored answers are reused).")
    return error


def _first_misfit(error: ValidationError) -> str:
    """The first place where a file is malformed, what is expected there, and the number of other places."""
    first, *others = error.errors(include_url=False, include_context=False)
    key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
    key = key.removeprefix(".")
    if first["type"] == _MISFIT:
        return f"key {key}{first['msg']}"
    given = "" if first["type"] == "missing" else f"; it is {first['input']!r:.60}"
    more = f" (and {len(others)} more)" if others else ""
    return f"key {key}: {first['msg'][0].lower()}{first['msg'][1:]}{given}{more}"


def task_folder(task: TaskResult) -> Path:
    """The folder of a task's own files, within the folder of the run."""
    return Path(task.task, task.dataset)


@cache
def _machine() -> dict[str, Any]:
    """What does not change while the process runs."""
    versions: dict[str, str | None] = {}
    # Those with a condition are of an extra, or for some versions of Python.
    required = [name for name in metadata.requires("eyechart") or () if ";" not in name]
    for package in ("eyechart", "tokenizers", *(re.split(r"[^\w.-]", name)[0] for name in required)):
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = None
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processor": platform.machine(),
        "packages": versions,
    }
