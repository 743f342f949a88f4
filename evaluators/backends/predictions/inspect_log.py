"""Logs of inspect-ai as predictions: how a model was asked, and the items that our tasks record there."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingFileError, UsageError
from eyechart.evaluators.backends.predictions.prediction import OWN_KEYS
from eyechart.evaluators.requests.secrets import redact_values

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog
    from inspect_ai.model import GenerateConfig

SUFFIX = ".eval"
_SCORER, _ITEMS = "eyechart", "items"
_SAMPLING = ("temperature", "top_p", "top_k", "seed")
_DECODING = (
    *("stop_seqs", "best_of", "frequency_penalty", "presence_penalty", "logit_bias", "response_schema", "extra_body"),
    *("verbosity", "effort", "reasoning_effort", "reasoning_mode", "reasoning_tokens", "fallback_models"),
)
"""Other options of `GenerateConfig` that can change a reply."""
_OF_DATA = ("data", "skip_bad", "file")


@dataclass(frozen=True)
class LogHeader:
    """How the model of a log was asked."""

    task: str
    model: str
    settings: Mapping[str, Any]
    """Settings of the task that were given, as with `--set`."""
    dataset: str
    split: str | None
    as_published: bool
    seed: int
    limit: int | None
    is_mini: bool
    max_new_tokens: int | None
    """Maximum reply length, if replies were asked for."""
    decoding: Mapping[str, Any]
    """Of the system prompt, the sampling and other options of decoding, those that were set."""


def read_header(path: Path) -> LogHeader:
    """The header of a log that `inspect eval` wrote for a task of ours; raises BadAnnotationError for others."""
    log = _read(path, header_only=True)
    if "task" not in (metadata := log.eval.metadata or {}):
        by = log.eval.task_registry_name or log.eval.task
        reason = f"does not say how the model was asked; it is of the task {by!r}, not by `inspect eval eyechart/...`"
        raise BadAnnotationError(reason, path=str(path))
    given = {name: value for name, value in log.eval.task_args_passed.items() if name not in _OF_DATA}
    name = (log.eval.dataset.name or "").rpartition(" (")[0]
    defaults = {"dataset": name, "split": None, "as_published": False, "seed": 0}
    named: dict[str, Any] = {name: given.pop(name, default) for name, default in defaults.items()}
    chosen = log.eval.config
    return LogHeader(
        metadata["task"],
        log.eval.model,
        given,
        **named,
        limit=chosen.limit if isinstance(chosen.limit, int) and not chosen.sample_shuffle else None,
        is_mini=metadata.get("data", {}).get("is_mini", False),
        max_new_tokens=metadata.get("max_new_tokens"),
        decoding=_decoding(log.plan.config),
    )


def _decoding(config: "GenerateConfig") -> dict[str, Any]:
    sampling, others = (
        {name: value for name in names if (value := getattr(config, name, None)) is not None}
        for names in (_SAMPLING, _DECODING)
    )
    # Without a temperature, replies are not sampled.
    sampling = sampling if config.temperature else {}
    options = {"system_prompt": config.system_message, "sampling": sampling, "generate_config": redact_values(others)}
    return {name: value for name, value in options.items() if value}


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
            row = {**item, "rendered_prompt": item.get("prompt")}
            yield number, {key: row[key] for key in OWN_KEYS if row.get(key) not in (None, [])}


def _read(path: Path, **parts: Any) -> "EvalLog":
    try:
        from inspect_ai.log import EvalLog, read_eval_log
    except ModuleNotFoundError as error:
        raise UsageError(f"{path}: a log of inspect-ai needs inspect-ai: pip install 'eyechart[inspect]'") from error
    if not path.exists():
        raise MissingFileError("the predictions file does not exist", path=str(path))
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
