"""Selects the results of a run to publish, and gives the reasons for refused ones.

Always refused are results that contradict the run's predictions, that use synthetic data, only a part of the data or
private answers, and results scored by word overlap. Results of task files are published under the name of
their data as the file gives it; their scores are not recomputed. Other data that are not a benchmark's are recognised
by their number of items; `data_name` publishes them under that name, never under a benchmark's. `allow_left_out`
publishes results although rows were left out; the card says how many.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eyechart.datasets_scripts import mini
from eyechart.datasets_scripts.catalog import DATASETS
from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.datasets_scripts.official import ROUNDS
from eyechart.evaluators.evaluation.sampling import SAMPLE
from eyechart.evaluators.published.names import match_tasks
from eyechart.evaluators.results.evaluation import AVERAGE, PRIVATE
from eyechart.evaluators.results.finished_runs import TaskKey, read_runs, result_title
from eyechart.evaluators.results.official import official_items, scored_items
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.evaluators.results.served import unconfirmed_names
from eyechart.evaluators.results.sources import GIVEN, OFFICIAL
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
    """The name of the publisher's own data; "" for a benchmark's data."""

    @property
    def is_average(self) -> bool:
        """Whether it is an average over databases, which belongs to no single dataset."""
        return self.result.dataset == AVERAGE

    @property
    def data_id(self) -> str:
        """The id of its data on the Hub, else their name."""
        dataset, config = self.result.dataset, _data(self.result).get("config")
        on_hub = DATASETS[dataset].hub_id(config) if dataset in DATASETS else ""
        return self.own_data or on_hub or dataset

    @property
    def data_name(self) -> str:
        """The title of its data; for a sample, also its size."""
        name, sample = self.own_data or pretty_name(self.result.dataset), self.result.settings.get(SAMPLE)
        return name if sample is None else f"{name}, sample of {sample['n']:,} from {sample['of']:,}"


@dataclass(frozen=True)
class Consent:
    """What the publisher confirms."""

    allow_left_out: bool = False
    """Publish results although rows were left out."""
    data_name: str = ""
    """Publish the data as the publisher's own, under this name and without averages over databases."""
    same_model: bool = False
    """The repository contains the run's model under another name."""


def select(
    runs: Sequence[str | Path], repo: str, tasks: Sequence[str] = (), consent: Consent = Consent()
) -> list[Published]:
    """Read runs and select the results to publish.

    Args:
        runs: Folders of finished runs of one model.
        repo: The model's repository on the Hub, "user/name".
        tasks: Names of tasks; if empty, all tasks in the runs.
        consent: What the publisher confirms.

    Returns:
        The results, in the order of the runs.

    Raises:
        UsageError: A task is in no run, or in several on the same data; the runs are of several models, or of another
            model than the repository; or a result cannot be published. The message gives every reason for each result,
            and what to do.
        DataError: A run cannot be read.
    """
    read = read_runs(runs)
    tasks = match_tasks(tasks, [key.task for run in read for key in run.tasks], "in these runs")
    chosen = [
        (recomputing, key)
        for recomputing in map(Recomputing, read)
        for key in recomputing.run.tasks
        if key.task in tasks and not (consent.data_name and key.dataset == AVERAGE)
    ]
    if not chosen:
        raise UsageError("no results to publish: no task in these runs finished")
    results = [recomputing.run.tasks[key] for recomputing, key in chosen]
    _check_one_each(results)
    model, reasons = results[0].model, [_reasons(*one, consent) for one in chosen]
    first = ""
    if model != repo and not consent.same_model:
        first = (
            f"the run's model is {model!r}, but the repository is {repo!r}; "
            "use --same-model if the repository contains this model"
        )
    _check_allowed(results, reasons, first)
    return [
        Published(result, recomputing.run.results.environment, _own_name(result, consent))
        for result, (recomputing, _) in zip(results, chosen, strict=True)
    ]


def _reasons(recomputing: Recomputing, key: TaskKey, consent: Consent) -> list[str]:
    """Why a result cannot be published; its scores are recomputed if nothing else speaks against it."""
    result = recomputing.run.tasks[key]
    if reasons := list(why_not(result, consent)):
        return reasons
    is_own = known_task(result.task) is None
    return [] if is_own else list(filter(None, ["; ".join(recomputing.check(key).discrepancies)]))


def why_not(result: TaskResult, consent: Consent) -> Iterator[str]:
    """Every reason why a result cannot be published, and what to do."""
    data = _data(result)
    if "is_mini" not in data:
        yield "the settings do not describe the data; results files must not be edited, so repeat the run"
        return
    if data["is_mini"] is not False or mini.is_release(data.get("source")):
        yield "the data are synthetic demo data; run it on the real data, without --mini"
        return
    if result.settings.get("limit") is not None:
        yield f"run used --limit {result.settings['limit']}; repeat the run without --limit"
    if result.settings.get("blind") is True:
        yield "the questions were asked without the images; repeat the run without --blind"
    if result.scores is None:
        yield f"no score: {' '.join(result.caveats) or 'the answers are private'}"
    elif not result.scores:
        yield "no score; results files must not be edited, so repeat the run"
    elif not result.complete:
        yield f"incomplete: {' '.join(result.caveats) or 'the scores are based on fewer requests than planned'}"
    if names := unconfirmed_names(result.settings):
        yield (
            f"the server answered as {', '.join(map(repr, names))}, but {result.settings['model'].get('name')!r} was "
            "requested; if that is the same model, repeat the run with --served-name NAME (stored replies are reused)"
        )
    if judge_of(result) == LEXICAL:
        yield f"scored by word overlap (`{LEXICAL}`); repeat the run with --judge (stored replies are reused)"
    count = len(left_out_public(result))
    if count and not consent.allow_left_out:
        yield f"{count} rows were left out; use --allow-left-out to publish it with a caveat"
    if not result.scores or result.settings.get("limit") is not None:
        return
    name = _own_name(result, consent)
    if _plain(name) in {_plain(taken) for name in DATASETS for taken in (name, pretty_name(name))}:
        yield f"{name!r} is like the name of a benchmark; choose another with --data-name NAME"
    elif not name and (reason := _not_the_release(result, count)):
        yield reason


def _own_name(result: TaskResult, consent: Consent) -> str:
    """The name under which own data are published: as given here or in the task file; "" for a benchmark's data."""
    if consent.data_name or known_task(result.task) is not None or result.dataset in DATASETS:
        return consent.data_name
    source = str(_data(result).get("source"))
    return source if re.fullmatch(r"[\w.-]+/[\w.-]+", source, re.ASCII) else result.dataset


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold())) if name else name


def _not_the_release(result: TaskResult, left_out: int) -> str:
    """Why a result does not cover the complete official release; "" if it may."""
    official, scored = official_items(result), scored_items(result.scores or {}) or 0
    own = "publish it as data of your own, under a name that is not a benchmark's: --data-name NAME"
    source = _data(result).get("source")
    if source == GIVEN and result.dataset in DATASETS:
        return f"the data were a `Dataset` object, which may not be {result.dataset}; {own}"
    if not official:
        # Such data are recognised as a benchmark's only by their source.
        if result.dataset not in DATASETS or source == OFFICIAL:
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


def left_out_public(result: TaskResult) -> list[Any]:
    """The items that were left out for other reasons than private answers."""
    return [item for item in result.left_out if item.reason != PRIVATE]


def _data(result: TaskResult) -> dict[str, Any]:
    found = result.settings.get("data")
    return found if isinstance(found, dict) else {}


def _title(result: TaskResult) -> str:
    return result_title(result.task, result.dataset, result.split)


def _check_one_each(results: Sequence[TaskResult]) -> None:
    models = list(dict.fromkeys(result.model for result in results))
    if len(models) > 1:
        raise UsageError(f"the runs are of several models, but a repository has one: {', '.join(models)}")
    seen = set()
    for result in results:
        key = (result.task, result.dataset, result.split)
        if key in seen:
            raise UsageError(f"{_title(result)} is in the runs twice; name only one run with it")
        seen.add(key)


def _check_allowed(results: Sequence[TaskResult], reasons: Sequence[Sequence[str]], first: str) -> None:
    """Raise one error with everything that speaks against a publication."""
    refused = [(result, found) for result, found in zip(results, reasons, strict=True) if found]
    if not refused and not first:
        return
    lines = [first] if first else []
    if refused:
        lines.append(f"{len(refused)} of {len(results)} results cannot be published:")
        lines += [f"{_title(result)}: {'; '.join(found)}" for result, found in refused]
    names = {result.task for result, _ in refused}
    others = list(dict.fromkeys(result.task for result in results if result.task not in names))
    error = UsageError("\n".join(lines))
    if refused and others:
        error.add_note(f"To publish the others: {' '.join(f'--task {name}' for name in others)}")
    raise error
