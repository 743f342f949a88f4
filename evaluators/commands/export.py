"""`eyechart export`: a dataset as Parquet with a dataset card."""

from pathlib import Path
from typing import Annotated

import typer

from eyechart.datasets_scripts.catalog import DATASETS, find_dataset
from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.datasets_scripts.common.whole import write_whole
from eyechart.evaluators.commands.arguments import DATA_DIR_HELP, DataArgs, data_arguments
from eyechart.evaluators.evaluation.options import Texts, cli_option
from eyechart.evaluators.runs.console import say

_DATASET = typer.Argument(
    autocompletion=lambda incomplete: [name for name in DATASETS if name.startswith(incomplete)],
    help="Dataset, for example llvisionqa.",
)
_RIGHTS_HELP = "Also export private answers and texts, and images that the authors share only on request."
_BENCHMARK_HELP = """Also write eval.yaml. The Hub then shows a leaderboard, once Hugging Face has listed the
framework and the repository. Not with --mini."""


def export(
    dataset: Annotated[str, _DATASET],
    out: Annotated[Path, cli_option("Folder to write. It must not exist or must be empty.")],
    config: Annotated[Texts, cli_option("Configuration to export (default: all). Repeatable.")] = None,
    data_dir: Annotated[Texts, cli_option(DATA_DIR_HELP, metavar="[CONFIG=]PATH")] = None,
    mini: Annotated[bool, cli_option("Export the synthetic demo data.", "--mini")] = False,
    data_arg: DataArgs = None,
    push_to_hub: Annotated[str | None, cli_option("Upload to this repository on the Hub.", metavar="REPO")] = None,
    public: Annotated[bool, cli_option("Make a new repository public instead of private.", "--public")] = False,
    i_have_the_rights: Annotated[bool, cli_option(_RIGHTS_HELP, "--i-have-the-rights")] = False,
    benchmark: Annotated[bool, cli_option(_BENCHMARK_HELP, "--benchmark")] = False,
    skip_bad: Annotated[bool, cli_option("Leave out malformed rows, and list them.", "--skip-bad")] = False,
) -> None:
    """Write a dataset as Parquet, with images and a dataset card, so that `datasets.load_dataset` can load it."""
    from eyechart.datasets_scripts import export as exporting
    from eyechart.datasets_scripts.mini import is_release, release
    from eyechart.evaluators.runs.task_runs import parse_data_dirs
    from eyechart.hub_cards.model_card import benchmark as on_the_hub
    from eyechart.hub_cards.model_card.entries import to_yaml

    if mini and data_dir:
        raise UsageError(f"--mini and --data-dir {data_dir[0]} are both given; leave out one")
    if public and push_to_hub is None:
        raise UsageError("--public has no effect without --push-to-hub")
    arguments = data_arguments(data_arg)
    configs = config or find_dataset(dataset).configs
    # Made first: if that fails, nothing is exported.
    contents = on_the_hub.benchmark(dataset, configs, i_have_the_rights=i_have_the_rights) if benchmark else None
    folders = parse_data_dirs([str(release(dataset))] if mini else data_dir or [], tuple(configs), "config")
    is_mini = any(map(is_release, folders.values()))
    for name, value in {"--push-to-hub": push_to_hub, "--benchmark": benchmark}.items():
        if is_mini and value:
            raise UsageError(f"{name} is not for synthetic demo data; leave out --mini")
    folder = exporting.export(
        dataset,
        config,
        out=out,
        data_dir=folders.get("", folders or None),
        i_have_the_rights=i_have_the_rights,
        skip_bad=skip_bad,
        **arguments,
    )
    if contents is not None:
        write_whole(folder / "eval.yaml", to_yaml(on_the_hub.for_inspect(contents, folder)))
    source = "synthetic demo data" if is_mini else ", ".join(folders.values()) or "the official release"
    say(f"Exported {source} to {folder}")
    if push_to_hub is not None:
        say(f"Uploaded to {exporting.push_to_hub(folder, push_to_hub, public=public)}")
