"""`eyechart submit`: collect a run's answer files for a benchmark's authors, if they are complete."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eyechart.datasets_scripts.catalog import find_dataset
from eyechart.datasets_scripts.common.errors import MissingFileError, UsageError
from eyechart.datasets_scripts.common.whole import write_whole, writing
from eyechart.evaluators.evaluation.options import Texts, cli_option
from eyechart.evaluators.runs.console import say

if TYPE_CHECKING:
    from eyechart.evaluators.results.finished_runs import Run, TaskKey


def submit(
    run: Annotated[Path, typer.Argument(help="Folder of a finished run.")],
    task: Annotated[Texts, cli_option("Collect only the files of this task. Repeatable.")] = None,
    out: Annotated[Path | None, cli_option("Folder (default: RUN/answer_files).", "--out", "--output")] = None,
) -> None:
    """Collect a run's answer files. A benchmark's authors score them if its answers are private. Nothing is sent.

    Incomplete runs, runs on part of the data and runs on synthetic demo data are refused. MMBench's server closed on
    31 March 2026. The test answers of MMBench 1.1 are public, so runs on them are scored here.
    """
    from eyechart.evaluators.results.finished_runs import read_runs
    from eyechart.evaluators.tasks import match_tasks

    (finished,) = read_runs([run])
    chosen = match_tasks(task or [], [key.task for key in finished.tasks], "in this run")
    keys = [key for key, result in finished.tasks.items() if key.task in chosen and (task or result.files)]
    if not keys:
        raise UsageError(
            f"{run} has no answer files: its reference answers are public, or its benchmarks have no answer "
            "files. Run a task with --split test whose answers are private"
        )
    for key, count in {key: _checked_count(finished, key) for key in keys}.items():
        target = (out or finished.folder / "answer_files") / key.task / key.dataset
        files = [target / name for name in finished.tasks[key].files]
        with writing(f"--out {target}"):
            for file in files:
                write_whole(file, (finished.folder / key.task / key.dataset / file.name).read_bytes())
        say(f"{key.title}: {count:,} answers in {', '.join(map(str, files))}")
        if note := find_dataset(key.dataset).answers_note:
            say(note)


def _checked_count(run: "Run", key: "TaskKey") -> int:
    """How many answers the answer file of a task contains."""
    from eyechart.evaluators.backends.predictions.formats import read_predictions
    from eyechart.evaluators.protocols.choice.circular_eval import OPEN

    result, answers = run.tasks[key], run.answers(key)
    data, part = result.settings["data"], result.settings
    responses = [] if answers is None else [row for row in answers.rows() if row["pass"] != OPEN]
    n_missing = len(result.left_out) + sum(bool(row["error"]) for row in responses)
    again = "run again without it (stored answers are reused)"
    problems = {
        "no answer file: the answers are public, or the benchmark has no answer file": not result.files,
        "the run used synthetic demo data; run without --mini": data["is_mini"],
        f"run used --sample; {again}": part.get("sample") is not None,
        f"run used --limit {part.get('limit')} of {data['rows']} items; {again}": part.get("limit") is not None,
        "the run has no predictions for this task": answers is None,
        f"{n_missing} answers are missing; repeat the run (it asks only for missing answers)": n_missing > 0,
    }
    if problem := next((text for text, is_so in problems.items() if is_so), ""):
        raise UsageError(f"{key.title}: {problem}")
    for name in result.files:
        path = run.folder / key.task / key.dataset / name
        if not path.is_file():
            raise MissingFileError("missing answer file; repeat the run (stored answers are reused)", path=path)
        _, predictions = read_predictions(path)
        if len(predictions) != len(responses) or len({row["id"] for row in responses}) != data["rows"]:
            raise UsageError(
                f"{path} contains {len(predictions)} answers, but the run has {len(responses)} for {data['rows']} "
                "items; repeat the run"
            )
    return len(responses)
