"""Which settings must agree for two results to be compared: all but those listed here, so that none is overlooked."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from eyechart.evaluators.results.results_file import TaskResult

IGNORED: Mapping[str, str] = {
    "model": "what is compared",
    "repeats": "the scores are those of the first one",
    "limit": "the items are compared one by one",
    "sample": "the items are compared one by one",
    "seed": "intervals, and random choices, which are compared one by one",
    "early_stop": "passes that cannot change whether a question is right",
    "grade_open_answers": "other questions, which change none of the scores",
    "letter_logits": "calibration, which changes no score",
    "exclude_blind_solved": "a second score",
    "blind_run": "a second score",
    "human_labels": "an agreement, which changes no score",
    "data.source": "where the files lie",
    "data.rows": "the items are compared one by one",
    "judge": "what judging cost, and where",
}
"""Settings that may differ, with the reason; a name stands for all that is under it."""
_MATTERS = ("judge.name", "judge.temperature", "judge.max_tokens")
"""Settings under an ignored one that must agree."""
_SCORE_SETTINGS = ("judge", "template", "template_version", "wording", "judge_template_version")
"""What the metric alone says of how it scored."""


def breaking_differences(first: TaskResult, second: TaskResult, allowed: Collection[str] = ()) -> list[str]:
    """The settings that keep two results from being compared.

    Args:
        first: A result.
        second: One of the same task.
        allowed: Names of settings that may differ all the same.

    Returns:
        A line for each: its name and both values.
    """
    one, other = dict(_flat(first)), dict(_flat(second))
    return [
        f"{name} is {one.get(name)!r:.60} in A and {other.get(name)!r:.60} in B"
        for name in {**one, **other}
        if name not in allowed and _matters(name) and one.get(name) != other.get(name)
    ]


def setting_names(results: Iterable[TaskResult]) -> set[str]:
    """Names of all settings that results have."""
    return {name for result in results for name, _ in _flat(result)}


def _matters(name: str) -> bool:
    return name in _MATTERS or not any(name == other or name.startswith(f"{other}.") for other in IGNORED)


def _flat(result: TaskResult) -> Iterator[tuple[str, Any]]:
    """Settings by dotted names: those of the data, the judge and the model one by one, and those of the metric."""
    for name, value in result.settings.items():
        if name in ("data", "judge", "model") and isinstance(value, Mapping):
            yield from ((f"{name}.{inner}", item) for inner, item in value.items())
        else:
            yield name, value
    scores = result.scores or {}
    yield from ((f"scores.{name}", scores[name]) for name in _SCORE_SETTINGS if name in scores)
