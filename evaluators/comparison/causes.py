"""Where a difference between two runs comes from: parsing of replies, the prompt, the image size, the backend.

Parsing is the only cause that can be separated afterwards: run A's replies are parsed again with run B's settings. The
rest of the difference comes from all other differing settings together.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators.comparison.difference import signed
from eyechart.evaluators.evaluation.rescoring import rescore
from eyechart.evaluators.results.finished_runs import Answers
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.evaluators.tasks import known_task
from eyechart.metrics.score_spec import ScoreSpec
from eyechart.metrics.scores import spec

_READING = ("extraction", "fallback", "unreadable_forced", "judge_reads")
_OTHERS: Mapping[str, tuple[str, ...]] = {
    "the prompt": ("prompt_id", "shuffle_seed"),
    "the system prompt": ("model.system_prompt",),
    "the chat template": ("model.chat_template",),
    "the length of replies": ("max_new_tokens", "model.thinking"),
    "the sampling": ("model.sampling", "model.decoding"),
    "the image size": ("model.image_sizes", "model.processor", "model.downscaled_share"),
    "the backend": ("model.backend", "model.dtype", "model.quantization", "model.attention", "model.extra_body"),
    "the model": ("model.name", "model.revision", "model.adapter"),
}
"""Settings by what they affect; those under `model` are settings of the backend."""


@dataclass(frozen=True)
class Causes:
    """The parts of a difference (A minus B) in one score of a task."""

    score: str
    """Its key."""
    whole: float
    """The full difference."""
    reading: float | None
    """The part that comes from parsing; None if both runs parse alike, or the replies cannot be parsed again."""
    reading_settings: tuple[str, ...]
    """Parsing settings that differ."""
    others: tuple[str, ...]
    """What else differs; the rest of the difference comes from these."""


def find_causes(
    first: TaskResult,
    second: TaskResult,
    answers: Answers | None,
    second_answers: Answers | None = None,
    items: Collection[str] | None = None,
) -> Causes | None:
    """Split a difference by its possible causes.

    Args:
        first: The result of run A.
        second: That of run B on the same task and data.
        answers: Run A's answers; None if it has none.
        second_answers: Run B's answers; only needed with `items`.
        items: Ids of the compared items; None if these are all items of both runs.

    Returns:
        The parts of the difference in the task's headline; None if only the model differs, or a score is missing.
    """
    score = first.headline_spec()
    reading = tuple(name for name in _READING if first.settings.get(name) != second.settings.get(name))
    others = tuple(name for name, settings in _OTHERS.items() if any(_differ(one, first, second) for one in settings))
    if score is None or not (reading or set(others) - {"the model"}):
        return None
    if items is None:
        one, other = score.value(first.scores or {}), score.value(second.scores or {})
    else:
        one = _read_as(first, first, answers, score, items)
        other = _read_as(second, second, second_answers, score, items)
    if one is None or other is None:
        return None
    again = _read_as(second, first, answers, score, items) if reading else None
    return Causes(score.key, one - other, None if again is None else one - again, reading, others)


def describe_causes(causes: Causes) -> str:
    """Describe the parts.

    Examples:
        >>> describe_causes(Causes("accuracy", 0.03, None, (), ("the prompt", "the backend")))
        'accuracy difference of +3.00 points: all from the prompt and the backend together'
        >>> describe_causes(Causes("accuracy", 0.03, 0.01, ("extraction",), ("the prompt",)))
        'accuracy difference of +3.00 points: +1.00 points from parsing (extraction), +2.00 points from the prompt'
        >>> describe_causes(Causes("accuracy", 0.0, None, (), ("the prompt",)))
        'no accuracy difference, although A and B differ in the prompt'
    """
    label = spec(causes.score).label
    if not (causes.whole or causes.reading):
        return f"no {label} difference, although A and B differ in {differing(causes)}"
    return f"{label} difference of {signed(causes.score, causes.whole)}: {', '.join(_parts(causes))}"


def differing(causes: Causes) -> str:
    """What differs, such as "parsing (extraction) and the prompt"; the model itself is left out."""
    parsing = [f"parsing ({', '.join(causes.reading_settings)})"] if causes.reading_settings else []
    return _listed([*parsing, *(other for other in causes.others if other != "the model")])


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def _parts(causes: Causes) -> Iterator[str]:
    others = f"{_listed(causes.others) or 'the replies'}{' together' if len(causes.others) > 1 else ''}"
    names = ", ".join(causes.reading_settings)
    if causes.reading is None:
        unread = f"parsing ({names}; the replies cannot be parsed again) and " if names else ""
        yield f"all from {unread}{others}"
        return
    rest = causes.whole - causes.reading
    yield f"{signed(causes.score, causes.reading)} from parsing ({names})"
    yield f"{signed(causes.score, rest)} from {others}"


def _read_as(
    reader: TaskResult,
    result: TaskResult,
    answers: Answers | None,
    score: ScoreSpec,
    items: Collection[str] | None,
) -> float | None:
    """A result's score if its replies were parsed with another result's settings; None if that is impossible."""
    task = known_task(result.task)
    if task is None or answers is None or "judge" in result.settings or "judge" in reader.settings:
        return None
    settings = {**result.settings, **{name: reader.settings[name] for name in _READING if name in reader.settings}}
    rows = [row for row in answers.rows(range(len(answers))) if items is None or row["id"] in items]
    try:
        scores = rescore(task, result.model_copy(update={"settings": settings}), rows)
    except DataError:
        return None
    value = None if scores is None else score.value(scores)
    return None if value is None else float(value)


def _differ(name: str, first: TaskResult, second: TaskResult) -> bool:
    return _setting(name, first.settings) != _setting(name, second.settings)


def _setting(name: str, settings: Mapping[str, Any]) -> Any:
    group, _, inner = name.rpartition(".")
    return (settings.get(group) or {} if group else settings).get(inner)
