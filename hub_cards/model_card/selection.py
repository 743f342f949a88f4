"""Selects the results of a run to publish, and gives the reasons for refused ones.

Data other than a release are known to be a benchmark's by their number of items.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from eyechart.datasets_scripts.catalog import DATASETS
from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.datasets_scripts.official import ROUNDS
from eyechart.evaluators.results.finished_runs import (
    GIVEN,
    OFFICIAL,
    extent,
    is_part,
    load_runs,
    official_items,
    scored_items,
)
from eyechart.evaluators.results.results_file import AVERAGE, PRIVATE, SAMPLE, TaskResult, check_unedited
from eyechart.evaluators.tasks import headline_of, known_task, match_tasks
from eyechart.hub_cards.recomputing import Recomputing, judge_of, plain, refusals
from eyechart.metrics.score_spec import value_at
from eyechart.metrics.scores import PAIRS, specs_in
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
    """One result to publish."""

    title: str
    """Its task and data."""
    result: TaskResult
    environment: dict[str, Any]
    """The time, machine and package versions of the run."""
    consent: Consent

    @property
    def own_data(self) -> str:
        """The name of the publisher's own data, as given here or in the task file; "" for a benchmark's data."""
        result = self.result
        if self.consent.data_name or known_task(result.task) is not None or result.dataset in DATASETS:
            return self.consent.data_name
        source = str(value_at(result.settings, "data.source"))
        return source if re.fullmatch(r"[\w.-]+/[\w.-]+", source, re.ASCII) else result.dataset

    @property
    def data_on_hub(self) -> tuple[str, str | None]:
        """The id of its data on the Hub, else their name; and their revision, None if unknown."""
        dataset, data = self.result.dataset, self.result.settings["data"]
        if not self.own_data and dataset in self.consent.data_repos:
            repo, _, revision = self.consent.data_repos[dataset].partition("@")
            return repo, revision or None
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
        return sum(item.reason != PRIVATE for item in self.result.left_out)


def select(
    runs: Sequence[str | Path], repo: str, tasks: Sequence[str] = (), consent: Consent = Consent()
) -> list[Published]:
    """Read runs and select the results to publish; without `tasks`, of all tasks.

    Raises UsageError with every reason for each refused result, and what to do.
    """
    read = load_runs(runs)
    for run in read:
        check_unedited(run.folder)
    tasks = match_tasks(tasks, [key.task for run in read for key in run.tasks], "in these runs")
    chosen: dict[str, Published] = {}
    refused: dict[str, list[str]] = {}
    for recomputing in map(Recomputing, read):
        for key, result in recomputing.run.tasks.items():
            if key.task not in tasks or (consent.data_name and key.dataset == AVERAGE):
                continue
            if key.title in chosen:
                raise UsageError(f"{key.title} is in the runs twice; name only one run with it")
            entry = chosen[key.title] = Published(key.title, result, recomputing.run.results.environment, consent)
            # Its scores are recomputed if nothing else speaks against it.
            reasons = [*_why_not(entry)]
            if not reasons:
                reasons += recomputing.differences(key, known_task(key.task))
            if reasons:
                refused[key.title] = reasons
    models = list(dict.fromkeys(entry.result.model for entry in chosen.values()))
    if len(models) != 1:
        raise UsageError(f"a repository has one model, but these runs have results of {', '.join(models) or 'none'}")
    lines = []
    if models != [repo] and not consent.same_model:
        advice = "use --same-model if the repository contains this model"
        lines.append(f"the run's model is {models[0]!r}, but the repository is {repo!r}; {advice}")
    if refused:
        lines.append(f"{len(refused)} of {len(chosen)} results cannot be published:")
        lines += [f"{title}: {'; '.join(reasons)}" for title, reasons in refused.items()]
        unpublished = {chosen[title].result.task for title in refused}
        if others := dict.fromkeys(name for name in tasks if name not in unpublished):
            lines.append(f"To publish the others: {' '.join(f'--task {name}' for name in others)}")
    if lines:
        raise UsageError("\n".join(lines))
    return list(chosen.values())


def _why_not(entry: Published) -> Iterator[str]:
    """Every reason against a result except that its predictions contradict it, and what to do."""
    result, name, refused = entry.result, entry.own_data, list(refusals(entry.result))
    yield from refused
    stated, task = result.headline_spec(), known_task(result.task)
    usual = headline_of(task) if task else next((spec for spec in specs_in(result.scores or {}) if spec.headline), None)
    # A task of one's own may choose another score of the same values.
    if stated and usual and (stated.key != usual.key if task else stated.of != usual.of):
        yield f"its headline is {stated.key}; expected {usual.key}"
    if judge_of(result) == LEXICAL:
        yield f"scored by word overlap (`{LEXICAL}`); repeat the run with --judge (stored replies are reused)"
    if entry.left_out and not entry.consent.allow_left_out:
        yield f"{entry.left_out} rows were left out; use --allow-left-out to publish it with a caveat"
    if name and plain(name) in {plain(text) for dataset in DATASETS for text in (dataset, pretty_name(dataset))}:
        yield f"{name!r} is like the name of a benchmark; choose another with --data-name NAME"
    elif name and not refused and SAMPLE not in result.settings and is_part(result):
        yield f"the scores are of {extent([result])}; repeat the run on all of them"
    elif not name and not refused:
        yield from _not_the_release(entry)


def _not_the_release(entry: Published) -> Iterator[str]:
    """Why a result does not cover the complete official release; as on the leaderboard, the current one."""
    result, source = entry.result, value_at(entry.result.settings, "data.source")
    data, official, problem = f"{result.dataset} ({result.split})", official_items(result), ""
    if source == GIVEN and result.dataset in DATASETS:
        problem = f"the data were a `Dataset` object, which may not be {result.dataset}"
    elif official:
        task, sample = known_task(result.task), result.settings.get(SAMPLE)
        scored = scored_items(result.scores or {}) or 0
        lacking = official[0] - (sample["of"] if sample and sample["of"] == official[0] else scored)
        # A missing image leaves out all its pairs: one in each round.
        most = entry.left_out * ROUNDS if task is not None and task.metric == PAIRS else 0
        if lacking != entry.left_out and not 0 <= lacking <= most:
            earlier = " of an earlier release" if scored in official else ""
            problem = f"the result is on {scored:,} items{earlier}, but {data} has {official[0]:,}"
    elif result.dataset in DATASETS and source != OFFICIAL:
        # Such data are recognised as a benchmark's only by their source.
        problem = f"the data are from a folder, and the number of items of {data} is unknown"
    if problem:
        yield (
            f"{problem}. Run the complete release, downloaded without --data-dir, or publish it as data of your own, "
            "under a name that is not a benchmark's: --data-name NAME"
        )


def pretty_name(dataset: str) -> str:
    """The dataset's title in its card; its name if there is no card."""
    from huggingface_hub import DatasetCard

    if dataset not in DATASETS:
        return dataset
    card = files("eyechart.hub_cards") / "datasets" / f"{dataset}.md"
    return str(DatasetCard(card.read_text(encoding="utf-8")).data["pretty_name"])
