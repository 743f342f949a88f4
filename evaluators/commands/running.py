"""Run a plan and end the command."""

import contextlib
import datetime
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from eyechart.evaluators.runs.console import checked, console, print_line

if TYPE_CHECKING:
    from eyechart.evaluators.judging import JudgeOptions
    from eyechart.evaluators.requests.store import ResponseStore
    from eyechart.evaluators.requests.types import Backend
    from eyechart.evaluators.runs.plan import TaskRun
    from eyechart.evaluators.runs.run import RunOptions

_INTERRUPTED = 130
"""Exit code after Ctrl-C, as in shells."""


def execute_plan(
    plan: "list[TaskRun]",
    make_backend: "Callable[[str | None], Backend]",
    make_options: "Callable[[], RunOptions]",
    out: Path | None,
    judge: "JudgeOptions | None" = None,
    *,
    use_store: bool,
) -> None:
    """Run a plan and end the command: exit code 0 if every task finished, 1 if one failed, 2 for wrong usage.

    A task also fails if no reply of its judge was usable.

    Args:
        plan: What to run.
        make_backend: Called with the device of this process; None lets the model choose.
        make_options: Makes the options that apply to every task.
        out: Folder for the results; named after the time by default.
        judge: The judge on a server; None without a judge.
        use_store: Whether stored answers are used and new ones kept.
    """
    from eyechart.evaluators.backends.processes import join_processes
    from eyechart.evaluators.judging import EndpointJudge
    from eyechart.evaluators.runs.plan import check_judging
    from eyechart.evaluators.runs.run import execute

    folder = out or default_folder()

    def finish() -> bool:
        check_judging(plan, judge is not None)
        processes = join_processes()
        device = None if processes is None else processes.device
        # Opened first, so that a damaged store is reported before a model is loaded.
        with (
            contextlib.nullcontext() if processes is None else contextlib.closing(processes),
            _open_store() if use_store else contextlib.nullcontext() as store,
        ):
            asked = None if judge is None else EndpointJudge(judge, store, processes)
            return execute(plan, lambda: make_backend(device), make_options(), folder, store, processes, asked)

    try:
        is_done = checked(finish)
    except KeyboardInterrupt as error:
        print_line(console(stderr=True), _interrupted(folder, use_store), "yellow")
        raise typer.Exit(_INTERRUPTED) from error
    raise typer.Exit(0 if is_done else 1)


def _interrupted(folder: Path, use_store: bool) -> str:
    """What is kept of a run that Ctrl-C ended, and how to resume it."""
    results = f" Finished tasks are in {folder}." if (folder / "results.json").exists() else ""
    if use_store:
        return (
            f"\neyechart: interrupted.{results} All answers so far are stored. Run the same command again to resume: "
            "it asks only for missing answers."
        )
    return (
        f"\neyechart: interrupted.{results} --no-store keeps no answers: the same command asks for all of them again."
    )


def _open_store() -> "ResponseStore":
    from eyechart.evaluators.requests.drives import network_drive
    from eyechart.evaluators.requests.store import ResponseStore, default_path

    path = default_path()
    if kind := network_drive(path.parent):
        text = (
            f"warning: the stored answers are on a network drive ({kind}): {path}. They may be lost if a second "
            "machine uses them too. Set EYECHART_HOME to a local folder."
        )
        print_line(console(stderr=True), text, "yellow")
    return ResponseStore.open(path)


def default_folder() -> Path:
    """The folder for the results of a run that begins now, if none is given."""
    return Path("eyechart_runs") / datetime.datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
