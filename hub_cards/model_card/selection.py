"""Which results of a run are published, and why some must not be.

Refused are results that are not what a published number claims to be: not what the run's predictions give, of
synthetic data, of a part of the data, of private answers, or judged by a comparison of words. Nothing allows these.
Own data are recognised by their number of items; `as_own_data` publishes them under the name of their folder, never
under that of a benchmark. `allow_left_out` publishes results although rows were left out; the card says how many.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from eyechart.datasets_scripts import mini
from eyechart.datasets_scripts.catalog import DATASETS
from eyechart.datasets_scripts.common.errors import UsageError, unknown_name
from eyechart.datasets_scripts.official import ROUNDS
from eyechart.evaluators.evaluation.sampling import SAMPLE
from eyechart.evaluators.results.evaluation import AVERAGE, PRIVATE
from eyechart.evaluators.results.finished_runs import read_runs
from eyechart.evaluators.results.official import official_items, scored_items
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.evaluators.results.served import unconfirmed_names
from eyechart.evaluators.results.sources import GIVEN, OFFICIAL, is_mini_source
from eyechart.evaluators.tasks import known_task
from eyechart.hub_cards.model_card.benchmark import pretty_name
from eyechart.hub_cards.recomputing import Recomputing, judge_of
from eyechart.metrics.scoring.judging.lexical import LEXICAL


@dataclass(frozen=True)
class Published:
    """One result that may be published, and the run that it is of."""

    result: TaskResult
    environment: dict[str, Any]
    """When, where and with which versions it was made."""
    own_data: str = ""
    """Name of the folder of the publisher's own data; "" where it is of a benchmark."""

    @property
    def is_average(self) -> bool:
        """Whether it is an average over databases, which is no data set's."""
        return self.result.dataset == AVERAGE

    @property
    def data_name(self) -> str:
        """What its data are called, a sample of them as such."""
        name, sample = self.own_data or pretty_name(self.result.dataset), self.result.settings.get(SAMPLE)
        return name if sample is None else f"{name}, sample of {sample['n']:,} from {sample['of']:,}"


def select(
    runs: Sequence[str | Path],
    tasks: Sequence[str] = (),
    *,
    allow_left_out: bool = False,
    as_own_data: bool = False,
) -> list[Published]:
    """Read runs and choose what is published.

    Args:
        runs: Folders of finished runs of one model.
        tasks: Names of tasks; all that the runs hold if empty.
        allow_left_out: Publish results although rows were left out.
        as_own_data: Publish them as of data of one's own, under the names of their folders; averages over databases
            are then passed over.

    Returns:
        The results, in the order of the runs.

    Raises:
        UsageError: A task is in no run or, on the same data, in two, the runs are of several models, or a result must
            not be published; the message says why of each, and how to go on.
        DataError: A run cannot be read.
    """
    read = read_runs(runs)
    known = list(dict.fromkeys(key.task for run in read for key in run.tasks))
    for name in tasks:
        if name not in known:
            raise unknown_name("task in these runs", name, known)
    chosen = [
        (recomputing, key)
        for recomputing in map(Recomputing, read)
        for key in recomputing.run.tasks
        if (not tasks or key.task in tasks) and not (as_own_data and key.dataset == AVERAGE)
    ]
    if not chosen:
        raise UsageError("there is no result to publish: no task of these runs finished")
    results = [recomputing.run.tasks[key] for recomputing, key in chosen]
    _check_one_each(results)
    reasons = [
        why_not(result, allow_left_out=allow_left_out, as_own_data=as_own_data)
        or "; ".join(recomputing.check(key).discrepancies)
        for result, (recomputing, key) in zip(results, chosen, strict=True)
    ]
    _check_allowed(results, reasons)
    return [
        Published(result, recomputing.run.results.environment, _own_folder(result) if as_own_data else "")
        for result, (recomputing, _) in zip(results, chosen, strict=True)
    ]


def why_not(result: TaskResult, *, allow_left_out: bool = False, as_own_data: bool = False) -> str:
    """Why a result must not be published, and how to make one that may be; "" where it may be."""
    if known_task(result.task) is None:
        return "its task is your own, and cards hold results of eyechart's tasks"
    data = _data(result)
    count = len(left_out_public(result))
    if "is_mini" not in data:
        return "its settings do not describe its data; a results file is not to be edited, so repeat the run"
    if data["is_mini"] is not False or mini.is_release(data.get("source")):
        return "its data are synthetic demo data; run it on the real data, without --mini"
    if result.settings.get("limit") is not None:
        return f"run used --limit {result.settings['limit']}; repeat it without --limit"
    if result.settings.get("blind") is True:
        return "its questions were asked without the images; repeat it without blind"
    if result.scores is None:
        return "it has no score, as " + (" ".join(result.caveats) or "its answers are private")
    if not result.scores:
        return "it has no score; a results file is not to be edited, so repeat the run"
    if not result.complete:
        return f"it is incomplete: {' '.join(result.caveats) or 'scores were made of less than was to be asked'}"
    if names := unconfirmed_names(result.settings):
        return (
            f"the server answered as {', '.join(map(repr, names))}, and {result.settings['model'].get('name')!r} was "
            "asked for; if that is the same model, repeat the run with --served-name NAME, which asks no answer anew"
        )
    if judge_of(result) == LEXICAL:
        return f"it was judged by `{LEXICAL}`, a comparison of words; repeat it with --judge, which asks no answer anew"
    if count and not allow_left_out:
        return f"{count} rows were left out; --allow-left-out publishes it with a note that says so"
    if as_own_data:
        return _not_own(result)
    return _not_the_release(result, count)


def _not_own(result: TaskResult) -> str:
    """Why a result cannot be published under the name of its data's folder; "" where it can."""
    name = _own_folder(result)
    if not name:
        source = _data(result).get("source")
        return f"--as-own-data publishes under the name of the data's folder, and its data, {source!r}, tell none"
    if _plain(name) in {_plain(taken) for name in DATASETS for taken in (name, pretty_name(name))}:
        return f"the folder of its data is called {name!r}, as a benchmark's data are; give it a name of its own"
    return ""


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold()))


def _not_the_release(result: TaskResult, left_out: int) -> str:
    """Why a result cannot be of the official release as a whole; "" where it can."""
    official, scored = official_items(result), scored_items(result.scores or {}) or 0
    if _data(result).get("source") == GIVEN and result.dataset in DATASETS:
        return f"it is of a `Dataset` object, which does not tell whether it is {result.dataset}; give it another name"
    own = "use --as-own-data to publish it under your folder's name"
    if not official:
        # Nothing but its place tells that such data are the benchmark's.
        if result.dataset not in DATASETS or not _own_folder(result):
            return ""
        return (
            f"its data are of a folder, and how many items {result.dataset} ({result.split}) has is not known; run it "
            f"without --data-dir, so that the release is downloaded and its checksum compared, or {own}"
        )
    if (sample := result.settings.get(SAMPLE)) is not None and sample["of"] == official[0]:
        return ""
    # As on the leaderboard, the present release counts.
    if official[0] in (scored, scored + left_out):
        return ""
    # An image that is left out takes all of its pairs with it: one in each round.
    if left_out and "n_pairs" in (result.scores or {}) and official[0] - left_out * ROUNDS <= scored < official[0]:
        return ""
    earlier = " of an earlier release" if scored in official else ""
    found = f"it is of {scored:,} items{earlier}, and {result.dataset} ({result.split}) has {official[0]:,}"
    return f"{found}. Run the whole release, or {own}"


def _own_folder(result: TaskResult) -> str:
    """Name of the folder that a result's data were read from; "" where they were in none."""
    source = _data(result).get("source")
    if not isinstance(source, str) or source in (GIVEN, OFFICIAL) or is_mini_source(source):
        return ""
    return PurePath(source.replace("\\", "/")).name


def left_out_public(result: TaskResult) -> list[Any]:
    """What was left out for other reasons than that answers are private."""
    return [item for item in result.left_out if item.reason != PRIVATE]


def _data(result: TaskResult) -> dict[str, Any]:
    found = result.settings.get("data")
    return found if isinstance(found, dict) else {}


def _check_one_each(results: Sequence[TaskResult]) -> None:
    models = list(dict.fromkeys(result.model for result in results))
    if len(models) > 1:
        raise UsageError(f"the runs are of several models, and a repository holds one: {', '.join(models)}")
    seen = set()
    for result in results:
        key = (result.task, result.dataset, result.split)
        if key in seen:
            raise UsageError(
                f"{result.task} on {result.dataset} ({result.split}) is there twice; give runs that have it once"
            )
        seen.add(key)


def _check_allowed(results: Sequence[TaskResult], reasons: Sequence[str]) -> None:
    refused = [(result, reason) for result, reason in zip(results, reasons, strict=True) if reason]
    if not refused:
        return
    lines = [f"{result.task} on {result.dataset} ({result.split}): {reason}" for result, reason in refused]
    names = {result.task for result, _ in refused}
    others = list(dict.fromkeys(result.task for result in results if result.task not in names))
    error = UsageError("\n".join([f"{len(refused)} of {len(results)} results must not be published:", *lines]))
    if others:
        error.add_note(f"The others can be: {' '.join(f'--task {name}' for name in others)}")
    raise error
