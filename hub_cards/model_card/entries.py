"""Scores in the Hub's two formats: the older `model-index` of a card, and the newer `.eval_results/*.yaml`.

An entry of `.eval_results` names a benchmark (a dataset repository with an `eval.yaml`) and a task in that file, so it
is possible only for datasets with such a repository. A `model-index` may name any data.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from eyechart.evaluators.evaluation.sampling import SAMPLE
from eyechart.evaluators.requests.values import is_number
from eyechart.evaluators.tasks import known_task
from eyechart.hub_cards.headline import result_scores
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
        repos: Benchmark repositories on the Hub by dataset name, as ID or ID@REVISION.
        source: Address of the run's report or logs.
    """
    from huggingface_hub.repocard_data import eval_results_to_model_index

    entries: list[dict[str, Any]] = []
    for one in published:
        if one.is_average or SAMPLE in one.result.settings:
            continue
        results = _eval_results(one, repos, source)
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
    """Entries for `.eval_results/*.yaml`: the headline score of each result without a `missing_reason`.

    Args:
        published: The results.
        repos: Benchmark repositories on the Hub by dataset name, as ID or ID@REVISION, each with the `eval.yaml` of
            `eyechart export --benchmark`.
        source: Address of the run's report or logs.
    """
    from huggingface_hub import EvalResultEntry

    found = []
    for one in published:
        if not missing_reason(one, repos):
            repo, revision = _data_on_hub(one, repos)
            found.append(
                EvalResultEntry(
                    dataset_id=repo,
                    task_id=task_id(one.result.task, one.result.split),
                    value=result_scores(one.result)[0].value(one.result.scores or {}),
                    dataset_revision=revision,
                    date=one.environment.get("started"),
                    source_url=source,
                    source_name=source and "eyechart",
                    notes=_notes(one),
                )
            )
    return found


def missing_reason(one: Published, repos: Mapping[str, str]) -> str:
    """Why a result is not in `.eval_results`, and what to pass; "" if it is."""
    if one.own_data or known_task(one.result.task) is None:
        return "your own data are not a benchmark on the Hub"
    if one.is_average:
        return "an average belongs to no single dataset"
    if SAMPLE in one.result.settings:
        return "a sample is not the benchmark"
    name = one.result.dataset
    if name not in repos:
        return (
            f"pass --dataset-repo {name}=OWNER/NAME, a repository made with `eyechart export {name} --benchmark "
            "--push-to-hub OWNER/NAME`"
        )
    is_defined = is_number(result_scores(one.result)[0].value(one.result.scores or {}))
    return "" if is_defined else "the headline score is undefined"


def _data_on_hub(one: Published, repos: Mapping[str, str]) -> tuple[str, str | None]:
    """The id of a result's data, on the Hub if they are there, and their revision."""
    repo, _, revision = repos.get(one.result.dataset, "").partition("@")
    if one.own_data or not repo:
        revision = value_at(one.result.settings, "data.revision") or ""
        return one.data_id, revision or None
    return repo, revision or None


def _eval_results(one: Published, repos: Mapping[str, str], source: str | None) -> "list[EvalResult]":
    from huggingface_hub import EvalResult

    result, scores = one.result, one.result.scores or {}
    repo, revision = _data_on_hub(one, repos)
    return [
        EvalResult(
            task_type=TASK_TYPE,
            task_name=f"{result.task}{_OURS}",
            dataset_type=repo,
            dataset_name=one.data_name,
            dataset_config=result.settings["data"].get("config"),
            dataset_split=result.split,
            dataset_revision=revision,
            metric_type=spec.key,
            metric_name=spec.label,
            metric_value=spec.value(scores),
            metric_args={"n": spec.n(scores), "ci95": spec.bounds(scores)},
            source_url=source,
            source_name=source and "eyechart",
        )
        for spec in result_scores(result)
        if spec.has_interval and not spec.part_of and is_number(spec.value(scores))
    ]


def _notes(one: Published) -> str:
    scores = one.result.scores or {}
    spec = result_scores(one.result)[0]
    interval = spec.bounds(scores)
    parts = [
        f"{spec.label}, {one.result.split}, n = {spec.n(scores)}",
        f"95 % interval {interval[0]:.4g} to {interval[1]:.4g}" if interval and None not in interval else "",
        *setting_words(one),
        f"eyechart {(one.environment.get('packages') or {}).get('eyechart')}",
    ]
    return "; ".join(part for part in parts if part)


def setting_words(one: Published) -> Iterator[str]:
    """The settings by which results on the same leaderboard differ."""
    result = one.result
    judge, count, prompt = judge_of(result), len(left_out_public(result)), result.settings.get("prompt_id")
    if prompt:
        yield f"prompt {prompt}"
    if result.settings.get("as_published") is not None:
        yield "run as published"
    sampling = value_at(result.settings, "model.sampling")
    if isinstance(sampling, Mapping):
        repeats = result.settings.get("repeats")
        first = f", first of {repeats} repeats" if repeats else ""
        yield f"sampled at temperature {sampling.get('temperature')}, top_p {sampling.get('top_p')}{first}"
    if judge:
        yield f"judge {judge}"
    if count:
        yield f"{count} row{'s' if count > 1 else ''} left out"
    task = known_task(result.task)
    own = {} if task is None else task.protocol.settings()
    for name, value in own.items():
        if name not in ("prompt_id", "seed") and result.settings.get(name, value) != value:
            yield f"{name} {result.settings[name]}"
