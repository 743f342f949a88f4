"""Which settings must agree for two results to be compared: one explicit table.

A setting that stands in neither column is taken to matter, so that a new one is never overlooked.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from eyechart.evaluators.results.results_file import TaskResult

MATTERS: Mapping[str, str] = {
    "as_published": "settings of the paper in place of the defaults",
    "prompt_id": "the wording of the prompt",
    "prefill": "how the reply begins",
    "inference": "what is read: a reply, losses, or the likeliest token",
    "prediction": "what is read: logits, a number in the reply, or a score made elsewhere",
    "word_pair": "the words whose logits are pooled",
    "temperature": "what logits are divided by",
    "ties": "how equal logits are ranked",
    "loss": "the loss of an option",
    "of_equal_losses": "the choice among equal losses",
    "max_new_tokens": "how long a reply may be",
    "option_order": "the order of the options",
    "passes": "where the passes of a question come from",
    "shuffle_seed": "the order of the options",
    "orders": "the orders in which pairs are shown",
    "aggregator": "from pairs to scores",
    "blind": "whether the image is shown",
    "fallback": "what an unreadable reply becomes",
    "missing": "what a question with missing passes becomes",
    "rounds": "how often the judge is asked",
    "judge.name": "who judges",
    "judge.temperature": "how the judge is sampled",
    "judge.max_tokens": "how long the judge's reply may be",
    "data.config": "which data",
    "data.options": "settings of the data set",
    "data.is_mini": "made-up data, or the release",
    "scores.fallback": "what an unreadable reply becomes",
    "scores.judge": "who judges",
    "scores.template": "what the judge is told",
    "scores.template_version": "what the judge is told",
    "scores.wording": "what the judge is told",
    "scores.rounds": "how often the judge is asked",
}
"""Settings that must agree, with what they decide."""
IGNORED: Mapping[str, str] = {
    "model": "what is compared",
    "limit": "the items are compared one by one",
    "seed": "intervals, and random choices, which are compared one by one",
    "early_stop": "passes that cannot change whether a question is right",
    "grade_open_answers": "other questions beside the scores",
    "exclude_blind_solved": "a second score",
    "human_labels": "an agreement beside the scores",
    "data.source": "where the files lie",
    "data.rows": "the items are compared one by one",
    "judge": "what judging cost, and where; what matters of it is listed by itself",
}
"""Settings that may differ, with the reason; a name stands for all that is under it, unless listed as mattering."""
_SCORE_SETTINGS = ("fallback", "judge", "template", "template_version", "wording", "rounds")


def breaking_differences(first: TaskResult, second: TaskResult, allowed: Collection[str] = ()) -> list[str]:
    """The settings that keep two results from being compared.

    Args:
        first: A result.
        second: One of the same task.
        allowed: Names of settings that may differ all the same.

    Returns:
        A line for each: its name, both values, and what it decides.
    """
    settings = [dict(_flat(result.settings)) | _score_settings(result) for result in (first, second)]
    names = dict.fromkeys(name for one in settings for name in one)
    return [
        f"{name} is {settings[0].get(name)!r:.60} in the first and {settings[1].get(name)!r:.60} in the second"
        + (f" ({MATTERS[name]})" if name in MATTERS else "")
        for name in names
        if name not in allowed and _matters(name) and settings[0].get(name) != settings[1].get(name)
    ]


def setting_names(results: Iterable[TaskResult]) -> set[str]:
    """Names of all settings that results have, and of those that can matter."""
    return {name for result in results for name, _ in _flat(result.settings)} | MATTERS.keys()


def _matters(name: str) -> bool:
    return name in MATTERS or not any(name == other or name.startswith(f"{other}.") for other in IGNORED)


def _flat(settings: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The settings of the data, the judge and the model by dotted names."""
    for name, value in settings.items():
        if name in ("data", "judge", "model") and isinstance(value, Mapping):
            yield from ((f"{name}.{inner}", item) for inner, item in value.items())
        else:
            yield name, value


def _score_settings(result: TaskResult) -> dict[str, Any]:
    """What the metric says of the way in which it scored."""
    scores = result.scores or {}
    return {f"scores.{name}": scores[name] for name in _SCORE_SETTINGS if name in scores}
