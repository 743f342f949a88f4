"""The options that `run` and `score` share, and NAME=VALUE arguments, typed by the dataclasses that they fill."""

import inspect
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from eyechart.datasets_scripts.common.errors import UsageError, check_ranges, unknown_name
from eyechart.evaluators.backends.chat import ChatOptions, Sampling
from eyechart.evaluators.backends.endpoint.options import EndpointOptions
from eyechart.evaluators.evaluation.options import (
    DataRequest,
    RunOptions,
    Texts,
    cli_option,
    data_option,
    scoring_option,
)
from eyechart.evaluators.requests.values import list_form

if TYPE_CHECKING:
    from eyechart.evaluators.judging import JudgeOptions
    from eyechart.evaluators.runs.task_runs import TaskRun

_judge = partial(cli_option, panel="Judge")
_output = partial(cli_option, panel="Output")
_data_arg = "Setting of the dataset, JSON or text; skip_missing=true leaves out rows without an image file. Repeatable."
_judge_arg = "Option of the judge, such as base_url=URL or max_cost=3; see `eyechart run --help-args`. Repeatable."
DataArgs = Annotated[Texts, data_option(_data_arg, metavar="NAME=VALUE")]
DATA_DIR_HELP = "Folder of the release. Without it, the official release is downloaded if possible. Repeatable."


@dataclass(frozen=True)
class Checkpoint:
    """Where a model stands in its training.

    Attributes:
        step: Its training step, at least 0, for `--track` and `compare --history`; by default the number in a name such
            as checkpoint-500.
    """

    step: int | None = None

    def __post_init__(self) -> None:
        """Refuse a step that is out of range."""
        check_ranges(self, step=(0, 1e15))


@dataclass(frozen=True)
class TaskOptions:
    """The options of `run` and `score` beside those of `DataRequest` and `RunOptions`."""

    dataset: Annotated[Texts, data_option("Dataset (default: the task's own). Repeatable.", metavar="NAME")] = None
    data_dir: Annotated[Texts, data_option(DATA_DIR_HELP, metavar="[DATASET=]PATH")] = None
    data_arg: DataArgs = None
    settings: Annotated[
        Texts, scoring_option("Setting, see `eyechart tasks NAME`. Repeatable.", "--set", metavar="NAME=VALUE")
    ] = None
    judge: Annotated[str | None, _judge("Name of the judge model on a server.", metavar="MODEL")] = None
    judge_arg: Annotated[Texts, _judge(_judge_arg, metavar="NAME=VALUE")] = None
    out: Annotated[Path | None, _output("Folder (default: ./eyechart_runs/<time>).", "--out", "--output")] = None
    no_store: Annotated[bool, _output("Neither reuse stored answers nor store new ones.", "--no-store")] = False
    verbose: Annotated[bool, _output("Print every score and every note too.", "--verbose")] = False

    def task_runs(
        self, tasks: Sequence[str], data: DataRequest, how: RunOptions, *, is_mini: bool = False
    ) -> "list[TaskRun]":
        """What to run, for these tasks; the settings in `how` have options of their own."""
        from eyechart.evaluators.runs.task_runs import make_task_runs

        settings = parse_pairs("--set", self.settings)
        for name in how.settings:
            if name in settings:
                option = "--prompt-style" if name == "prompt" else f"--{name.replace('_', '-')}"
                raise UsageError(f"{option} and --set {name} are both given; leave out one")
        request = replace(data, is_mini=data.is_mini or is_mini, **data_arguments(self.data_arg))
        how = replace(how, settings={**settings, **how.settings})
        task_runs = make_task_runs(tasks, request, how, datasets=self.dataset or (), data_dirs=self.data_dir or ())
        if data.is_mini and not any(task_run.data.is_mini for task_run in task_runs):
            names = ", ".join(dict.fromkeys(task_run.dataset for task_run in task_runs))
            raise UsageError(f"--mini has no effect on {names}: --data-dir or a task file names the data; leave it out")
        return task_runs

    def judge_options(self) -> "JudgeOptions | None":
        """The judge; None if no judge is named."""
        if self.judge is None:
            if self.judge_arg:
                raise UsageError(f"--judge-arg {self.judge_arg[0]} has no effect without --judge, the judge model")
            return None
        from eyechart.evaluators.judging import JudgeOptions

        parsed = parse_arguments("--judge-arg", self.judge_arg)
        endpoint = EndpointOptions(chat=ChatOptions(**parsed[ChatOptions]), **parsed[EndpointOptions])
        return JudgeOptions(self.judge, endpoint, **parsed[JudgeOptions])


def data_arguments(values: Sequence[str] | None) -> dict[str, Any]:
    """The fields of a `DataRequest` that `--data-arg` sets."""
    options = parse_pairs("--data-arg", values)
    skip_missing = options.pop("skip_missing", False)
    if not isinstance(skip_missing, bool):
        raise UsageError(f"--data-arg skip_missing={skip_missing!r} is not allowed; expected true or false")
    return {"options": options, "skip_missing": skip_missing}


def complete_task(incomplete: str) -> list[str]:
    """Papers and tasks whose names start with the text, for shells (`eyechart --install-completion`)."""
    from eyechart.evaluators.tasks import TASKS, more_tasks

    papers = dict.fromkeys(task.name.partition("/")[0] for task in TASKS)
    names = (*papers, *(task.name for task in TASKS), *more_tasks())
    return [name for name in names if name.startswith(incomplete)]


def known_arguments(option: str) -> dict[str, tuple[type, str]]:
    """What `--model-arg` or `--judge-arg` takes: by name, the dataclass and the field that it fills."""
    names: dict[type, tuple[str, ...]]
    server: tuple[str, ...]
    if option == "--model-arg":
        from eyechart.evaluators.backends.local.loading import LoadOptions

        loading = ("revision", "adapter", "chat_template", "processor", "device_map", "attention", "trust_remote_code")
        server = ("served_name", "concurrency", "timeout", "max_retries", "top_logprobs", "extra_body", "serve_timeout")
        server += ("price", "max_cost")
        names = {LoadOptions: loading, EndpointOptions: server, Sampling: ("top_p", "seed"), Checkpoint: ("step",)}
    else:
        from eyechart.evaluators.judging import JudgeOptions

        server = ("base_url", "concurrency", "timeout", "max_retries", "extra_body", "price", "max_cost")
        judge = ("temperature", "max_tokens")
        names = {EndpointOptions: server, JudgeOptions: judge, ChatOptions: ("system_prompt", "thinking")}
    known = {name: (owner, name) for owner, fields_of in names.items() for name in fields_of}
    # A run has a seed of its own.
    return {"sampling_seed" if name == "seed" else name: field for name, field in known.items()}


def meaning(owner: type, field: str) -> str:
    """What a field means: its line in the docstring of its dataclass."""
    lines = re.search(rf"^ +{field}: (.*?)(?=^ *\w+:\s|\Z)", inspect.getdoc(owner) or "", re.DOTALL | re.MULTILINE)
    return " ".join(lines[1].split()) if lines else ""


def parse_arguments(option: str, values: Sequence[str] | None) -> dict[type, dict[str, Any]]:
    """The fields that values of `--model-arg` or `--judge-arg` set, by dataclass."""
    from pydantic import TypeAdapter, ValidationError

    known = known_arguments(option)
    parsed: dict[type, dict[str, Any]] = {owner: {} for owner, _ in known.values()}
    for name, text in split_pairs(option, values).items():
        if name not in known:
            raise unknown_name("argument", name, known, f"of {option}")
        owner, field_name = known[name]
        value = _json_or_text(text) if text[:1] in ("{", "[") else text
        try:
            parsed[owner][field_name] = TypeAdapter(owner.__annotations__[field_name]).validate_python(value)
        except ValidationError as error:
            about = error.errors(include_url=False)[0]
            is_list = about["type"] == "tuple_type" or about["loc"]
            reason = list_form(meaning(owner, field_name)) if is_list else about["msg"]
            raise UsageError(f"{option} {name}={text!r:.200} is not allowed: {reason}") from error
    return parsed


def parse_pairs(option: str, values: Sequence[str] | None) -> dict[str, Any]:
    """Name to value of NAME=VALUE; a value that is not JSON is text, or a list of texts: [good,fair,bad]."""
    parsed = {name: _json_or_text(text) for name, text in split_pairs(option, values).items()}
    return {
        name: [part.strip() for part in value[1:-1].split(",")]
        if isinstance(value, str) and value.startswith("[") and value.endswith("]")
        else value
        for name, value in parsed.items()
    }


def split_pairs(option: str, values: Sequence[str] | None, form: str = "NAME=VALUE") -> dict[str, str]:
    """Name to text of NAME=VALUE."""
    texts: dict[str, str] = {}
    for value in values or ():
        name, equals, text = value.partition("=")
        if not equals or name in texts:
            problem = f"gives {name} twice; give it once" if equals else f"is not {form}"
            raise UsageError(f"{option} {value!r} {problem}")
        texts[name] = text
    return texts


def _json_or_text(text: str) -> Any:
    try:
        value = json.loads(text)
        # Only what can be sent and written again, so without infinities and unpaired surrogates.
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return text
    return value
