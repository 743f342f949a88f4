"""Selects the results of a run to publish, and gives the reasons for refused ones.

Always refused are results that contradict the run's predictions, that use synthetic data, only a part of the data or
private answers, and results judged by a comparison of words. Own data are recognised by their number of items;
`as_own_data` publishes them under the name of their folder, never under a benchmark's name. `allow_left_out` publishes
results although rows were left out; the card says how many.
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
    """One result that can be published, and the environment of its run."""

    result: TaskResult
    environment: dict[str, Any]
    """The time, machine and package versions of the run."""
    own_data: str = ""
    """The folder name of the publisher's own data; "" for a benchmark's data."""

    @property
    def is_average(self) -> bool:
        """Whether it is an average over databases, which belongs to no single dataset."""
        return self.result.dataset == AVERAGE

    @property
    def data_name(self) -> str:
        """The title of its data; for a sample, also its size."""
        name, sample = self.own_data or pretty_name(self.result.dataset), self.result.settings.get(SAMPLE)
        return name if sample is None else f"{name}, sample of {sample['n']:,} from {sample['of']:,}"


def select(
    runs: Sequence[str | Path],
    tasks: Sequence[str] = (),
    *,
    allow_left_out: bool = False,
    as_own_data: bool = False,
) -> list[Published]:
    """Read runs and select the results to publish.

    Args:
        runs: Folders of finished runs of one model.
        tasks: Names of tasks; if empty, all tasks in the runs.
        allow_left_out: Publish results although rows were left out.
        as_own_data: The data are the publisher's own: publish them under the names of their folders, without averages
            over databases.

    Returns:
        The results, in the order of the runs.

    Raises:
        UsageError: A task is in no run, or in several on the same data; the runs are of several models; or a result
            cannot be published. The message gives the reason for each result, and what to do.
        DataError: A run cannot be read.
    """
    read = read_runs(runs)
    known = list(dict.fromkeys(key.task for run in read for key in run.tasks))
    for name in tasks:
        if name not in known:
            raise unknown_name("task", name, known, "in these runs")
    chosen = [
        (recomputing, key)
        for recomputing in map(Recomputing, read)
        for key in recomputing.run.tasks
        if (not tasks or key.task in tasks) and not (as_own_data and key.dataset == AVERAGE)
    ]
    if not chosen:
        raise UsageError("no results to publish: no task in these runs finished")
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
    """Why a result cannot be published, and what to do; "" if it can."""
    if known_task(result.task) is None:
        return "the task is your own; cards contain only results of eyechart's tasks"
    data = _data(result)
    count = len(left_out_public(result))
    if "is_mini" not in data:
        return "the settings do not describe the data; results files must not be edited, so repeat the run"
    if data["is_mini"] is not False or mini.is_release(data.get("source")):
        return "the data are synthetic demo data; run it on the real data, without --mini"
    if result.settings.get("limit") is not None:
        return f"run used --limit {result.settings['limit']}; repeat the run without --limit"
    if result.settings.get("blind") is True:
        return "the questions were asked without the images; repeat the run without --blind"
    if result.scores is None:
        return f"no score: {' '.join(result.caveats) or 'the answers are private'}"
    if not result.scores:
        return "no score; results files must not be edited, so repeat the run"
    if not result.complete:
        return f"incomplete: {' '.join(result.caveats) or 'the scores are based on fewer requests than planned'}"
    if names := unconfirmed_names(result.settings):
        return (
            f"the server answered as {', '.join(map(repr, names))}, but {result.settings['model'].get('name')!r} was "
            "requested; if that is the same model, repeat the run with --served-name NAME (stored replies are reused)"
        )
    if judge_of(result) == LEXICAL:
        return f"judged by `{LEXICAL}`, a comparison of words; repeat the run with --judge (stored replies are reused)"
    if count and not allow_left_out:
        return f"{count} rows were left out; use --allow-left-out to publish it with a caveat"
    if as_own_data:
        return _not_own(result)
    return _not_the_release(result, count)


def _not_own(result: TaskResult) -> str:
    """Why a result cannot be published under the name of its data folder; "" if it can."""
    name = _own_folder(result)
    if not name:
        source = _data(result).get("source")
        return f"--as-own-data publishes under the name of the data folder, but the data source {source!r} has none"
    if _plain(name) in {_plain(taken) for name in DATASETS for taken in (name, pretty_name(name))}:
        return f"the data folder is called {name!r}, like a benchmark; rename the folder and repeat the run"
    return ""


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold()))


def _not_the_release(result: TaskResult, left_out: int) -> str:
    """Why a result does not cover the complete official release; "" if it may."""
    official, scored = official_items(result), scored_items(result.scores or {}) or 0
    if _data(result).get("source") == GIVEN and result.dataset in DATASETS:
        return f"the data were a `Dataset` object, which may not be {result.dataset}; give it another name"
    own = "use --as-own-data to publish it under your folder's name"
    if not official:
        # Such data are recognised as a benchmark's only by their source.
        if result.dataset not in DATASETS or not _own_folder(result):
            return ""
        return (
            f"the data are from a folder, and the number of items of {result.dataset} ({result.split}) is unknown; run "
            f"it without --data-dir to download the release and verify its checksum, or {own}"
        )
    if (sample := result.settings.get(SAMPLE)) is not None and sample["of"] == official[0]:
        return ""
    # As on the leaderboard, the current release counts.
    if official[0] in (scored, scored + left_out):
        return ""
    # A missing image leaves out all its pairs: one in each round.
    if left_out and "n_pairs" in (result.scores or {}) and official[0] - left_out * ROUNDS <= scored < official[0]:
        return ""
    earlier = " of an earlier release" if scored in official else ""
    found = f"the result is on {scored:,} items{earlier}, but {result.dataset} ({result.split}) has {official[0]:,}"
    return f"{found}. Run the complete release, or {own}"


def _own_folder(result: TaskResult) -> str:
    """The name of the folder from which a result's data were read; "" if they were not in a folder."""
    source = _data(result).get("source")
    if not isinstance(source, str) or source in (GIVEN, OFFICIAL) or is_mini_source(source):
        return ""
    return PurePath(source.replace("\\", "/")).name


def left_out_public(result: TaskResult) -> list[Any]:
    """The items that were left out for other reasons than private answers."""
    return [item for item in result.left_out if item.reason != PRIVATE]


def _data(result: TaskResult) -> dict[str, Any]:
    found = result.settings.get("data")
    return found if isinstance(found, dict) else {}


def _check_one_each(results: Sequence[TaskResult]) -> None:
    models = list(dict.fromkeys(result.model for result in results))
    if len(models) > 1:
        raise UsageError(f"the runs are of several models, but a repository has one: {', '.join(models)}")
    seen = set()
    for result in results:
        key = (result.task, result.dataset, result.split)
        if key in seen:
            raise UsageError(
                f"{result.task} on {result.dataset} ({result.split}) is in the runs twice; name only one run with it"
            )
        seen.add(key)


def _check_allowed(results: Sequence[TaskResult], reasons: Sequence[str]) -> None:
    refused = [(result, reason) for result, reason in zip(results, reasons, strict=True) if reason]
    if not refused:
        return
    lines = [f"{result.task} on {result.dataset} ({result.split}): {reason}" for result, reason in refused]
    names = {result.task for result, _ in refused}
    others = list(dict.fromkeys(result.task for result in results if result.task not in names))
    error = UsageError("\n".join([f"{len(refused)} of {len(results)} results cannot be published:", *lines]))
    if others:
        error.add_note(f"To publish the others: {' '.join(f'--task {name}' for name in others)}")
    raise error
