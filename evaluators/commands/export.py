"""`eyechart export`: a data set as Parquet with a card."""

from pathlib import Path
from typing import Annotated

import typer

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.datasets_scripts.subsets import find_subset
from eyechart.evaluators.commands.arguments import DataOptions
from eyechart.evaluators.commands.arguments import SkipBad
from eyechart.evaluators.commands.arguments import SkipMissing
from eyechart.evaluators.commands.arguments import parse_options
from eyechart.evaluators.runs.console import checked
from eyechart.evaluators.runs.plan import parse_data_dirs


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
    benchmark: Annotated[
        bool,
        typer.Option(
            "--benchmark",
            help="Also write eval.yaml, with which the Hub shows a leaderboard, once Hugging Face has listed the "
            "framework and the repository; needs --data-dir.",
        ),
    ] = False,
    skip_bad: SkipBad = False,
    skip_missing: SkipMissing = False,
) -> None:
    """Write a data set as Parquet with its images and a card, for plain `datasets.load_dataset`."""

    def write() -> Path:
        from eyechart.datasets_scripts import mini
        from eyechart.datasets_scripts.export import export as export_subset
        from eyechart.evaluators.publishing.benchmark import benchmark as make_benchmark
        from eyechart.evaluators.publishing.benchmark import write_benchmark

        if push_to_hub is not None and not data_dir:
            raise UsageError("--push-to-hub needs --data-dir: a mini release is not the benchmark")
        if public and push_to_hub is None:
            raise UsageError("--public says how to make the repository of --push-to-hub, which is not given")
        configs = config or find_subset(subset).configs
        # Made first, so that nothing is exported where it cannot be.
        contents = make_benchmark(subset, configs, i_have_the_rights=i_have_the_rights) if benchmark else None
        folders = parse_data_dirs(data_dir or [f"{mini.release(subset)}"], tuple(configs), "config")
        if benchmark and (not data_dir or any(map(mini.is_release, folders.values()))):
            raise UsageError("--benchmark needs --data-dir: a mini release is not the benchmark")
        written = export_subset(
            subset,
            config,
            out=out,
            data_dir=folders.get("", folders),
            options=parse_options(option or []),
            i_have_the_rights=i_have_the_rights,
            skip_bad=skip_bad,
            skip_missing=skip_missing,
        )
        if contents is not None:
            write_benchmark(written, contents)
        return written

    folder = checked(write)
    print(f"Exported to {folder}")
    if push_to_hub is not None:
        from eyechart.datasets_scripts import hub

        print(f"Uploaded to {checked(lambda: hub.push_to_hub(folder, push_to_hub, public=public))}")
