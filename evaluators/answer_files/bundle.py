"""From a finished run to the benchmark's own files of answers, complete or not at all.

The rows come from the release, without images, the answers from the run's predictions; the files are made by the code
that makes them at the end of a run. Each is read again and compared with the answers before it is handed over.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from eyechart.datasets_scripts import mini
from eyechart.datasets_scripts.catalog import find_dataset
from eyechart.datasets_scripts.common.errors import DataError, MissingFileError, UsageError, unknown_name
from eyechart.evaluators import evaluator
from eyechart.evaluators.answer_files.reading import read_submission
from eyechart.evaluators.evaluation.data import LoadedData, load_data, undecoded_rows
from eyechart.evaluators.protocols.choice.passes import observed, passes_of
from eyechart.evaluators.protocols.options import TaskOptions
from eyechart.evaluators.report.runs import Answers, Run, TaskKey, read_runs
from eyechart.evaluators.requests.types import Loss, Request, Response, Row, RowResponses
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.evaluators.results.sources import OFFICIAL
from eyechart.evaluators.tasks import TASKS, get_task
from eyechart.evaluators.tasks.task import Kind, Task

CLOSED_SET = "closed-set"


@dataclass(frozen=True)
class Bundle:
    """The files of one task."""

    key: TaskKey
    files: Mapping[str, bytes]
    """Contents by name."""
    count: int
    """Answers in them."""
    note: str = ""
    """What to know before they are sent."""


def make_bundles(
    run: str | Path, tasks: Sequence[str] = (), data_dirs: Mapping[str, str] | None = None
) -> list[Bundle]:
    """Make the files of a run's tasks on private splits.

    Args:
        run: Folder of a finished run.
        tasks: Names of tasks; all that can be submitted if empty.
        data_dirs: Folders of releases by subset; by default those that the run read.

    Returns:
        The files, each checked by reading it again.

    Raises:
        UsageError: Nothing in the run can be submitted, or a task cannot, as it is of a mini release, of a part of the
            data, or lacks answers.
        DataError: The run or a release cannot be read, or a file does not hold what it should.
    """
    (read,) = read_runs([run])
    known = list(dict.fromkeys(key.task for key in read.tasks))
    for name in tasks:
        if name not in known:
            raise unknown_name("task in this run", name, known)
    wanted = [key for key in read.tasks if (key.task in tasks if tasks else _is_private(read.tasks[key]))]
    if not wanted:
        raise UsageError(
            f"{run} has no answers to private questions; those to public ones are scored already. "
            "Private are, for example: eyechart run q_bench/perception --model MODEL --split test"
        )
    return [_bundle(read, key, data_dirs or {}) for key in wanted]


def write_bundles(bundles: Sequence[Bundle], folder: Path) -> list[Path]:
    """Write the files, those of a task into `<task>/<subset>`.

    Raises:
        UsageError: The folder cannot be written.
    """
    written = []
    for bundle in bundles:
        place = folder / bundle.key.task / bundle.key.subset
        for name, content in bundle.files.items():
            try:
                place.mkdir(parents=True, exist_ok=True)
                (place / name).write_bytes(content)
            except OSError as error:
                raise UsageError(f"--out {folder} cannot be written: {error.strerror or error}") from error
            written.append(place / name)
    return written


def takes_submissions(task: Task) -> bool:
    """Whether the benchmark takes answers to a task."""
    return task.submission is not None or task.evaluator is Kind.CIRCULAR_EVAL


def _is_private(result: TaskResult) -> bool:
    return result.scores is None and takes_submissions(get_task(result.task))


def _bundle(run: Run, key: TaskKey, data_dirs: Mapping[str, str]) -> Bundle:
    result, task = run.tasks[key], get_task(key.task)
    _check_result(key, result, task)
    answers = run.answers(key)
    if answers is None:
        raise UsageError(f"{key.title}: the run has no predictions of it, or the task several times")
    loaded = _load(key, result, task, data_dirs)
    answered = _answered(key, undecoded_rows(loaded.dataset), answers, task)
    inference = result.settings.get("inference")
    options = TaskOptions(inference=CLOSED_SET, loss=result.settings.get("loss")) if inference == CLOSED_SET else None
    files = evaluator(task.name, options=options).files(answered, loaded)
    if not files:
        raise UsageError(f"{key.title}: the answers in this release are not private; its scores are in the results")
    count = len(observed(answered)) if task.evaluator is Kind.CIRCULAR_EVAL else len(answered)
    for name, content in files.items():
        found = len(read_submission(name, content))
        if found != count:
            raise DataError(f"{name} holds {found} answers where {count} were put in")
    return Bundle(key, files, count, find_dataset(key.subset).answers_note)


def _check_result(key: TaskKey, result: TaskResult, task: Task) -> None:
    data = result.settings.get("data")
    if not takes_submissions(task):
        takes = ", ".join(task.name for task in TASKS if takes_submissions(task))
        raise UsageError(f"{key.title}: the benchmark takes no answers to it; those that are taken: {takes}")
    if not isinstance(data, Mapping) or data.get("is_mini") is not False or mini.is_release(data.get("source")):
        raise UsageError(f"{key.title}: it is of a mini release, not of the benchmark; run it without --mini")
    if result.settings.get("limit") is not None:
        raise UsageError(
            f"{key.title}: it is of the first {result.settings['limit']} of {data.get('rows')} items alone; run it "
            "without --limit, which asks nothing twice"
        )


def _load(key: TaskKey, result: TaskResult, task: Task, data_dirs: Mapping[str, str]) -> LoadedData:
    data = result.settings["data"]
    folder = data_dirs.get(key.subset, data_dirs.get("", data.get("source")))
    if folder == OFFICIAL:
        folder = None
    elif not isinstance(folder, str) or not Path(folder).is_dir():
        raise MissingFileError(
            f"{key.title}: the release that the run read is not there; name its folder with --data-dir",
            path=str(folder),
        )
    options = data.get("options") or {}
    return load_data(task, subset=key.subset, split=key.split, data_dir=folder, options=options, images="skip")


def _answered(key: TaskKey, rows: Sequence[Row], answers: Answers, task: Task) -> list[RowResponses]:
    """The release's rows with the answers of the run, every one of them."""
    found: dict[str, list[Response]] = {}
    for record in answers.rows(range(len(answers))):
        if not record["error"]:
            found.setdefault(record["id"], []).append(_response(record))
    is_circular = task.evaluator is Kind.CIRCULAR_EVAL
    lacking = [row["id"] for row in rows if len(found.get(row["id"], ())) < (len(passes_of(row)) if is_circular else 1)]
    strange = found.keys() - {row["id"] for row in rows}
    if strange:
        raise UsageError(
            f"{key.title}: {len(strange)} answers, '{min(strange)}' first, are to no question of the release; name the "
            "release that the run read with --data-dir"
        )
    if lacking:
        raise UsageError(
            f"{key.title}: {len(lacking)} of {len(rows)} items lack an answer, '{lacking[0]}' first; repeat the run, "
            "which asks only what is missing"
        )
    return [RowResponses(row, tuple(found[row["id"]])) for row in rows]


def _response(record: Row) -> Response:
    """An answer as it was given, with the options as they were shown."""
    options = tuple(record["options"] or ())
    losses = [Loss(*pair) for pair in zip(record["losses"] or (), record["loss_tokens"] or (), strict=True)]
    return Response(
        Request(record["id"], (), (), options=options, pass_name=record["pass"]),
        text=record["text"],
        losses=tuple(losses) or None,
        options=options,
    )
