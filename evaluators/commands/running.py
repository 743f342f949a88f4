"""Run tasks on one or several models, and end the command."""

import contextlib
import datetime
import gc
import os
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from eyechart.datasets_scripts.common.whole import writing
from eyechart.evaluators.requests.errors import ModelError
from eyechart.evaluators.requests.values import brief
from eyechart.evaluators.runs.console import console, print_line

if TYPE_CHECKING:
    from eyechart.evaluators.backends.endpoint.options import EndpointOptions
    from eyechart.evaluators.backends.processes import Processes
    from eyechart.evaluators.commands.arguments import TaskOptions
    from eyechart.evaluators.requests.store import ResponseStore
    from eyechart.evaluators.runs.run import ModelRun
    from eyechart.evaluators.runs.second_process import SecondProcess
    from eyechart.evaluators.runs.task_runs import TaskRun

_NETWORK = re.compile(
    r"nfs\d?|cifs|smb\w*|afs|9p|ceph|lustre|gpfs|beegfs\w*|pvfs\d?|orangefs|glusterfs"
    r"|fuse\.(?:sshfs|glusterfs|s3fs|gcsfuse|rclone|ceph|davfs2?|juicefs|mount-s3|curlftpfs)"
)


def announce(model: str) -> None:
    """Say at once, in a terminal, what was started: loading the libraries takes some seconds."""
    from eyechart.evaluators.backends.processes import launched

    messages = console(stderr=True)
    if launched()[0] == 0 and messages.is_terminal:
        print_line(messages, f"Preparing the run of {model}")


def run_models(task_runs: "list[TaskRun]", models: "Sequence[ModelRun]", options: "TaskOptions") -> None:
    """Run tasks on one model after the other, compare the models, and end the command with an exit code."""
    from eyechart.evaluators.backends.processes import join_processes
    from eyechart.evaluators.runs.second_process import second_process
    from eyechart.evaluators.runs.task_runs import check_data, check_judging

    check_data(task_runs)
    check_judging(task_runs, models[0].judge is not None)
    try:
        with contextlib.ExitStack() as stack:
            processes = stack.enter_context(contextlib.closing(join_processes()))
            # Opened first, so that a damaged store is reported before a model is loaded.
            store = None if options.no_store else stack.enter_context(_open_store())
            second = stack.enter_context(second_process(task_runs if processes.count == 1 else ()))
            processes.together(lambda: _check(task_runs, models, store) if processes.is_main else None)
            is_done = _run_each(task_runs, models, store, processes, second)
    except KeyboardInterrupt as error:
        finished = [str(run.folder) for run in models if (run.folder / "results.json").exists()]
        results = f" Finished tasks are in {', '.join(finished)}." if finished else ""
        again = "All answers so far are stored. Run the same command again to resume."
        if options.no_store:
            again = "--no-store keeps no answers: the same command asks for all of them again."
        print_line(console(stderr=True), f"\neyechart: interrupted.{results} {again}", "yellow")
        # As in shells.
        raise typer.Exit(130) from error
    raise typer.Exit(0 if is_done else 1)


def _check(task_runs: "list[TaskRun]", models: "Sequence[ModelRun]", store: "ResponseStore | None") -> None:
    """Refuse a model, a judge, data or a folder that cannot be used, before any model is loaded."""
    from eyechart.evaluators.runs.task_runs import check_inputs

    for run in models:
        run.check(store)
    if (judge := models[0].judge) is not None:
        check_server(judge.model, judge.endpoint, store, judge.key())
    check_inputs(task_runs)
    _make_folder(models[0].folder)


def _run_each(
    task_runs: "list[TaskRun]",
    models: "Sequence[ModelRun]",
    store: "ResponseStore | None",
    processes: "Processes",
    second: "SecondProcess | None",
) -> bool:
    """Run the models one after the other, and compare them; returns whether every task of every model finished."""
    from eyechart.evaluators.runs.run import execute

    messages = console(stderr=True, quiet=not processes.is_main)
    finished, is_done = [], True
    for number, run in enumerate(models, 1):
        if len(models) > 1:
            print_line(messages, f"Model {number} of {len(models)}: {run.model}")
        try:
            if processes.is_main:
                _make_folder(run.folder)
            is_done &= execute(task_runs, run, store, processes, second)
            finished.append(run.folder)
        except ModelError as error:
            # An empty folder would look like a run.
            with contextlib.suppress(OSError):
                run.folder.rmdir()
            # Other processes may not have failed, and would wait for this one.
            if len(models) == 1 or processes.count > 1:
                raise
            print_line(messages, f"eyechart: {error.explain()}", "red")
            is_done = False
        if number < len(models):
            # The next model needs the memory of this one.
            gc.collect()
            if torch := sys.modules.get("torch"):
                torch.cuda.empty_cache()
    if len(models) > 1 and processes.is_main:
        from eyechart.evaluators.commands.compare import show_outcome

        show_outcome(finished)
    return is_done


def check_server(
    model: str, endpoint: "EndpointOptions", store: "ResponseStore | None", key: str | None = None
) -> None:
    """Check that a server serves a model; one that cannot be used may still have stored answers."""
    from eyechart.evaluators.backends.endpoint.client import ChatClient

    client = ChatClient(model, endpoint, key=key)
    try:
        (names,) = client.map(ChatClient.check_model, [client])
    except ModelError as error:
        if store is None or model not in [stored.name for stored in store.models()]:
            raise
        print_line(console(stderr=True), f"warning: {error} Only stored answers can be used.", "yellow")
        return
    warn_of_names(client.base_url, names, model, endpoint.served_name or model)


def warn_of_names(server: str, names: Sequence[str], *expected: str) -> None:
    """Say so if a server lists models, but none that is expected."""
    from eyechart.evaluators.results.finished_runs import is_served_name

    if names and not any(is_served_name(model, name) for model in expected for name in names):
        listed = brief(names[0]) if len(names) == 1 else f"{len(names):,} others, such as {brief(names[0])}"
        text = f"warning: {server} lists {listed}, but not {brief(expected[0])}; another model may answer"
        print_line(console(stderr=True), text, "yellow")


def _make_folder(folder: Path) -> None:
    """Make the folder of a run, if it does not exist, and check that it can be written to."""
    with writing(f"the results folder {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
        # An existing folder may still refuse files: disk full, no permission, mounted read-only.
        with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
            file.write(bytes(4096))


def _open_store() -> "ResponseStore":
    from eyechart.evaluators.requests.store import ResponseStore, default_path

    path = default_path()
    if kind := network_drive(path.parent):
        text = (
            f"warning: the stored answers are on a network drive ({kind}): {path}. They may be lost if a second "
            "machine uses them too. Set EYECHART_HOME to a local folder."
        )
        print_line(console(stderr=True), text, "yellow")
    return ResponseStore.open(path)


def network_drive(folder: str | Path) -> str:
    """The type of a folder's network file system, such as "nfs4", unsafe for WAL mode; "" if local or unknown."""
    import psutil

    path = Path(os.path.realpath(folder))
    try:
        # Of several on one mount point, the last one is in use.
        mounts = [part for part in reversed(psutil.disk_partitions(all=True)) if path.is_relative_to(part.mountpoint)]
    except OSError:
        return ""
    kind = max(mounts, key=lambda part: len(part.mountpoint)).fstype if mounts else ""
    return kind if _NETWORK.fullmatch(kind) else ""


def result_folders(out: Path | None, models: Sequence[str | None]) -> list[Path]:
    """The folder of each model's results: `out` for a single model, otherwise one in it, named after the model."""
    folder = out or Path("eyechart_runs") / datetime.datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
    if len(models) == 1:
        return [folder]
    names = [re.sub(r"[^\w.-]+", "_", Path(str(model)).name).strip("._") or "model" for model in models]
    if len({name.casefold() for name in names}) < len(names):
        names = [f"{number}_{name}" for number, name in enumerate(names, 1)]
    return [folder / name for name in names]
