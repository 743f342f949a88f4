"""The settings that must agree for two results to be compared, and what else differs between two runs."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from eyechart.datasets_scripts.common.errors import unknown_name
from eyechart.evaluators.results.finished_runs import Run
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.metrics.score_spec import value_at

WITHOUT_EFFECT = ("seed", "early_stop", "grade_open_answers", "exclude_blind_solved", "human_labels")
"""Settings that change no score of an item, although they can add requests, a second score or an agreement."""
_IGNORED = (
    *("model", "judge", *WITHOUT_EFFECT),
    # The items, of the first repeat, are compared one by one, wherever they are from.
    *("repeats", "limit", "sample", "data.rows", "data.revision", "data.source", "data.options.image_dir"),
)
"""Settings that may differ; a name includes all settings under it."""
_MATTERS = ("judge.name", "judge.temperature", "judge.max_tokens")
"""Settings under an ignored one that must agree."""
_SCORE_SETTINGS = ("judge", "template", "template_version", "wording", "judge_template_version")
"""Settings that only the metric records, in its scores."""
_OF_OPTIONS: Mapping[str, str] = {"prompt_style": "prompt_id", "prompt": "prompt_id", "judge": "judge.name"}
"""Settings that results record under another name than the option of `eyechart run`."""

_AFFECTING = (
    *("extraction", "fallback", "unreadable_forced", "judge_reads", "prompt_id", "shuffle_seed", "max_new_tokens"),
    *("model.system_prompt", "model.chat_template", "model.thinking", "model.sampling", "model.decoding"),
    *("model.image_sizes", "model.processor", "model.downscaled_share", "model.backend", "model.dtype"),
    *("model.quantization", "model.attention", "model.extra_body", "model.generate_config"),
)
"""Settings that can change scores; most of those of a model may differ in a comparison."""


def also_differ(first: TaskResult, second: TaskResult) -> str:
    """The settings besides the model that differ, such as "prompt_id, model.sampling"; "" if none does."""
    settings = first.settings, second.settings
    return ", ".join(name for name in _AFFECTING if value_at(settings[0], name) != value_at(settings[1], name))


def breaking_differences(first: TaskResult, second: TaskResult, allowed: Collection[str] = ()) -> list[str]:
    """The differing settings that prevent a comparison of two results, each with both values."""
    in_first, in_second = dict(_flat(first)), dict(_flat(second))
    return [
        f"{name} is {in_first.get(name)!r:.60} in A and {in_second.get(name)!r:.60} in B"
        for name in {**in_first, **in_second}
        if name not in allowed and _matters(name) and in_first.get(name) != in_second.get(name)
    ]


def allowed_names(given: Iterable[str], runs: Iterable[Run]) -> list[str]:
    """The names of settings, given as such or as options such as "--prompt-style"; raises `UsageError` if unknown."""
    known = {name for run in runs for result in run.results.tasks for name, _ in _flat(result)}
    names = []
    for text in given:
        option = text.lstrip("-").replace("-", "_")
        nested = (option.replace("judge_", "judge.", 1), f"model.{option}", f"data.{option}")
        name = next((name for name in (text, option, _OF_OPTIONS.get(option), *nested) if name in known), None)
        if name is None:
            raise unknown_name("setting", text, sorted(known), "in --allow")
        names.append(name)
    return names


def _matters(name: str) -> bool:
    return name in _MATTERS or not any(name == other or name.startswith(f"{other}.") for other in _IGNORED)


def _flat(result: TaskResult) -> Iterator[tuple[str, Any]]:
    """Settings by dotted names: those of the data, the judge and the model one by one, and those of the metric."""
    for name, value in result.settings.items():
        if name in ("data", "judge", "model") and isinstance(value, Mapping):
            yield from ((f"{name}.{inner}", item) for inner, item in value.items())
        else:
            yield name, value
    scores = result.scores or {}
    yield from ((f"scores.{name}", scores[name]) for name in _SCORE_SETTINGS if name in scores)
