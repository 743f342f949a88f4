"""`eyechart export`: a data set as Parquet with a dataset card."""

from pathlib import Path
from typing import Annotated

import typer

from eyechart.datasets_scripts.catalog import find_dataset
from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.commands.arguments import parse_pairs
from eyechart.evaluators.commands.completion import complete_data_set
from eyechart.evaluators.runs.console import checked, say
from eyechart.evaluators.runs.data_dirs import parse_data_dirs


def export(
    dataset: Annotated[str, typer.Argument(autocompletion=complete_data_set, help="Data set, for example llvisionqa.")],
    out: Annotated[Path, typer.Option(help="Folder to write; must not exist or be empty.")],
    config: Annotated[
        list[str] | None, typer.Option(help="Configuration to export; all if none is given. Repeatable.")
    ] = None,
    data_dir: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[CONFIG=]PATH",
            help="Folder of the release; without it, the official one is downloaded where it can be. Repeatable.",
        ),
    ] = None,
    mini: Annotated[bool, typer.Option("--mini", help="Export the mini release, which holds synthetic items.")] = False,
    data_option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE", help="Setting of the data set's own, its value as JSON or text. Repeatable."
        ),
    ] = None,
    push_to_hub: Annotated[
        str | None, typer.Option(metavar="REPO", help="Upload to this data set repository; not with --mini.")
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
            "framework and the repository; not with --mini.",
        ),
    ] = False,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave out malformed rows; list them.")] = False,
    skip_missing: Annotated[
        bool, typer.Option("--skip-missing", help="Leave out rows whose image is absent; list them.")
    ] = False,
) -> None:
    """Write a data set as Parquet with its images and a dataset card, for plain `datasets.load_dataset`."""

    def write() -> tuple[Path, str]:
        from eyechart.datasets_scripts.export import export as export_dataset
        from eyechart.datasets_scripts.mini import is_release, release
        from eyechart.hub_cards.model_card.benchmark import benchmark as make_benchmark
        from eyechart.hub_cards.model_card.benchmark import write_benchmark

        if mini and data_dir:
            raise UsageError(f"--mini and --data-dir {data_dir[0]} are both given; leave out one")
        if public and push_to_hub is None:
            raise UsageError("--public says how to make the repository of --push-to-hub, which is not given")
        configs = config or find_dataset(dataset).configs
        # Made first, so that nothing is exported where it cannot be.
        contents = make_benchmark(dataset, configs, i_have_the_rights=i_have_the_rights) if benchmark else None
        folders = parse_data_dirs([str(release(dataset))] if mini else data_dir or [], tuple(configs), "config")
        is_mini = any(map(is_release, folders.values()))
        if is_mini:
            for name, value in {"--push-to-hub": push_to_hub, "--benchmark": benchmark}.items():
                if value:
                    raise UsageError(f"{name} is for the benchmark, which a mini release is not; leave out --mini")
        written = export_dataset(
            dataset,
            config,
            out=out,
            data_dir=folders.get("", folders or None),
            options=parse_pairs("--data-option", data_option or []),
            i_have_the_rights=i_have_the_rights,
            skip_bad=skip_bad,
            skip_missing=skip_missing,
        )
        if contents is not None:
            write_benchmark(written, contents)
        source = "a mini release, whose items are synthetic" if is_mini else ", ".join(folders.values())
        return written, source or "the official release"

    folder, source = checked(write)
    say(f"Exported {source}, to {folder}")
    if push_to_hub is not None:
        from eyechart.datasets_scripts import hub

        say(f"Uploaded to {checked(lambda: hub.push_to_hub(folder, push_to_hub, public=public))}")
