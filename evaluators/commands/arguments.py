"""The options that `run` and `score` share, and NAME=VALUE arguments, typed by the dataclasses that they fill."""

import inspect
import json
import re
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from eyechart.datasets_scripts.common.errors import UsageError, unknown_name
from eyechart.evaluators.backends.chat_options import ChatOptions, Sampling
from eyechart.evaluators.backends.endpoint.options import EndpointOptions
from eyechart.evaluators.requests.values import is_deeper

if TYPE_CHECKING:
    from eyechart.evaluators.evaluation.data import DataRequest
    from eyechart.evaluators.judging import JudgeOptions

_MOST_LEVELS = 50
"""How deeply lists and objects can be nested in the value of an option."""
_SERVER = ("served_name", "timeout", "max_retries", "top_logprobs", "extra_body")
_LOADING = ("revision", "adapter", "chat_template", "processor", "device_map", "attention", "trust_remote_code")

Known = Mapping[str, tuple[type, str]]
"""The names of an option's arguments: for each, the dataclass and the field that it fills."""
Parsed = Mapping[type, dict[str, Any]]
"""The values of such arguments, by dataclass and field."""


class PromptStyle(Enum):
    """Which toolkit's prompt asks multiple-choice questions."""

    EYECHART = "eyechart"
    VLMEVALKIT = "vlmevalkit"
    LMMS_EVAL = "lmms-eval"


def complete_task(incomplete: str) -> list[str]:
    """Papers and tasks whose names start with the text, for shells (`eyechart --install-completion`)."""
    from eyechart.evaluators.tasks import TASKS

    papers = dict.fromkeys(task.name.partition("/")[0] for task in TASKS)
    return [name for name in (*papers, *(task.name for task in TASKS)) if name.startswith(incomplete)]


_data = partial(typer.Option, rich_help_panel="Data")
_scoring = partial(typer.Option, rich_help_panel="Task and scoring")
_output = partial(typer.Option, rich_help_panel="Output")
_judge = partial(typer.Option, rich_help_panel="Judge")

Datasets = Annotated[
    list[str] | None, _data(metavar="NAME", help="Dataset to run on (default: the task's own). Repeatable.")
]
Split = Annotated[str | None, _data(help="Split to run on (default: the task's first).")]
Limit = Annotated[int | None, _data(min=1, help="Evaluate only the first N items.")]
RandomSample = Annotated[int | None, _data(min=1, help="Evaluate a random sample of N items, stratified by group.")]
DataDirs = Annotated[
    list[str] | None,
    _data(
        metavar="[DATASET=]PATH",
        help="Folder of the release. Without it, the official release is downloaded if possible. Repeatable.",
    ),
]
DataArgs = Annotated[
    list[str] | None,
    _data(
        metavar="NAME=VALUE",
        help="Setting of the dataset; the value is JSON or text. skip_missing=true leaves out rows whose image is "
        "missing. Repeatable.",
    ),
]
Mini = Annotated[bool, _data("--mini", help="Use synthetic demo data for datasets without --data-dir.")]
SkipBad = Annotated[
    bool,
    _data(
        "--skip-bad",
        help="Leave out rows and images that cannot be read, and items without an answer; the results list them.",
    ),
]
Settings = Annotated[
    list[str] | None,
    _scoring(
        "--set",
        metavar="NAME=VALUE",
        help="Setting of the task; `eyechart tasks NAME` lists its settings. Repeatable.",
    ),
]
AsPublished = Annotated[
    bool,
    _scoring(
        "--as-published",
        help="Use the paper's settings where the defaults differ; the results list what this changes.",
    ),
]
Seed = Annotated[int, _scoring(min=0, help="Seed of intervals and random choices.")]
Judge = Annotated[str | None, _judge(metavar="MODEL", help="Name of the judge model on a server (default: no judge).")]
JudgeArgs = Annotated[
    list[str] | None,
    _judge(
        metavar="NAME=VALUE",
        help="Option of the judge, such as base_url=URL (default: OpenAI's server) or max_cost=DOLLARS; "
        "`eyechart run --help-args` lists all. Repeatable.",
    ),
]
Out = Annotated[
    Path | None, _output("--out", "--output", help="Folder for the results (default: ./eyechart_runs/<time>).")
]
NoStore = Annotated[bool, _output("--no-store", help="Do not reuse stored answers, and do not store new ones.")]
Verbose = Annotated[bool, _output("--verbose", help="Print every score and every note too.")]


def data_request(arguments: Sequence[str] | None, **fields: Any) -> "DataRequest":
    """What to run on; dataset and folder are chosen for each task.

    Raises:
        UsageError: A value is not allowed, or a limit and a sample are both given.
    """
    from eyechart.evaluators.evaluation.data import DataRequest

    known = _fields(DataRequest, ("skip_missing",))
    texts = _split("--data-arg", arguments or [])
    own = {name: _typed(f"--data-arg {name}", text, *known[name]) for name, text in texts.items() if name in known}
    options = {name: _json_or_text(f"--data-arg {name}", text) for name, text in texts.items() if name not in known}
    return DataRequest(options=options, **own, **fields)


def judge_options(judge: str | None, arguments: Sequence[str] | None) -> "JudgeOptions | None":
    """The judge of a run; None if no judge is named.

    Raises:
        UsageError: An argument is given without a judge, or its value is not allowed.
    """
    if judge is None and not arguments:
        return None
    from eyechart.evaluators.judging import JudgeOptions

    parsed = parse_arguments("--judge-arg", arguments, judge_arguments())
    if judge is None:
        raise UsageError(
            f"--judge-arg {(arguments or [''])[0]} has no effect without --judge, the name of the judge model on its "
            "server"
        )
    endpoint = EndpointOptions(chat=ChatOptions(**parsed[ChatOptions]), **parsed[EndpointOptions])
    return JudgeOptions(judge, endpoint, **parsed[JudgeOptions])


def model_arguments() -> Known:
    """The names of `--model-arg`."""
    from eyechart.evaluators.backends.local.loading import LoadOptions

    sampling = {"top_p": (Sampling, "top_p"), "sampling_seed": (Sampling, "seed")}
    return {**_fields(LoadOptions, _LOADING), **_fields(EndpointOptions, _SERVER), **sampling}


def judge_arguments() -> Known:
    """The names of `--judge-arg`."""
    from eyechart.evaluators.judging import JudgeOptions

    return {
        **_fields(EndpointOptions, ("base_url", "concurrency", "timeout", "max_retries", "extra_body")),
        **_fields(JudgeOptions, ("temperature", "max_tokens", "price", "max_cost")),
        **_fields(ChatOptions, ("system_prompt", "thinking")),
    }


def meanings(known: Known) -> dict[str, str]:
    """What each argument means: the first sentences of its line in its dataclass's docstring."""
    return {name: _meaning(owner, field) for name, (owner, field) in known.items()}


def _meaning(owner: type, field: str) -> str:
    lines = re.search(rf"^ +{field}: (.*?)(?=^ +\w+: |\Z)", inspect.getdoc(owner) or "", re.DOTALL | re.MULTILINE)
    return " ".join(lines[1].split()) if lines else ""


def _fields(owner: type, names: Sequence[str]) -> Known:
    return {name: (owner, name) for name in names}


def parse_arguments(option: str, values: Sequence[str] | None, known: Known) -> Parsed:
    """The fields that NAME=VALUE arguments set, by dataclass.

    Raises:
        UsageError: A name is unknown or given twice, or a value is not of the field's type.
    """
    parsed: dict[type, dict[str, Any]] = {owner: {} for owner, _ in known.values()}
    for name, text in _split(option, values or []).items():
        if name not in known:
            raise unknown_name("argument", name, known, f"of {option}")
        owner, field = known[name]
        parsed[owner][field] = _typed(f"{option} {name}", text, owner, field)
    return parsed


def parse_pairs(option: str, values: Sequence[str] | None) -> dict[str, Any]:
    """Name to value of NAME=VALUE; a value that is not JSON is text.

    Raises:
        UsageError: A value has another form, or a name is given twice.
    """
    return {name: _json_or_text(f"{option} {name}", text) for name, text in _split(option, values or []).items()}


def name_of(pair: str) -> str:
    """The name in NAME=VALUE."""
    return pair.partition("=")[0]


def _split(option: str, values: Sequence[str]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for value in values:
        name, equals, text = value.partition("=")
        if not equals or name in texts:
            raise UsageError(f"{option} {value!r} is not NAME=VALUE, or gives NAME twice")
        texts[name] = text
    return texts


def _typed(given: str, text: str, owner: type, field: str) -> Any:
    """The value of a field; `given` is the option with the name, for errors."""
    from pydantic import TypeAdapter, ValidationError

    value = _json_or_text(given, text) if text[:1] in ("{", "[") else text
    try:
        return TypeAdapter(get_type_hints(owner)[field]).validate_python(value)
    except ValidationError as error:
        reason = error.errors(include_url=False)[0]["msg"]
        raise UsageError(f"{given}={text!r:.200} is not allowed: {reason}") from error


def _json_or_text(given: str, text: str) -> Any:
    """A value that is not JSON is text."""
    too_deep = UsageError(f"{given} is nested too deeply; at most {_MOST_LEVELS} levels are allowed")
    try:
        value = json.loads(text)
        # Only what can be sent and written again, so without infinities and unpaired surrogates.
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except ValueError:
        return text
    except RecursionError as error:
        raise too_deep from error
    if is_deeper(value, _MOST_LEVELS):
        raise too_deep
    return value
