"""`eyechart submit`: answers to private questions in the benchmark's own files."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eyechart.datasets_scripts.catalog import DATASETS
from eyechart.evaluators.runs.console import checked
from eyechart.evaluators.runs.plan import parse_data_dirs

if TYPE_CHECKING:
    from eyechart.evaluators.answer_files.bundle import Bundle


def submit(
    run: Annotated[Path, typer.Argument(help="Folder of a finished run.")],
    task: Annotated[list[str] | None, typer.Option(help="Make the files of this task alone. Repeatable.")] = None,
    data_dir: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[SUBSET=]PATH", help="Folder of the release (default: where the run read it). Repeatable."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "--output", help="Folder for the files (default: submission in the run's).")
    ] = None,
) -> None:
    """Make the files in which a benchmark's authors take answers to their private questions; nothing is sent.

    A run of a mini release or of a part of the data, and one that lacks answers, is refused. MMBench's server closed on
    31 March 2026; the test answers of its version 1.1 are public, so that runs on them have scores.
    """

    def work() -> "list[tuple[Bundle, list[Path]]]":
        from eyechart.evaluators.answer_files.bundle import make_bundles, write_bundles

        folders = parse_data_dirs(data_dir or [], tuple(DATASETS))
        bundles = make_bundles(run, task or [], folders)
        folder = out or (run.parent if run.is_file() else run) / "submission"
        return [(bundle, write_bundles([bundle], folder)) for bundle in bundles]

    for bundle, paths in checked(work):
        print(f"{bundle.key.title}: {bundle.count:,} answers in {', '.join(map(str, paths))}")
        if bundle.note:
            print(bundle.note)
