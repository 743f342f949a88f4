"""Scores in the Hub's two formats: the older `model-index` of a card, and the newer `.eval_results/*.yaml`.

An entry of `.eval_results` names a benchmark (a dataset repository with an `eval.yaml`) and a task in that file, so it
is possible only for datasets with such a repository. A `model-index` may name any data.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from eyechart.evaluators.evaluation.sampling import SAMPLE
from eyechart.evaluators.requests.values import is_number
from eyechart.evaluators.tasks import get_task, headline_of
from eyechart.hub_cards.headline import table_scores
from eyechart.hub_cards.model_card.benchmark import task_id
from eyechart.hub_cards.model_card.selection import Published, left_out_public
from eyechart.hub_cards.recomputing import judge_of
from eyechart.metrics.score_spec import value_at

if TYPE_CHECKING:
    from huggingface_hub import EvalResult, EvalResultEntry

TASK_TYPE = "image-text-to-text"
"""The Hub's name for the kind of task."""
_OURS = " (eyechart)"
"""The suffix of the task names in our entries, by which a later publication finds and replaces them."""


def index_entries(published: Sequence[Published], repos: Mapping[str, str], source: str | None) -> list[dict[str, Any]]:
    """Entries for the `results` of a `model-index`, one for each task and dataset.

    Args:
        published: The results. Averages over databases are skipped, because they belong to no single dataset, and so
            are results on a sample, because an entry would not say so.
        repos: Dataset repositories on the Hub by dataset name; other datasets appear under their eyechart names.
        source: Address of the evidence for the results.
    """
    from huggingface_hub.repocard_data import eval_results_to_model_index

    entries: list[dict[str, Any]] = []
    for one in published:
        if one.is_average or SAMPLE in one.result.settings:
            continue
        results = _eval_results(one, repos.get(one.result.dataset), source)
        # One by one: the library merges tasks on the same data.
        entries += eval_results_to_model_index("", results)[0]["results"] if results else []
    return entries


def is_ours(entry: Any) -> bool:
    """Whether eyechart wrote an entry of a `model-index`."""
    task = entry.get("task") if isinstance(entry, Mapping) else None
    name = task.get("name") if isinstance(task, Mapping) else None
    return isinstance(name, str) and name.endswith(_OURS)


def hub_entries(
    published: Sequence[Published], repos: Mapping[str, str], source: str | None
) -> "list[EvalResultEntry]":
    """Entries for `.eval_results/*.yaml`: the headline score of each task on a dataset with a repository.

    Results on a sample are skipped, because they are not results of the benchmark.

    Args:
        published: The results.
        repos: Dataset repositories on the Hub by dataset name, each with the `eval.yaml` of `eyechart export
            --benchmark`.
        source: Address of the evidence for the results.
    """
    from huggingface_hub import EvalResultEntry

    return [
        EvalResultEntry(
            dataset_id=repos[one.result.dataset],
            task_id=task_id(one.result.task, one.result.split),
            value=value,
            date=one.environment.get("started"),
            source_url=source,
            notes=_notes(one),
        )
        for one in published
        if not one.own_data and one.result.dataset in repos and SAMPLE not in one.result.settings
        if is_number(value := headline_of(get_task(one.result.task)).value(one.result.scores or {}))
    ]


def _eval_results(one: Published, repo: str | None, source: str | None) -> "list[EvalResult]":
    from huggingface_hub import EvalResult

    result, scores = one.result, one.result.scores or {}
    task = get_task(result.task)
    return [
        EvalResult(
            task_type=TASK_TYPE,
            task_name=f"{task.name}{_OURS}",
            dataset_type=one.own_data or repo or result.dataset,
            dataset_name=one.data_name,
            dataset_config=result.settings["data"].get("config"),
            dataset_split=result.split,
            metric_type=spec.key,
            metric_name=spec.label,
            metric_value=spec.value(scores),
            metric_args={"n": spec.n(scores), "ci95": spec.bounds(scores)},
            source_url=source,
            source_name=source and "eyechart",
        )
        for spec in table_scores(task)
        if spec.interval and not spec.part_of and is_number(spec.value(scores))
    ]


def _notes(one: Published) -> str:
    """The settings by which results on the same leaderboard differ."""
    result, scores = one.result, one.result.scores or {}
    spec = headline_of(get_task(result.task))
    interval = spec.bounds(scores)
    judge, count = judge_of(result), len(left_out_public(result))
    prompt = result.settings.get("prompt_id")
    parts = [
        f"{spec.label}, {result.split}, n = {spec.n(scores)}",
        f"95 % interval {interval[0]:.4g} to {interval[1]:.4g}" if interval and None not in interval else "",
        f"prompt {prompt}" if prompt else "",
        "run as published" if result.settings.get("as_published") is not None else "",
        _sampled(result.settings),
        f"judge {judge}" if judge else "",
        f"{count} rows left out" if count else "",
        f"eyechart {(one.environment.get('packages') or {}).get('eyechart')}",
    ]
    return "; ".join(part for part in parts if part)


def _sampled(settings: Mapping[str, Any]) -> str:
    sampling = value_at(settings, "model.sampling")
    if not isinstance(sampling, Mapping):
        return ""
    repeats = settings.get("repeats")
    first = f", first of {repeats} repeats" if repeats else ""
    return f"sampled at temperature {sampling.get('temperature')}, top_p {sampling.get('top_p')}{first}"
