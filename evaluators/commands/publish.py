"""`eyechart publish`: put results into a model's card and repository on the Hub."""

import re
from pathlib import Path
from typing import Annotated

import typer

from eyechart.datasets_scripts.catalog import DATASETS
from eyechart.datasets_scripts.common.errors import UsageError, unknown_name
from eyechart.datasets_scripts.common.whole import write_whole, writing
from eyechart.evaluators.commands.arguments import split_pairs
from eyechart.evaluators.evaluation.options import Texts, cli_option
from eyechart.evaluators.requests.values import printable
from eyechart.evaluators.results.items import PREDICTIONS_FILE
from eyechart.evaluators.results.results_file import RESULTS_FILE
from eyechart.evaluators.runs.console import say

_DATASET_REPO_HELP = """Benchmark repository of a dataset, made with `eyechart export --benchmark`; results on that
dataset also go into .eval_results. Repeatable."""

_LOGS_HELP = """Bucket for the runs with their reports, uploaded with --push; a new one is private. The results link to
it and name the newest revision of each --dataset-repo."""

_REPO_FORM = "DATASET=ID or DATASET=ID@REVISION"


def publish(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of finished runs of one model.")],
    model_repo: Annotated[str, cli_option("The model's repository on the Hub.", metavar="ID")],
    task: Annotated[Texts, cli_option("Publish only this task. Repeatable.")] = None,
    dataset_repo: Annotated[Texts, cli_option(_DATASET_REPO_HELP, metavar="DATASET=ID[@REVISION]")] = None,
    source: Annotated[str | None, cli_option("Address of the report or logs to link to.", metavar="URL")] = None,
    logs: Annotated[str | None, cli_option(_LOGS_HELP, metavar="hf://buckets/OWNER/NAME")] = None,
    card: Annotated[Path | None, cli_option("Local copy of the model's card to use.", metavar="FILE")] = None,
    out: Annotated[Path | None, cli_option("Write the changed files to this folder.", metavar="FOLDER")] = None,
    push: Annotated[bool, cli_option("Write to the Hub. Without it, only show what would change.", "--push")] = False,
    create_pr: Annotated[bool, cli_option("With --push: open a pull request instead.", "--create-pr")] = False,
    same_model: Annotated[bool, cli_option("Confirm that it is the run's model.", "--same-model")] = False,
    allow_left_out: Annotated[bool, cli_option("Publish even if rows were left out.", "--allow-left-out")] = False,
    data_name: Annotated[str, cli_option("Publish your own data under this name.", metavar="NAME")] = "",
) -> None:
    """Add results to a model's card and repository on the Hub. Only shows the changes, unless --push is given.

    Results that eyechart published earlier are replaced. The rest of the card and all other results stay unchanged.
    """
    from eyechart.evaluators.report import REPORT_FILE, write_report
    from eyechart.hub_cards.jobs import Bucket, data_revision, upload
    from eyechart.hub_cards.model_card.publication import changes, gaps, push_changes
    from eyechart.hub_cards.model_card.selection import Consent, select

    if push and card is not None:
        raise UsageError("--card names a local copy, but --push changes the card on the Hub; leave out one")
    if create_pr and not push:
        raise UsageError("--create-pr has no effect without --push")
    if source is not None and not re.fullmatch(r"https?://[^\s<>()]+", source):
        raise UsageError(f"--source {source!r} is not the address of a web page; expected https://...")
    repos, bucket, folders = _data_repos(dataset_repo or []), None, list[Path]()
    if logs is not None:
        if source is not None:
            raise UsageError(f"--logs {logs} and --source {source} are both given; leave out one")
        bucket = Bucket.of("--logs", logs)
        # A results file stands for its folder.
        folders = [(run.parent if run.is_file() else run).resolve() for run in runs]
        if len({folder.name for folder in folders}) < len(folders):
            raise UsageError(f"--logs {logs}: two runs have folders of the same name; rename one")
        repos = {name: repo if "@" in repo else f"{repo}@{data_revision(repo)}" for name, repo in repos.items()}
        source = bucket.page(folders[0].name if len(folders) == 1 else "")
    consent = Consent(allow_left_out, data_name.strip(), same_model, repos, source)
    published = select(runs, model_repo, task or [], consent)
    files, revision = _files(model_repo, card)
    changed, missing = changes(published, model_repo, files), gaps(published)
    for change in changed:
        print(printable(change.diff()), end="")
    for line in missing:
        say(line)
    if not changed:
        say("Nothing to change: the repository already contains these results")
        return
    if out is not None:
        with writing(f"--out {out}"):
            for change in changed:
                write_whole(out / change.path, change.after)
        say(f"Written to {out}: {', '.join(change.path for change in changed)}")
    if push and bucket is not None:
        for folder in folders:
            if not (folder / REPORT_FILE).is_file():
                write_report([folder], files=False)
        of_run = (RESULTS_FILE, PREDICTIONS_FILE, REPORT_FILE)
        paths = [folder / file for folder in folders for file in of_run if (folder / file).is_file()]
        places = {str(path): f"{path.parent.name}/{path.name}" for path in paths}
        upload(list(places.items()), bucket)
        say(f"Uploaded to {bucket.address}: {', '.join(places.values())}")
    if push:
        say(f"Published: {push_changes(model_repo, changed, parent=revision, create_pr=create_pr)}")
    elif out is None:
        say("Nothing was written. Use --push to write to the Hub, or --out FOLDER to write to disk.")


def _files(repo: str, card: Path | None) -> tuple[dict[str, str], str]:
    """The texts of the repository's files by path, and their commit."""
    from eyechart.hub_cards.model_card.publication import CARD, ENTRIES, read_files, read_text

    if card is None:
        return read_files(repo)
    files = {CARD: card, ENTRIES: card.parent / ENTRIES}
    return {path: read_text(file, str(file)) for path, file in files.items() if path == CARD or file.exists()}, ""


def _data_repos(values: list[str]) -> dict[str, str]:
    repos = split_pairs("--dataset-repo", values, _REPO_FORM)
    for name, repo in repos.items():
        if name not in DATASETS:
            raise unknown_name("dataset", name, DATASETS, "in --dataset-repo")
        if not all(repo.split("@")):
            raise UsageError(f"--dataset-repo {name}={repo} is not {_REPO_FORM}")
    return repos
