"""The settings that must agree for two results to be compared: all except those listed here."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from eyechart.evaluators.results.results_file import TaskResult

IGNORED: Mapping[str, str] = {
    "model": "what is compared",
    "repeats": "the scores are those of the first repeat",
    "limit": "the items are compared one by one",
    "sample": "the items are compared one by one",
    "seed": "it affects intervals and random choices; the items are compared one by one",
    "early_stop": "it skips passes that cannot change whether a question is correct",
    "grade_open_answers": "it adds requests that change no score",
    "letter_logits": "it adds calibration, which changes no score",
    "exclude_blind_solved": "it adds a second score",
    "blind_run": "it adds a second score",
    "human_labels": "it adds an agreement, which changes no score",
    "data.source": "where the files are",
    "data.rows": "the items are compared one by one",
    "judge": "cost and address of the judge",
}
"""Settings that may differ, with the reason; a name includes all settings under it."""
_MATTERS = ("judge.name", "judge.temperature", "judge.max_tokens")
"""Settings under an ignored one that must agree."""
_SCORE_SETTINGS = ("judge", "template", "template_version", "wording", "judge_template_version")
"""Settings that only the metric records, in its scores."""


def breaking_differences(first: TaskResult, second: TaskResult, allowed: Collection[str] = ()) -> list[str]:
    """The differing settings that prevent a comparison of two results.

    Args:
        first: A result.
        second: Another result of the same task.
        allowed: Names of settings that may differ anyway.

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
    """Names of all settings in the results."""
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
