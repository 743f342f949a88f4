"""Scores in the Hub's formats: `model-index` for any data, `.eval_results/*.yaml` for benchmarks on the Hub."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pydantic_core import to_jsonable_python

from eyechart.evaluators.requests.values import is_number
from eyechart.evaluators.results.results_file import AVERAGE, SAMPLE
from eyechart.evaluators.tasks import get_task, known_task
from eyechart.hub_cards.model_card.selection import Published
from eyechart.hub_cards.recomputing import judge_of
from eyechart.metrics.score_spec import value_at
from eyechart.metrics.scores import specs_in

if TYPE_CHECKING:
    from huggingface_hub import EvalResultEntry

OURS = " (eyechart)"
"""The suffix of the task names in our entries, by which a later publication finds and replaces them."""


def index_entries(published: Sequence[Published]) -> list[dict[str, Any]]:
    """Entries for a `model-index`, without averages (of no single dataset) and samples (an entry would not say so)."""
    from huggingface_hub import EvalResult
    from huggingface_hub.repocard_data import eval_results_to_model_index

    entries: list[dict[str, Any]] = []
    for entry in published:
        result, scores, (repo, revision) = entry.result, entry.result.scores or {}, entry.data_on_hub
        headline = result.headline_spec()
        if result.dataset == AVERAGE or SAMPLE in result.settings:
            continue
        rows = [
            EvalResult(
                task_type="image-text-to-text",
                task_name=f"{result.task}{OURS}",
                dataset_type=repo,
                dataset_name=entry.data_name,
                dataset_config=result.settings["data"].get("config"),
                dataset_split=result.split,
                dataset_revision=revision,
                metric_type=spec.key,
                metric_name=spec.label,
                metric_value=spec.value(scores),
                metric_args=to_jsonable_python({"n": spec.n(scores), "ci95": spec.bounds(scores)}, inf_nan_mode="null"),
                source_url=entry.consent.source,
                source_name=entry.consent.source and "eyechart",
            )
            for spec in sorted(specs_in(scores), key=lambda spec: spec != headline)
            if spec.in_table and spec.has_interval and not spec.part_of and is_number(spec.value(scores))
        ]
        # One result at a time: the library merges tasks on the same data.
        entries += eval_results_to_model_index("", rows)[0]["results"]
    return entries


def hub_entries(published: Sequence[Published]) -> "list[EvalResultEntry]":
    """Entries for `.eval_results/*.yaml`: the headline score of each result without a `missing_reason`."""
    from huggingface_hub import EvalResultEntry

    entries = []
    for entry in published:
        result, (repo, revision), source = entry.result, entry.data_on_hub, entry.consent.source
        scores, headline = result.scores or {}, result.headline_spec()
        if headline is None or missing_reason(entry):
            continue
        low, high = headline.bounds(scores) or (None, None)
        notes = [
            f"{headline.label}, {result.split}, n = {headline.n(scores)}",
            f"95 % interval {low:.4g} to {high:.4g}" if is_number(low) and is_number(high) else "",
            *setting_words(entry),
            *(each.text.rstrip(".") for each in result.notes if each.code in ("as_published", "sampled", "repeats")),
            f"eyechart {value_at(entry.environment, 'packages.eyechart')}",
        ]
        entries.append(
            EvalResultEntry(
                dataset_id=repo,
                task_id=task_id(result.task, result.split),
                value=headline.value(scores),
                dataset_revision=revision,
                date=entry.environment.get("started"),
                source_url=source,
                source_name=source and "eyechart",
                notes="; ".join(filter(None, notes)),
            )
        )
    return entries


def missing_reason(entry: Published) -> str:
    """Why a result is not in `.eval_results`, and what to pass; "" if it is."""
    result = entry.result
    if entry.own_data or known_task(result.task) is None:
        return "your own data are not a benchmark on the Hub"
    if result.dataset == AVERAGE:
        return "an average belongs to no single dataset"
    if SAMPLE in result.settings:
        return "a sample is not the benchmark"
    if result.dataset not in entry.consent.data_repos:
        export = f"eyechart export {result.dataset} --benchmark --push-to-hub OWNER/NAME"
        return f"pass --dataset-repo {result.dataset}=OWNER/NAME, a repository made with `{export}`"
    headline = result.headline_spec()
    is_defined = headline is not None and is_number(headline.value(result.scores or {}))
    return "" if is_defined else "the headline score is undefined"


def setting_words(entry: Published) -> Iterator[str]:
    """The settings by which results on the same leaderboard differ, without those that have a note."""
    settings, task = entry.result.settings, known_task(entry.result.task)
    if prompt := settings.get("prompt_id"):
        yield f"prompt {prompt}"
    if judge := judge_of(entry.result):
        yield f"judge {judge}"
    if entry.left_out:
        yield f"items left out: {entry.left_out}"
    for name, value in task.protocol.settings().items() if task else ():
        if name not in ("prompt_id", "seed") and settings.get(name, value) != value:
            yield f"{name} {settings[name]}"


def task_id(task: str, split: str) -> str:
    """The id of a task and split in `eval.yaml` and `.eval_results`.

    Examples:
        >>> task_id("q_bench/perception", "dev"), task_id("q_bench/perception", "test")
        ('q_bench_perception', 'q_bench_perception_test')
    """
    name = task.replace("/", "_")
    return name if split == get_task(task).data.splits[0] else f"{name}_{split}"


def to_yaml(value: Any) -> str:
    """A value as YAML without wrapped lines."""
    import yaml

    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=float("inf"))
