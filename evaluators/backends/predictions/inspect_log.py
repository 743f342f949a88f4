"""Logs of inspect-ai as predictions: how a model was asked, and the items that our tasks record there."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyechart.datasets_scripts.common.errors import BadAnnotationError, UsageError

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog

SUFFIX = ".eval"
_SCORER, _ITEMS = "eyechart", "items"
_KEYS = ("id", "pass", "text", "logits", "options", "reasoning", "finish_reason", "cluster", "upper_bound_words")
_SAMPLING = ("temperature", "top_p", "top_k", "seed")
_OF_DATA = ("data", "skip_bad", "file")


@dataclass(frozen=True)
class LogHeader:
    """How the model of a log was asked."""

    task: str
    model: str
    settings: Mapping[str, Any]
    """Settings of the task that were given, as with `--set`."""
    dataset: str | None
    split: str | None
    as_published: bool
    seed: int
    sampling: Mapping[str, Any] | None
    """None for greedy decoding."""


def read_header(path: Path) -> LogHeader:
    """The header of a log that `inspect eval` wrote for a task of ours; raises BadAnnotationError for others."""
    log = _read(path, header_only=True)
    if "task" not in (metadata := log.eval.metadata or {}):
        by = log.eval.task_registry_name or log.eval.task
        reason = f"does not say how the model was asked; it is of the task {by!r}, not by `inspect eval eyechart/...`"
        raise BadAnnotationError(reason, path=str(path))
    given = {name: value for name, value in log.eval.task_args_passed.items() if name not in _OF_DATA}
    defaults = {"dataset": None, "split": None, "as_published": False, "seed": 0}
    named: dict[str, Any] = {name: given.pop(name, default) for name, default in defaults.items()}
    config = log.plan.config
    sampling = {name: value for name in _SAMPLING if (value := getattr(config, name)) is not None}
    is_sampled = bool(config.temperature)
    return LogHeader(metadata["task"], log.eval.model, given, **named, sampling=sampling if is_sampled else None)


def read_inspect_log(path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of eyechart's own format in a log, numbered; samples without a reply have none."""
    log = _read(Path(path), exclude_fields={"messages", "events", "attachments", "store"})
    scores = [(sample.scores or {}).get(_SCORER) for sample in log.samples or ()]
    if not any(scores):
        task = log.eval.task_registry_name or log.eval.task
        reason = f"has no replies to a task of eyechart; it is of the task {task!r} and ended with {log.status!r}"
        raise BadAnnotationError(reason, path=path)
    items = [item for score in scores if score for item in (score.metadata or {}).get(_ITEMS, ())]
    for number, item in enumerate(items, 1):
        if item.get("text") is not None or item.get("logits"):
            yield number, {key: item[key] for key in _KEYS if item.get(key) not in (None, [])}


def _read(path: Path, **parts: Any) -> "EvalLog":
    try:
        from inspect_ai.log import EvalLog, read_eval_log
    except ModuleNotFoundError as error:
        raise UsageError(f"{path}: a log of inspect-ai needs inspect-ai: pip install 'eyechart[inspect]'") from error
    try:
        log = read_eval_log(path, **parts)
    # A damaged file makes its reader raise anything.
    except Exception as error:
        what = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        reason = f"cannot be read as a log of inspect-ai; it is cut, or of another version: {what}"
        raise BadAnnotationError(reason, path=str(path)) from error
    if log.version > (newest := EvalLog.model_fields["version"].default):
        reason = f"has version {log.version} of inspect-ai's logs; the installed inspect-ai knows {newest}: update it"
        raise BadAnnotationError(reason, path=str(path))
    return log
