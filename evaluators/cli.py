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
from eyechart.datasets_scripts.subsets import find_subset
from eyechart.evaluators import store_commands
from eyechart.evaluators import tiny_vlm
from eyechart.evaluators.backends.endpoint.options import DEFAULT_CONCURRENCY
from eyechart.evaluators.backends.endpoint.options import DEFAULT_TIMEOUT
from eyechart.evaluators.backends.endpoint.options import EndpointOptions
from eyechart.evaluators.console import checked
from eyechart.evaluators.options import TaskOptions
from eyechart.evaluators.plan import Planned
from eyechart.evaluators.plan import make_plan
from eyechart.evaluators.plan import parse_data_dirs
from eyechart.evaluators.tasks import TASKS

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
_HOW = "How the tasks are run"

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
DataOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--option", metavar="NAME=VALUE", help="Setting of the data set's own, its value as JSON or text. Repeatable."
    ),
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
    option: DataOptions = None,
    shuffle_seed: Annotated[
        int | None, typer.Option(help="Shuffle the options of each question.", rich_help_panel=_HOW)
    ] = None,
    inference: Annotated[
        str | None,
        typer.Option(
            help="options, closed-set (the option of the lowest loss) or top-token (the likeliest token).",
            rich_help_panel=_HOW,
        ),
    ] = None,
    loss: Annotated[
        str | None, typer.Option(help="Loss of an option in closed-set inference: mean or sum.", rich_help_panel=_HOW)
    ] = None,
    wording: Annotated[str | None, typer.Option(help="Another wording of the prompt.", rich_help_panel=_HOW)] = None,
    blind: Annotated[bool | None, typer.Option("--blind", help="Ask without the image.", rich_help_panel=_HOW)] = None,
    early_stop: Annotated[
        bool | None,
        typer.Option(
            "--early-stop/--no-early-stop",
            help="Ask no further rotations after a wrong one [default: on servers only].",
            rich_help_panel=_HOW,
        ),
    ] = None,
    words: Annotated[
        str | None, typer.Option(help="Words whose logits give a score, such as high/low.", rich_help_panel=_HOW)
    ] = None,
    temperature: Annotated[float | None, typer.Option(help="What logits are divided by.", rich_help_panel=_HOW)] = None,
    ties: Annotated[
        str | None, typer.Option(help="Ranking of equal logits: exact or released.", rich_help_panel=_HOW)
    ] = None,
    aggregator: Annotated[
        str | None,
        typer.Option(help="From pairs to scores: map, mle, perron or trueskill.", rich_help_panel=_HOW),
    ] = None,
    fallback: Annotated[
        str | None, typer.Option(help="What an unreadable reply becomes: wrong or random.", rich_help_panel=_HOW)
    ] = None,
    rounds: Annotated[int | None, typer.Option(min=1, help="Replies asked of the judge.", rich_help_panel=_HOW)] = None,
    max_new_tokens: Annotated[
        int | None, typer.Option(min=1, help="The longest reply, in tokens.", rich_help_panel=_HOW)
    ] = None,
) -> None:
    """Evaluate a model; without arguments, the bundled tiny model on mini data."""

    def plan_run() -> list[Planned]:
        given = TaskOptions(
            shuffle_seed=shuffle_seed,
            inference=inference,
            loss=loss,
            wording=wording,
            blind=blind,
            early_stop=early_stop,
            words=words,
            temperature=temperature,
            ties=ties,
            aggregator=aggregator,
            fallback=fallback,
            rounds=rounds,
            max_new_tokens=max_new_tokens,
        )
        return make_plan(
            tasks or [],
            subset=subset,
            split=split,
            data_dirs=data_dir or [],
            data_options=_parse_options(option or []),
            options=given,
            limit=limit,
        )

    plan = checked(plan_run)
    endpoint = checked(lambda: _endpoint(model, backend, base_url, concurrency, timeout))

    def make_backend(own_device: str | None) -> "Backend":
        from eyechart.evaluators.backends import resolve_backend
        from eyechart.evaluators.backends.local.loading import LoadOptions

        load = LoadOptions(device or own_device, dtype, device_map, attention, revision, trust_remote_code)
        return resolve_backend(model, batch_size=batch_size, options=load, endpoint=endpoint)

    def options() -> "RunOptions":
        from eyechart.evaluators.run import RunOptions

        return RunOptions(seed, skip_bad, skip_missing)

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
    plan = checked(lambda: make_plan([task], subset=subset, split=split, data_dirs=data_dir or [], limit=limit))

    def backend(_: str | None) -> "Backend":
        from eyechart.evaluators.backends.predictions_file import PredictionsFileBackend

        return PredictionsFileBackend(predictions, name=model)

    def options() -> "RunOptions":
        from eyechart.evaluators.run import RunOptions

        return RunOptions(skip_bad=skip_bad)

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
    option: DataOptions = None,
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
        folders = parse_data_dirs(data_dir or [f"{mini.release(subset)}"], tuple(configs), "config")
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
    plan: list[Planned],
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
