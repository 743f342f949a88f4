"""`eyechart publish`: put results into a model's card and repository on the Hub."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eyechart.datasets_scripts.catalog import DATASETS
from eyechart.datasets_scripts.common.errors import MissingFileError, UsageError, unknown_name
from eyechart.evaluators.commands.command import Command
from eyechart.evaluators.requests.values import printable
from eyechart.evaluators.runs.console import checked, say

if TYPE_CHECKING:
    from eyechart.hub_cards.model_card.publication import Change


app = typer.Typer(add_completion=False)


@app.command(cls=Command)
def publish(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of finished runs of one model.")],
    model_repo: Annotated[str, typer.Option(metavar="ID", help="The model's repository on the Hub.")],
    task: Annotated[list[str] | None, typer.Option(help="Publish only this task. Repeatable.")] = None,
    dataset_repo: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DATASET=ID[@REVISION]",
            help="Benchmark repository of a dataset, made with `eyechart export --benchmark`. Results on that dataset "
            "also go into .eval_results. Repeatable.",
        ),
    ] = None,
    source: Annotated[
        str | None, typer.Option(metavar="URL", help="Address of the run's report or logs, which the results link to.")
    ] = None,
    card: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Local copy of the model's card, to use instead of the card on the Hub."),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Write the changed files to this folder.")] = None,
    push: Annotated[
        bool, typer.Option("--push", help="Write to the Hub. Without it, only show what would change.")
    ] = False,
    create_pr: Annotated[
        bool,
        typer.Option("--create-pr", help="With --push: open a pull request instead of committing to the main branch."),
    ] = False,
    same_model: Annotated[
        bool,
        typer.Option("--same-model", help="Confirm that the repository contains the run's model under another name."),
    ] = False,
    allow_left_out: Annotated[
        bool, typer.Option("--allow-left-out", help="Publish even if rows were left out; the card says how many.")
    ] = False,
    data_name: Annotated[
        str,
        typer.Option(metavar="NAME", help="Publish the data as your own, not a benchmark's, under this name."),
    ] = "",
) -> None:
    """Add results to a model's card and repository on the Hub. Only shows the changes, unless --push is given.

    Results that eyechart published earlier are replaced. The rest of the card and all other results stay unchanged.
    """

    def prepare() -> tuple["list[Change]", str, list[str]]:
        from eyechart.hub_cards.model_card.publication import changes, gaps
        from eyechart.hub_cards.model_card.selection import Consent, select

        if push and card is not None:
            raise UsageError("--card names a local copy, but --push changes the card on the Hub; leave out one")
        if create_pr and not push:
            raise UsageError("--create-pr has no effect without --push")
        if source is not None and not re.fullmatch(r"https?://[^\s<>()]+", source):
            raise UsageError(f"--source {source!r} is not the address of a web page; expected https://...")
        repos = _data_repos(dataset_repo or [])
        consent = Consent(allow_left_out, data_name.strip(), same_model, repos, source)
        published = select(runs, model_repo, task or [], consent)
        files, revision = _files(model_repo, card)
        return changes(published, model_repo, files), revision, gaps(published)

    found, revision, missing = checked(prepare)
    for change in found:
        print(printable(change.diff()), end="")
    for line in missing:
        say(line)
    if not found:
        print("Nothing to change: the repository already contains these results")
        return
    if out is not None:
        from eyechart.hub_cards.model_card.publication import write_changes

        checked(lambda: write_changes(found, out))
        say(f"Written to {out}: {', '.join(change.path for change in found)}")
    if push:
        from eyechart.hub_cards.model_card.publication import push_changes

        address = checked(lambda: push_changes(model_repo, found, parent=revision, create_pr=create_pr))
        say(f"Published: {address}")
    elif out is None:
        print("Nothing was written. Use --push to write to the Hub, or --out FOLDER to write to disk.")


def _files(repo: str, card: Path | None) -> tuple[dict[str, str], str]:
    """The texts of the repository's files by path, and their commit."""
    from eyechart.hub_cards.model_card.publication import CARD, ENTRIES, decoded, read_files

    if card is None:
        return read_files(repo)
    entries = card.parent / ENTRIES
    try:
        files = {CARD: card.read_bytes(), **({ENTRIES: entries.read_bytes()} if entries.is_file() else {})}
    except OSError as error:
        raise MissingFileError(f"cannot be read as a card: {error}", path=card) from error
    return {path: decoded(content, str(card.parent / path)) for path, content in files.items()}, ""


def _data_repos(values: list[str]) -> dict[str, str]:
    repos: dict[str, str] = {}
    for value in values:
        name, equals, repo = value.partition("=")
        if not equals or not all(repo.split("@")) or name in repos:
            raise UsageError(
                f"--dataset-repo {value!r} is not DATASET=ID or DATASET=ID@REVISION, or names DATASET twice"
            )
        if name not in DATASETS:
            raise unknown_name("dataset", name, DATASETS, "in --dataset-repo")
        repos[name] = repo
    return repos
