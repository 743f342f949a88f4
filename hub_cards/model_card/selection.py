"""Selects the results of a run to publish, and gives the reasons for refused ones.

Always refused are results that contradict the run's predictions, that use synthetic data, only a part of the data or
private answers, and results scored by word overlap. Results of task files are published under the name of their data as
the file gives it; their scores are not recomputed. Other data that are not a benchmark's are recognised by their number
of items; `data_name` publishes them under that name, never under a benchmark's.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eyechart.datasets_scripts import mini
from eyechart.datasets_scripts.catalog import DATASETS
from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.datasets_scripts.official import ROUNDS
from eyechart.evaluators.evaluation.sampling import SAMPLE
from eyechart.evaluators.results.finished_runs import TaskKey, read_runs, result_title
from eyechart.evaluators.results.official import official_items, scored_items
from eyechart.evaluators.results.results_file import AVERAGE, PRIVATE, TaskResult
from eyechart.evaluators.results.served import unconfirmed_names
from eyechart.evaluators.results.sources import GIVEN, OFFICIAL
from eyechart.evaluators.tasks import known_task, match_tasks
from eyechart.hub_cards.model_card.benchmark import pretty_name
from eyechart.hub_cards.recomputing import Recomputing, judge_of
from eyechart.metrics.score_spec import value_at
from eyechart.metrics.scores import PAIRS
from eyechart.metrics.scoring.judging.lexical import LEXICAL


@dataclass(frozen=True)
class Consent:
    """What the publisher confirms and adds."""

    allow_left_out: bool = False
    """Publish results although rows were left out; the card says how many."""
    data_name: str = ""
    """Publish the data as the publisher's own, under this name and without averages over databases."""
    same_model: bool = False
    """The repository contains the run's model under another name."""
    data_repos: Mapping[str, str] = field(default_factory=dict)
    """Benchmark repositories on the Hub by dataset name, as ID or ID@REVISION, each with an `eval.yaml`."""
    source: str | None = None
    """Address of the run's report or logs."""


@dataclass(frozen=True)
class Published:
    """One result that can be published."""

    result: TaskResult
    environment: dict[str, Any]
    """The time, machine and package versions of the run."""
    own_data: str
    """The name of the publisher's own data; "" for a benchmark's data."""
    data_repo: str
    """The benchmark's repository on the Hub, as ID or ID@REVISION; "" if there is none."""
    source: str | None
    """Address of the run's report or logs."""

    @property
    def is_average(self) -> bool:
        """Whether it is an average over databases, which belongs to no single dataset."""
        return self.result.dataset == AVERAGE

    @property
    def data_on_hub(self) -> tuple[str, str | None]:
        """The id of its data on the Hub, else their name; and their revision, None if unknown."""
        if self.data_repo:
            repo, _, revision = self.data_repo.partition("@")
            return repo, revision or None
        dataset, data = self.result.dataset, self.result.settings["data"]
        on_hub = DATASETS[dataset].hub_id(data.get("config")) if dataset in DATASETS else ""
        return self.own_data or on_hub or dataset, data.get("revision") or None

    @property
    def data_name(self) -> str:
        """The title of its data; for a sample, also its size."""
        name, sample = self.own_data or pretty_name(self.result.dataset), self.result.settings.get(SAMPLE)
        return name if sample is None else f"{name}, sample of {sample['n']:,} from {sample['of']:,}"

    @property
    def left_out(self) -> int:
        """The number of items that were left out for other reasons than private answers."""
        return _left_out(self.result)


def select(
    runs: Sequence[str | Path], repo: str, tasks: Sequence[str] = (), consent: Consent = Consent()
) -> list[Published]:
    """Read runs and select the results to publish.

    Args:
        runs: Folders of finished runs of one model.
        repo: The model's repository on the Hub, "user/name".
        tasks: Names of tasks; if empty, all tasks in the runs.
        consent: What the publisher confirms and adds.

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
        (recomputing, key, recomputing.run.tasks[key])
        for recomputing in map(Recomputing, read)
        for key in recomputing.run.tasks
        if key.task in tasks and not (consent.data_name and key.dataset == AVERAGE)
    ]
    results = [result for _, _, result in chosen]
    if not results:
        raise UsageError("no results to publish: no task in these runs finished")
    models, titles = list(dict.fromkeys(result.model for result in results)), list(map(_title, results))
    if len(models) > 1:
        raise UsageError(f"the runs are of several models, but a repository has one: {', '.join(models)}")
    if twice := next((title for title in titles if titles.count(title) > 1), ""):
        raise UsageError(f"{twice} is in the runs twice; name only one run with it")
    reasons = {title: _reasons(*choice, consent) for title, choice in zip(titles, chosen, strict=True)}
    refusal = [f"{title}: {'; '.join(why)}" for title, why in reasons.items() if why]
    if refusal:
        refusal.insert(0, f"{len(refusal)} of {len(results)} results cannot be published:")
    if models[0] != repo and not consent.same_model:
        advice = "use --same-model if the repository contains this model"
        refusal.insert(0, f"the run's model is {models[0]!r}, but the repository is {repo!r}; {advice}")
    if refusal:
        refused = {result.task for result in results if reasons[_title(result)]}
        others = dict.fromkeys(result.task for result in results if result.task not in refused)
        error = UsageError("\n".join(refusal))
        if refused and others:
            error.add_note(f"To publish the others: {' '.join(f'--task {name}' for name in others)}")
        raise error
    published = []
    for recomputing, _, result in chosen:
        own_data = _own_name(result, consent)
        data_repo = "" if own_data else consent.data_repos.get(result.dataset, "")
        published.append(Published(result, recomputing.run.results.environment, own_data, data_repo, consent.source))
    return published


def _reasons(recomputing: Recomputing, key: TaskKey, result: TaskResult, consent: Consent) -> list[str]:
    """Why a result cannot be published; its scores are recomputed if nothing else speaks against it."""
    reasons = list(_why_not(result, consent))
    return reasons or ([] if known_task(result.task) is None else list(recomputing.check(key).discrepancies))


def _why_not(result: TaskResult, consent: Consent) -> Iterator[str]:
    """Every reason against a result except that its predictions contradict it, and what to do."""
    is_mini, limit, left_out = (
        value_at(result.settings, "data.is_mini"),
        result.settings.get("limit"),
        _left_out(result),
    )
    if is_mini is None:
        yield "the settings do not describe the data; results files must not be edited, so repeat the run"
        return
    if is_mini is not False or mini.is_release(value_at(result.settings, "data.source")):
        yield "the data are synthetic demo data; run it on the real data, without --mini"
        return
    if limit is not None:
        yield f"run used --limit {limit}; repeat the run without --limit"
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
            "requested; if that is the same model, repeat the run with --model-arg served_name=NAME (stored replies "
            "are reused)"
        )
    if judge_of(result) == LEXICAL:
        yield f"scored by word overlap (`{LEXICAL}`); repeat the run with --judge (stored replies are reused)"
    if left_out and not consent.allow_left_out:
        yield f"{left_out} rows were left out; use --allow-left-out to publish it with a caveat"
    if not result.scores or limit is not None:
        return
    name = _own_name(result, consent)
    if name and _plain(name) in {_plain(taken) for dataset in DATASETS for taken in (dataset, pretty_name(dataset))}:
        yield f"{name!r} is like the name of a benchmark; choose another with --data-name NAME"
    elif not name:
        yield from _not_the_release(result, left_out)


def _own_name(result: TaskResult, consent: Consent) -> str:
    """The name under which own data are published: as given here or in the task file; "" for a benchmark's data."""
    if consent.data_name or known_task(result.task) is not None or result.dataset in DATASETS:
        return consent.data_name
    source = str(value_at(result.settings, "data.source"))
    return source if re.fullmatch(r"[\w.-]+/[\w.-]+", source, re.ASCII) else result.dataset


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold()))


def _not_the_release(result: TaskResult, left_out: int) -> Iterator[str]:
    """Why a result does not cover the complete official release."""
    official, scored = official_items(result), scored_items(result.scores or {}) or 0
    data, source = f"{result.dataset} ({result.split})", value_at(result.settings, "data.source")
    remedy = "publish it as data of your own, under a name that is not a benchmark's: --data-name NAME"
    if source == GIVEN and result.dataset in DATASETS:
        yield f"the data were a `Dataset` object, which may not be {result.dataset}; {remedy}"
        return
    if not official:
        # Such data are recognised as a benchmark's only by their source.
        if result.dataset in DATASETS and source != OFFICIAL:
            yield (
                f"the data are from a folder, and the number of items of {data} is unknown; run it without --data-dir "
                f"to download the release and verify its checksum, or {remedy}"
            )
        return
    # As on the leaderboard, the current release counts.
    sample, lacking = result.settings.get(SAMPLE), official[0] - scored
    # A missing image leaves out all its pairs: one in each round.
    task = known_task(result.task)
    most = left_out * ROUNDS if task is not None and task.metric == PAIRS else 0
    is_whole = lacking in (0, left_out) or 0 < lacking <= most
    if not is_whole and not (sample is not None and sample["of"] == official[0]):
        earlier = " of an earlier release" if scored in official else ""
        yield (
            f"the result is on {scored:,} items{earlier}, but {data} has {official[0]:,}. Run the complete release, or "
            f"{remedy}"
        )


def _left_out(result: TaskResult) -> int:
    return sum(item.reason != PRIVATE for item in result.left_out)


def _title(result: TaskResult) -> str:
    return result_title(result.task, result.dataset, result.split)
