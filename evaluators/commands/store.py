"""Show or prune stored answers, which `eyechart run` reuses instead of asking the model again."""

import datetime
from typing import Annotated

from rich.filesize import decimal

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.evaluation.options import cli_option
from eyechart.evaluators.runs.console import print_table, say


def info() -> None:
    """Show the store's location, contents and integrity."""
    from eyechart.evaluators.requests.store import ResponseStore, default_path

    with ResponseStore.open() as store:
        store.check()
        models, size = store.models(), store.size()
    say(f"{default_path()}: {_answers(sum(model.answers for model in models))}, {decimal(size)} on disk, undamaged")
    rows = [
        (model.name, f"{model.answers:,}", decimal(model.bytes), _minute(model.first), _minute(model.last))
        for model in models
    ]
    if rows:
        print_table(("model", "answers", "size", "first", "last"), rows)


def prune(
    model: Annotated[str | None, cli_option("Remove the answers of this model.")] = None,
    older_than: Annotated[float | None, cli_option("Remove answers older than this.", metavar="DAYS", min=0)] = None,
    unreadable: Annotated[bool, cli_option("Remove only unreadable answers.", "--unreadable")] = False,
    everything: Annotated[bool, cli_option("Remove all answers; works if the store is damaged too.", "--all")] = False,
) -> None:
    """Remove stored answers; later runs ask for them again. With two conditions, both must be met."""
    from eyechart.evaluators.requests.store import ResponseStore, clear

    if everything + unreadable + (model is not None or older_than is not None) != 1:
        raise UsageError("choose what to remove: --all; or --unreadable; or --model NAME, --older-than DAYS or both")
    if everything:
        removed = clear()
    with ResponseStore.open() as store:
        if unreadable:
            removed = {"unreadable": store.remove_unreadable()}
        elif not everything:
            removed = store.prune(model=model, older_than=older_than)
        store.compact()
    for name, count in removed.items():
        say(f"{name}: {_answers(count)} removed")
    say(f"{_answers(sum(removed.values()))} removed; the store now takes {decimal(store.size())}")


COMMANDS = (info, prune)


def _answers(count: int) -> str:
    return f"{count:,} answer{'' if count == 1 else 's'}"


def _minute(seconds: float) -> str:
    return f"{datetime.datetime.fromtimestamp(seconds):%Y-%m-%d %H:%M}"
