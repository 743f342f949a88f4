"""`eyechart submit`: a run's answer files for a benchmark's authors, complete or not at all."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eyechart.datasets_scripts.catalog import find_dataset
from eyechart.datasets_scripts.common.errors import MissingFileError, UsageError, unknown_name
from eyechart.datasets_scripts.common.whole import unwritable, write_whole
from eyechart.evaluators.runs.console import checked, say

if TYPE_CHECKING:
    from eyechart.evaluators.results.finished_runs import Run, TaskKey


def submit(
    run: Annotated[Path, typer.Argument(help="Folder of a finished run.")],
    task: Annotated[list[str] | None, typer.Option(help="Take the files of this task only. Repeatable.")] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "--output", help="Folder for the files (default: RUN/answer_files)."),
    ] = None,
) -> None:
    """Collect the answer files in which a benchmark's authors take answers to private questions; nothing is sent.

    A run of a mini release or of a part of the data, and one that lacks answers, is refused. MMBench's server closed on
    31 March 2026; the test answers of its version 1.1 are public, so that runs on them have scores.
    """
    for line in checked(lambda: _collect(run, task or [], out)):
        say(line)


def _collect(folder: Path, names: list[str], out: Path | None) -> list[str]:
    from eyechart.evaluators.results.finished_runs import read_runs

    (run,) = read_runs([folder])
    known = list(dict.fromkeys(key.task for key in run.tasks))
    for name in names:
        if name not in known:
            raise unknown_name("task in this run", name, known)
    keys = [key for key, result in run.tasks.items() if (key.task in names if names else result.files)]
    if not keys:
        raise UsageError(
            f"{folder} has no answers to private questions; those to public ones are scored already. "
            "Private are, for example: eyechart run q_bench/perception --model MODEL --split test"
        )
    counts = [_checked_count(run, key) for key in keys]
    lines = []
    for key, count in zip(keys, counts, strict=True):
        place = Path(key.task) / key.dataset
        target = (out or run.folder / "answer_files") / place
        _copy([run.folder / place / name for name in run.tasks[key].files], target)
        lines.append(f"{key.title}: {count:,} answers in {', '.join(str(target / n) for n in run.tasks[key].files)}")
        lines += [note for note in [find_dataset(key.dataset).answers_note] if note]
    return lines


def _checked_count(run: "Run", key: "TaskKey") -> int:
    """How many answers a task's file holds.

    Raises:
        UsageError: The task has no file, or its file is of synthetic data, of a part of the data, or lacks answers.
    """
    from eyechart.evaluators.backends.predictions.formats import read_predictions
    from eyechart.evaluators.protocols.choice.passes import OPEN

    result = run.tasks[key]
    data, limit = result.settings["data"], result.settings.get("limit")
    if not result.files:
        raise UsageError(f"{key.title}: no answer file, as its answers are public or the benchmark takes none")
    if data["is_mini"]:
        raise UsageError(f"{key.title}: the data are synthetic (a mini release); run it without --mini")
    if result.settings.get("sample") is not None:
        raise UsageError(f"{key.title}: run used --sample; run it without, which asks nothing twice")
    if limit is not None:
        raise UsageError(
            f"{key.title}: run used --limit {limit}, of {data['rows']} items; run it without, which asks nothing twice"
        )
    answers = run.answers(key)
    if answers is None:
        raise UsageError(f"{key.title}: the run has no predictions of it, or the task several times")
    given = [row for row in answers.rows(range(len(answers))) if row["pass"] != OPEN]
    missing = len(result.left_out) + sum(bool(row["error"]) for row in given)
    if missing:
        raise UsageError(f"{key.title}: {missing} answers are missing; repeat the run, which asks only for these")
    for name in result.files:
        path = run.folder / key.task / key.dataset / name
        if not path.is_file():
            raise MissingFileError("the run's answer file is not there; repeat the run, which asks nothing", path=path)
        _, found = read_predictions(path)
        if len(found) != len(given) or len({row["id"] for row in given}) != data["rows"]:
            raise UsageError(
                f"{path} holds {len(found)} answers, the run {len(given)} to {data['rows']} items; repeat the run"
            )
    return len(given)


def _copy(files: list[Path], folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file in files:
            write_whole(folder / file.name, file.read_bytes())
    except OSError as error:
        raise unwritable(f"--out {folder}", error) from error
