"""Logs of inspect-ai as predictions: the items that our tasks record there, and `eyechart export-log` writes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from eyechart.datasets_scripts.common.errors import BadAnnotationError, UsageError

SUFFIX = ".eval"
_SCORER, _ITEMS = "eyechart", "items"
_KEYS = ("id", "pass", "text", "logits", "options", "reasoning", "finish_reason")


def read_inspect_log(path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of eyechart's own format in a log, numbered by sample; samples without a reply have none."""
    try:
        from inspect_ai.log import EvalLog, read_eval_log
    except ModuleNotFoundError as error:
        raise UsageError(f"{path}: a log of inspect-ai needs inspect-ai: pip install 'eyechart[inspect]'") from error
    try:
        log = read_eval_log(Path(path), exclude_fields={"messages", "events", "attachments", "store"})
    # A damaged file makes its reader raise anything.
    except Exception as error:
        what = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        reason = f"cannot be read as a log of inspect-ai; it is cut, or of another version: {what}"
        raise BadAnnotationError(reason, path=path) from error
    if log.version > (newest := EvalLog.model_fields["version"].default):
        reason = f"has version {log.version} of inspect-ai's logs; the installed inspect-ai knows {newest}: update it"
        raise BadAnnotationError(reason, path=path)
    scores = [(sample.scores or {}).get(_SCORER) for sample in log.samples or ()]
    if not any(scores):
        task = log.eval.task_registry_name or log.eval.task
        reason = f"has no replies to a task of eyechart; it is of the task {task!r} and ended with {log.status!r}"
        raise BadAnnotationError(reason, path=path)
    for number, score in enumerate(scores, 1):
        for item in (score.metadata or {}).get(_ITEMS, ()) if score else ():
            if item.get("text") is not None or item.get("logits"):
                yield number, {key: item[key] for key in _KEYS if item.get(key) not in (None, [])}
