"""From a plan to the end of a command."""

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
"""Exit code after Ctrl-C, as of shells."""


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

    A judge that gave a task nothing usable counts as a failure of it.

    Args:
        plan: What to run.
        make_backend: Called with the device of this process, None for the model's own choice.
        make_options: Makes what holds for every task.
        out: Folder for the results; by default one named after the time.
        judge: The judge on a server; None for none.
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
        # Opened first: what is wrong with it shows before a model is loaded.
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
    """What a run that Ctrl-C ended leaves, and how to go on."""
    results = f" Tasks that were finished are in {folder}." if (folder / "results.json").exists() else ""
    if use_store:
        return (
            f"\neyechart: interrupted.{results} The answers so far are stored. Give the same command again to go on: "
            "only missing answers are asked for."
        )
    return f"\neyechart: interrupted.{results} With --no-store no answers are kept, so the same command asks for all."


def _open_store() -> "ResponseStore":
    from eyechart.evaluators.requests.drives import network_drive
    from eyechart.evaluators.requests.store import ResponseStore, default_path

    path = default_path()
    if kind := network_drive(path.parent):
        text = (
            f"warning: the stored answers are on a network drive ({kind}): {path}. If a second machine uses them too, "
            "they may be lost. Let EYECHART_HOME be a folder of this machine."
        )
        print_line(console(stderr=True), text, "yellow")
    return ResponseStore.open(path)


def default_folder() -> Path:
    """Where the results of a run that begins now go, if no folder is given."""
    return Path("eyechart_runs") / datetime.datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
