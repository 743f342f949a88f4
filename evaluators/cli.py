"""The command line: `eyechart run`, `eyechart score`, `eyechart export`, `eyechart tasks`, `eyechart store`.

Exit codes: 0 if every requested task finished, 1 if one failed, 2 for wrong usage. Only the standard library, typer
and rich are loaded before a command runs.
"""

import contextlib
import datetime
import json
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Annotated
from typing import Any

import typer

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.datasets_scripts.common.errors import unknown_name
from eyechart.datasets_scripts.subsets import find_subset
from eyechart.evaluators import store_commands
from eyechart.evaluators import tiny_vlm
from eyechart.evaluators.backends.endpoint.options import DEFAULT_CONCURRENCY
from eyechart.evaluators.backends.endpoint.options import DEFAULT_TIMEOUT
from eyechart.evaluators.backends.endpoint.options import EndpointOptions
from eyechart.evaluators.console import checked
from eyechart.evaluators.tasks import TASKS
from eyechart.evaluators.tasks import get_task
from eyechart.evaluators.tasks.task import Task

if TYPE_CHECKING:
    from eyechart.evaluators.run import RunOptions
    from eyechart.evaluators.types import Backend


class BackendKind(Enum):
    """Who runs the model."""

    TRANSFORMERS = "transformers"
    OPENAI = "openai"


app = typer.Typer(
    help="An eye chart for multimodal LLMs.", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
)
app.add_typer(store_commands.app, name="store")

Tasks = Annotated[list[str] | None, typer.Argument(help="Tasks, as `eyechart tasks` lists them; all if none is given.")]
Subset = Annotated[str | None, typer.Option(help="Data set to run on; the task's first by default.")]
Split = Annotated[str | None, typer.Option(help="Split to run on; the task's first by default.")]
Limit = Annotated[int | None, typer.Option(min=1, help="Use only the first so many items.")]
DataDirs = Annotated[
    list[str] | None,
    typer.Option(
        "--data-dir",
        metavar="[SUBSET=]PATH",
        help="Folder of the real release; without it a mini release is made. Repeatable.",
    ),
]
Out = Annotated[
    Path | None, typer.Option("--out", "--output", help="Folder for the results [default: ./eyechart_runs/<time>].")
]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Leave out rows and images that cannot be read; list them.")]
SkipMissing = Annotated[bool, typer.Option("--skip-missing", help="Leave out rows whose image is absent; list them.")]


@app.command()
def run(
    tasks: Tasks = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="Model id or folder of a transformers image-text-to-text model or (for quality assessment) of a dual "
            "encoder such as CLIP, or a model's name on a server.",
            show_default=tiny_vlm.NAME,
        ),
    ] = None,
    backend: Annotated[
        BackendKind | None,
        typer.Option(help="Who runs the model: transformers here, or a server (openai), as --base-url implies."),
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(help="Address of an OpenAI-compatible server, such as http://127.0.0.1:8000/v1.")
    ] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Requests at once to a server.")] = DEFAULT_CONCURRENCY,
    timeout: Annotated[float, typer.Option(help="Seconds to wait for a server's answer.")] = DEFAULT_TIMEOUT,
    subset: Subset = None,
    split: Split = None,
    limit: Limit = None,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap intervals and of random choices.")] = 0,
    shuffle_seed: Annotated[
        int | None, typer.Option(help="Shuffle the options of each question; without it the release's order is shown.")
    ] = None,
    batch_size: Annotated[
        int | None,
        typer.Option(min=1, help="Requests per forward pass, halved when memory runs out [default: automatic]."),
    ] = None,
    device: Annotated[str | None, typer.Option(help="Device for the model, for example cpu or cuda:0.")] = None,
    dtype: Annotated[
        str, typer.Option(help="Number format, for example bfloat16; auto is that of the weights.")
    ] = "auto",
    device_map: Annotated[str | None, typer.Option(help="Spread the model over devices, for example auto.")] = None,
    attention: Annotated[
        str | None, typer.Option(help="Attention implementation, for example sdpa or flash_attention_2.")
    ] = None,
    revision: Annotated[str | None, typer.Option(help="Branch, tag or commit of a model on the Hub.")] = None,
    trust_remote_code: Annotated[
        bool, typer.Option("--trust-remote-code", help="Run the code that the model's repository brings.")
    ] = False,
    data_dir: DataDirs = None,
    out: Out = None,
    skip_bad: SkipBad = False,
    skip_missing: SkipMissing = False,
    no_store: Annotated[
        bool, typer.Option("--no-store", help="Neither use answers of earlier runs nor keep those of this one.")
    ] = False,
) -> None:
    """Evaluate a model; without arguments, the bundled tiny model on mini data."""
    plan = checked(lambda: _plan(tasks or [], subset, split, data_dir or []))
    endpoint = checked(lambda: _endpoint(model, backend, base_url, concurrency, timeout))

    def make_backend(own_device: str | None) -> "Backend":
        from eyechart.evaluators.backends import resolve_backend
        from eyechart.evaluators.backends.local.loading import LoadOptions

        load = LoadOptions(device or own_device, dtype, device_map, attention, revision, trust_remote_code)
        return resolve_backend(model, batch_size=batch_size, options=load, endpoint=endpoint)

    def options() -> "RunOptions":
        from eyechart.evaluators.run import RunOptions

        return RunOptions(limit, seed, shuffle_seed, skip_bad, skip_missing)

    _execute(plan, make_backend, options, out, use_store=not no_store)


@app.command()
def score(
    task: Annotated[str, typer.Argument(help="Task, as `eyechart tasks` lists them.")],
    predictions: Annotated[Path, typer.Option(help="JSON Lines file with id, pass, and text or logits.")],
    model: Annotated[str | None, typer.Option(help="Name of the model that made the answers.")] = None,
    subset: Subset = None,
    split: Split = None,
    limit: Limit = None,
    data_dir: DataDirs = None,
    out: Out = None,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave out malformed rows and items without a prediction; list them.")
    ] = False,
) -> None:
    """Score answers that were made elsewhere."""
    plan = checked(lambda: _plan([task], subset, split, data_dir or []))

    def backend(_: str | None) -> "Backend":
        from eyechart.evaluators.backends.predictions_file import PredictionsFileBackend

        return PredictionsFileBackend(predictions, name=model)

    def options() -> "RunOptions":
        from eyechart.evaluators.run import RunOptions

        return RunOptions(limit, skip_bad=skip_bad)

    _execute(plan, backend, options, out, use_store=False)


@app.command()
def export(
    subset: Annotated[str, typer.Argument(help="Data set, for example llvisionqa.")],
    out: Annotated[Path, typer.Option(help="Folder to write; must not exist or be empty.")],
    config: Annotated[
        list[str] | None, typer.Option(help="Configuration to export; all if none is given. Repeatable.")
    ] = None,
    data_dir: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[CONFIG=]PATH",
            help="Folder of the real release; without it the mini release is exported. Repeatable.",
        ),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE", help="Setting of this data set's own, its value as JSON or text. Repeatable."
        ),
    ] = None,
    push_to_hub: Annotated[
        str | None, typer.Option(metavar="REPO", help="Upload to this data set repository; needs --data-dir.")
    ] = None,
    public: Annotated[bool, typer.Option("--public", help="Make a new repository public instead of private.")] = False,
    i_have_the_rights: Annotated[
        bool,
        typer.Option("--i-have-the-rights", help="Export private answers and texts, and images given on request, too."),
    ] = False,
    skip_bad: SkipBad = False,
    skip_missing: SkipMissing = False,
) -> None:
    """Write a data set as Parquet with its images and a card, for plain `datasets.load_dataset`."""

    def write() -> Path:
        from eyechart.datasets_scripts import mini
        from eyechart.datasets_scripts.export import export as export_subset

        if push_to_hub is not None and not data_dir:
            raise UsageError("--push-to-hub needs --data-dir: a mini release is not the benchmark")
        if public and push_to_hub is None:
            raise UsageError("--public says how to make the repository of --push-to-hub, which is not given")
        configs = config or find_subset(subset).configs
        folders = _parse_data_dirs(data_dir or [f"{mini.release(subset)}"], tuple(configs), "config")
        return export_subset(
            subset,
            config,
            out=out,
            data_dir=folders.get("", folders),
            options=_parse_options(option or []),
            i_have_the_rights=i_have_the_rights,
            skip_bad=skip_bad,
            skip_missing=skip_missing,
        )

    folder = checked(write)
    print(f"Exported to {folder}")
    if push_to_hub is not None:
        from eyechart.datasets_scripts import hub

        print(f"Uploaded to {checked(lambda: hub.push_to_hub(folder, push_to_hub, public=public))}")


@app.command("tasks")
def list_tasks() -> None:
    """List the tasks with their data sets and metrics."""
    from rich.table import Table

    from eyechart.evaluators.console import console

    table = Table()
    for column in ("task", "what it measures", "subsets", "splits", "metric"):
        table.add_column(column, no_wrap=column == "task")
    for task in TASKS:
        table.add_row(task.name, task.description, ", ".join(task.subsets), ", ".join(task.splits), task.metric)
    console().print(table)


def main() -> None:
    """Entry point of the `eyechart` command."""
    app()


def _execute(
    plan: "list[tuple[Task, str, str, str | None]]",
    make_backend: "Callable[[str | None], Backend]",
    make_options: "Callable[[], RunOptions]",
    out: Path | None,
    *,
    use_store: bool,
) -> None:
    from eyechart.evaluators.processes import join_processes
    from eyechart.evaluators.responses import ResponseStore
    from eyechart.evaluators.run import execute

    folder = out or Path("eyechart_runs") / datetime.datetime.now().strftime("%Y-%m-%d_%H-%M-%S")

    def finish() -> bool:
        processes = join_processes()
        device = None if processes is None else processes.device
        # Opened first: what is wrong with it shows before a model is loaded.
        with (
            contextlib.nullcontext() if processes is None else contextlib.closing(processes),
            ResponseStore.open() if use_store else contextlib.nullcontext() as store,
        ):
            return execute(plan, lambda: make_backend(device), make_options(), folder, store, processes)

    raise typer.Exit(0 if checked(finish) else 1)


def _plan(
    names: list[str], subset: str | None, split: str | None, data_dirs: list[str]
) -> list[tuple[Task, str, str, str | None]]:
    """What to run: (task, subset, split, data folder or None for the mini release) each, every name checked."""
    tasks = [get_task(name) for name in dict.fromkeys(names)] or list(TASKS)
    if not names:
        tasks = [t for t in tasks if subset in (None, *t.subsets)]
        tasks = [t for t in tasks if split in (None, *t.splits)] or tasks
    known = tuple(dict.fromkeys(name for task in (tasks or TASKS) for name in task.subsets))
    if subset is not None and subset not in known:
        raise unknown_name("subset", subset, known)
    folders = _parse_data_dirs(data_dirs, known)
    plan = []
    for task in tasks:
        chosen, part = subset or task.subsets[0], split or task.splits[0]
        if chosen not in task.subsets:
            raise unknown_name(f"subset of {task.name}", chosen, task.subsets)
        if part not in task.splits:
            raise unknown_name(f"split of {task.name}", part, task.splits)
        plan.append((task, chosen, part, folders.get(chosen, folders.get(""))))
    if "" in folders and len({chosen for _, chosen, _, _ in plan}) > 1:
        raise UsageError(
            f"--data-dir {folders['']} does not say which subset it holds, and several are to be run. "
            f"Write --data-dir SUBSET={folders['']}, with SUBSET one of: {', '.join(known)}"
        )
    return plan


def _endpoint(
    model: str | None, backend: BackendKind | None, base_url: str | None, concurrency: int, timeout: float
) -> EndpointOptions | None:
    """How to ask a server, None for a model that runs here."""
    if backend is BackendKind.TRANSFORMERS and base_url is not None:
        raise UsageError("--base-url is the address of a server, and --backend transformers asks none; leave out one")
    if backend is not BackendKind.OPENAI and base_url is None:
        return None
    if model is None:
        raise UsageError("a server needs --model, the model's name there")
    return EndpointOptions(base_url=base_url, concurrency=concurrency, timeout=timeout)


def _parse_data_dirs(values: list[str], names: tuple[str, ...], kind: str = "subset") -> dict[str, str]:
    """Subset or configuration to folder; "" is the key of a folder given without one."""
    folders: dict[str, str] = {}
    for value in values:
        name, equals, path = value.partition("=")
        # A path may itself hold a "=".
        if not equals or Path(value).exists():
            name, path = "", value
        elif name not in names:
            raise unknown_name(f"{kind} in --data-dir", name, names)
        if name in folders:
            raise UsageError(f"--data-dir is given twice for {name or f'all {kind}s'}: {folders[name]} and {path}")
        folders[name] = path
    return folders


def _parse_options(values: list[str]) -> dict[str, Any]:
    """Name to value; what is no JSON is text."""
    options: dict[str, Any] = {}
    for value in values:
        name, equals, text = value.partition("=")
        if not equals or name in options:
            raise UsageError(f"--option {value!r} is not NAME=VALUE, or gives NAME again")
        try:
            options[name] = json.loads(text)
        except ValueError:
            options[name] = text
    return options


if __name__ == "__main__":
    main()
