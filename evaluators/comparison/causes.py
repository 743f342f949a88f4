"""What a difference between two runs goes with: how replies are read, the prompt, the image size, the backend.

How replies are read is the one cause that can be told from the others afterwards: run A's replies are read again as run
B read its own. What is left goes with whatever else differs, together.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators.evaluation.rescoring import rescore
from eyechart.evaluators.results.finished_runs import Answers
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.evaluators.tasks import known_task
from eyechart.metrics.score_spec import ScoreSpec
from eyechart.metrics.scores import spec

_READING = ("extraction", "fallback", "unreadable_forced", "judge_reads")
_OTHERS: Mapping[str, tuple[str, ...]] = {
    "the prompt": ("prompt_id", "model.system_prompt", "shuffle_seed"),
    "the length of replies": ("max_new_tokens", "model.thinking"),
    "the sampling": ("model.sampling",),
    "the image size": ("model.image_sizes", "model.processor", "model.downscaled_share"),
    "the backend": ("model.backend", "model.dtype", "model.quantization", "model.attention", "model.extra_body"),
    "the model": ("model.name", "model.revision", "model.adapter"),
}
"""Settings by what they decide; those under `model` are the backend's."""


@dataclass(frozen=True)
class Causes:
    """Shares of a difference in one score of a task, A less B."""

    score: str
    """Its key."""
    whole: float
    reading: float | None
    """What goes with the reading of replies; None where they are read alike, or cannot be read again."""
    reading_settings: tuple[str, ...]
    """Settings of the reading that differ."""
    others: tuple[str, ...]
    """What else differs, and so has the rest."""


def find_causes(first: TaskResult, second: TaskResult, answers: Answers | None) -> Causes | None:
    """Divide a difference among what may have caused it.

    Args:
        first: The result of run A.
        second: That of run B on the same task and data.
        answers: Run A's; None where it has none.

    Returns:
        The parts of the difference in the task's headline; None where nothing but the model differs, or a score lacks.
    """
    score = first.headline_spec()
    reading = tuple(name for name in _READING if first.settings.get(name) != second.settings.get(name))
    others = tuple(name for name, settings in _OTHERS.items() if any(_differ(one, first, second) for one in settings))
    if score is None or not (reading or set(others) - {"the model"}):
        return None
    one, other = score.value(first.scores or {}), score.value(second.scores or {})
    if one is None or other is None:
        return None
    again = _read_as(second, first, answers, score) if reading else None
    return Causes(score.key, one - other, None if again is None else one - again, reading, others)


def describe_causes(causes: Causes) -> str:
    """The parts in words.

    Examples:
        >>> describe_causes(Causes("accuracy", 0.03, None, (), ("the prompt", "the backend")))
        'of +3.00 % accuracy, all goes with the prompt and the backend together'
        >>> describe_causes(Causes("accuracy", 0.03, 0.01, ("extraction",), ("the prompt",)))
        'of +3.00 % accuracy, +1.00 % goes with the reading of replies (extraction), +2.00 % with the prompt'
    """
    return f"of {_signed(causes.score, causes.whole)} {spec(causes.score).label}, {', '.join(_parts(causes))}"


def _parts(causes: Causes) -> Iterator[str]:
    others = f"{' and '.join(causes.others) or 'the replies'}{' together' if len(causes.others) > 1 else ''}"
    names = ", ".join(causes.reading_settings)
    if causes.reading is None:
        unread = f"the reading of replies ({names}), which cannot be read again, and " if names else ""
        yield f"all goes with {unread}{others}"
        return
    rest = causes.whole - causes.reading
    yield f"{_signed(causes.score, causes.reading)} goes with the reading of replies ({names})"
    yield f"{_signed(causes.score, rest)} with {others}"


def _signed(score: str, value: float) -> str:
    return f"{'+' if value >= 0 else '-'}{spec(score).shown(abs(value))}"


def _read_as(reader: TaskResult, result: TaskResult, answers: Answers | None, score: ScoreSpec) -> float | None:
    """The score of a result had its replies been read as another one's were; None where they cannot be."""
    task = known_task(result.task)
    if task is None or answers is None or "judge" in result.settings or "judge" in reader.settings:
        return None
    settings = {**result.settings, **{name: reader.settings[name] for name in _READING if name in reader.settings}}
    try:
        scores = rescore(task, result.model_copy(update={"settings": settings}), answers.rows(range(len(answers))))
    except DataError:
        return None
    value = None if scores is None else score.value(scores)
    return None if value is None else float(value)


def _differ(name: str, first: TaskResult, second: TaskResult) -> bool:
    return _setting(name, first.settings) != _setting(name, second.settings)


def _setting(name: str, settings: Mapping[str, Any]) -> Any:
    group, _, inner = name.rpartition(".")
    return (settings.get(group) or {} if group else settings).get(inner)
