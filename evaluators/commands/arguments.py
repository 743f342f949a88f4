"""Options that several commands share. Each group is a dataclass whose fields are the options, with help and default.

A command takes such groups as parameters; `expanded` gives it the flat signature from which typer reads its options.
"""

import copy
import inspect
import json
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import Enum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, get_type_hints

import typer

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.backends.chat_options import ChatOptions, parse_thinking
from eyechart.evaluators.backends.endpoint.options import (
    DEFAULT_CONCURRENCY,
    DEFAULT_TIMEOUT,
    LONGEST_TIMEOUT,
    EndpointOptions,
)
from eyechart.evaluators.requests.values import is_deeper
from eyechart.evaluators.runs.console import checked

if TYPE_CHECKING:
    from eyechart.evaluators.evaluation.data import DataRequest
    from eyechart.evaluators.evaluation.options import RunOptions
    from eyechart.evaluators.judging import JudgeOptions

_MOST_LEVELS = 50
"""How deeply lists and objects can be nested in the value of an option."""
_OUTPUT = "Output"
"""Panel of the help page for options about files."""


class BackendKind(Enum):
    """What runs the model."""

    TRANSFORMERS = "transformers"
    OPENAI = "openai"


class PromptStyle(Enum):
    """Which toolkit's prompt asks multiple-choice questions."""

    EYECHART = "eyechart"
    VLMEVALKIT = "vlmevalkit"
    LMMS_EVAL = "lmms-eval"


_PROMPTS = {PromptStyle.EYECHART: "default"}
"""The protocols' name for the prompt of a style, if it differs."""


@dataclass(frozen=True)
class DataArguments:
    """The data that a command runs on."""

    panel: ClassVar[str] = "Data"

    dataset: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Dataset to run on (default: the task's own). Repeatable."),
    ] = None
    split: Annotated[str | None, typer.Option(help="Split to run on (default: the task's first).")] = None
    limit: Annotated[int | None, typer.Option(min=1, help="Evaluate only the first N items.")] = None
    sample: Annotated[
        int | None, typer.Option(min=1, help="Evaluate a random sample of N items, stratified by group.")
    ] = None
    data_dir: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[DATASET=]PATH",
            help="Folder of the release. Without it, the official release is downloaded if possible. Repeatable.",
        ),
    ] = None
    data_option: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Setting of the dataset; the value is JSON or text. Repeatable."),
    ] = None
    mini: Annotated[bool, typer.Option("--mini", help="Use synthetic demo data for datasets without --data-dir.")] = (
        False
    )

    def request(self) -> "DataRequest":
        """What to run on; dataset and folder are chosen for each task.

        Raises:
            UsageError: `--limit` and `--sample` are both given, or an option of the data is not NAME=VALUE.
        """
        from eyechart.evaluators.evaluation.data import DataRequest

        options = parse_pairs("--data-option", self.data_option or [])
        return DataRequest(split=self.split, is_mini=self.mini, options=options, limit=self.limit, sample=self.sample)


@dataclass(frozen=True)
class TaskArguments:
    """How tasks are run, and where results go."""

    panel: ClassVar[str] = "Task and scoring"

    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Setting of the task; `eyechart tasks NAME` lists its settings. Repeatable.",
        ),
    ] = None
    prompt_style: Annotated[
        PromptStyle | None,
        typer.Option(help="Use another toolkit's multiple-choice prompt, to compare scores with it."),
    ] = None
    max_new_tokens: Annotated[int | None, typer.Option(min=1, help="Maximum length of a reply, in tokens.")] = None
    blind: Annotated[
        bool,
        typer.Option("--blind", help="Ask multiple-choice questions without the images, to see which need no image."),
    ] = False
    as_published: Annotated[
        bool,
        typer.Option(
            "--as-published",
            help="Use the paper's settings where the defaults differ; the results list what this changes.",
        ),
    ] = False
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of intervals and random choices (default: 0).")] = None
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "--output",
            help="Folder for the results (default: ./eyechart_runs/<time>).",
            rich_help_panel=_OUTPUT,
        ),
    ] = None
    skip_bad: Annotated[
        bool,
        typer.Option(
            "--skip-bad",
            help="Leave out rows and images that cannot be read, and items without an answer; the results list them.",
            rich_help_panel=DataArguments.panel,
        ),
    ] = False
    no_store: Annotated[
        bool,
        typer.Option(
            "--no-store", help="Do not reuse stored answers, and do not store new ones.", rich_help_panel=_OUTPUT
        ),
    ] = False
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Print every score and every note too.", rich_help_panel=_OUTPUT)
    ] = False

    def options(self) -> "RunOptions":
        """How to run.

        Raises:
            UsageError: A value is not NAME=VALUE, or a setting is given twice.
        """
        from eyechart.evaluators.evaluation.options import RunOptions

        return RunOptions(self._settings(), self.as_published, self.seed or 0, skip_bad=self.skip_bad)

    def _settings(self) -> dict[str, Any]:
        """The settings of `--set`, `--prompt-style`, `--max-new-tokens` and `--blind`, by name."""
        found = parse_pairs("--set", self.settings or [])
        style = None if self.prompt_style is None else _PROMPTS.get(self.prompt_style, self.prompt_style.value)
        for option, name, value in (
            ("--prompt-style", "prompt", style),
            ("--max-new-tokens", "max_new_tokens", self.max_new_tokens),
            ("--blind", "blind", self.blind or None),
        ):
            if value is not None and name in found:
                raise UsageError(f"{option} and --set {name} are both given; leave out one")
            found |= {} if value is None else {name: value}
        return found


@dataclass(frozen=True)
class JudgeArguments:
    """A judge on a server."""

    panel: ClassVar[str] = "Judge"

    judge: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Name of the judge model on its server (default: no judge)."),
    ] = None
    judge_base_url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="URL of the judge's server (default: OpenAI's)."),
    ] = None
    judge_temperature: Annotated[
        float | None, typer.Option(min=0, help="Sampling temperature of the judge (default: 1).")
    ] = None
    judge_max_tokens: Annotated[
        int | None,
        typer.Option(min=1, help="Maximum length of the judge's reply, in tokens (default: 64)."),
    ] = None
    judge_system_prompt: Annotated[str | None, typer.Option(metavar="TEXT", help="System prompt for the judge.")] = None
    judge_thinking: Annotated[
        str | None,
        typer.Option(metavar="on|off|N", help="Turn the judge's reasoning on or off, or limit it to N tokens."),
    ] = None
    judge_extra_body: Annotated[
        str | None,
        typer.Option(metavar="JSON", help="Extra fields of every request to the judge; null removes one."),
    ] = None
    judge_concurrency: Annotated[
        int | None,
        typer.Option(min=1, help=f"Maximum number of parallel requests (default: {DEFAULT_CONCURRENCY})."),
    ] = None
    judge_timeout: Annotated[
        float | None,
        typer.Option(
            min=0.001,
            max=LONGEST_TIMEOUT,
            metavar="SECONDS",
            help=f"How long to wait for a reply of the judge (default: {DEFAULT_TIMEOUT:.0f}).",
        ),
    ] = None
    judge_max_cost: Annotated[
        float | None,
        typer.Option(
            min=0,
            metavar="DOLLARS",
            help="Spending limit in US dollars. Once it is reached, nothing more is judged; the results say so.",
        ),
    ] = None
    judge_price: Annotated[
        tuple[float, float] | None,
        typer.Option(
            metavar="INPUT OUTPUT",
            help="Prices in US dollars per million input and output tokens; needed for --judge-max-cost.",
        ),
    ] = None

    def options(self) -> "JudgeOptions | None":
        """The judge of a run; None if no judge is named.

        Raises:
            UsageError: A judge option is given without --judge, or its value is not allowed.
        """
        given = {one.name: value for one in fields(self) if (value := getattr(self, one.name)) is not None}
        if self.judge is None:
            if given:
                names = ", ".join(f"--{name.replace('_', '-')}" for name in given)
                raise UsageError(f"{names} has no effect without --judge, the name of the judge model on its server")
            return None
        from eyechart.evaluators.judging import JudgeOptions

        endpoint = EndpointOptions(
            base_url=self.judge_base_url,
            concurrency=self.judge_concurrency or DEFAULT_CONCURRENCY,
            timeout=self.judge_timeout or DEFAULT_TIMEOUT,
            chat=ChatOptions(
                self.judge_system_prompt, None if self.judge_thinking is None else parse_thinking(self.judge_thinking)
            ),
            extra_body=parse_object("--judge-extra-body", self.judge_extra_body),
        )
        own = {"judge_temperature": "temperature", "judge_max_tokens": "max_tokens"}
        own |= {"judge_max_cost": "max_cost", "judge_price": "price"}
        return JudgeOptions(
            self.judge, endpoint, **{name: given[option] for option, name in own.items() if option in given}
        )


def expanded(command: Callable[..., None]) -> Callable[..., None]:
    """Replace the dataclass parameters of a command by their fields, from which typer makes options."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    parameters = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name not in groups:
            kind = inspect.Parameter.KEYWORD_ONLY
            parameters.append(parameter.replace(kind=kind, annotation=hints[name]))
            continue
        of_group = get_type_hints(groups[name], include_extras=True)
        for one in fields(groups[name]):
            default = inspect.Parameter.empty if one.default is MISSING else one.default
            parameters.append(
                inspect.Parameter(
                    one.name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=default,
                    annotation=_in_panel(of_group[one.name], getattr(groups[name], "panel", None)),
                )
            )

    @wraps(command)
    def run(**values: Any) -> None:
        def make() -> dict[str, Any]:
            return {
                name: group(**{one.name: values.pop(one.name) for one in fields(group)})
                for name, group in groups.items()
            }

        made = checked(make)
        command(**values, **made)

    del run.__wrapped__
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _in_panel(hint: Any, panel: str | None) -> Any:
    """An option in the panel of its group on the help page, unless it names its own."""
    option = copy.copy(hint.__metadata__[0])
    option.rich_help_panel = option.rich_help_panel or panel
    return Annotated[hint.__origin__, option]


def parse_pairs(option: str, values: Sequence[str]) -> dict[str, Any]:
    """Name to value of `NAME=VALUE`; a value that is not JSON is text.

    Raises:
        UsageError: A value has another form, or a name is given twice.
    """
    found: dict[str, Any] = {}
    for value in values:
        name, equals, text = value.partition("=")
        if not equals or name in found:
            raise UsageError(f"{option} {value!r} is not NAME=VALUE, or gives NAME twice")
        try:
            found[name] = json.loads(text)
        except ValueError:
            found[name] = text
        except RecursionError as error:
            raise _too_deep(f"{option} {name}") from error
        if is_deeper(found[name], _MOST_LEVELS):
            raise _too_deep(f"{option} {name}")
    return found


def parse_object(option: str, text: str | None) -> dict[str, Any]:
    """The value of an option that takes a JSON object; {} if the option is not given.

    Raises:
        UsageError: The value is not a JSON object.
    """
    if text is None:
        return {}
    try:
        found = json.loads(text)
        # It can only be sent without infinities and unpaired surrogates.
        json.dumps(found, allow_nan=False, ensure_ascii=False).encode()
    except ValueError as error:
        reason = f'{option} {text!r:.200} is not JSON ({error}); expected an object such as {{"top_k": 1}}'
        raise UsageError(reason) from error
    except RecursionError as error:
        raise _too_deep(option) from error
    if not isinstance(found, dict):
        raise UsageError(f'{option} {text!r:.200} is not a JSON object; expected an object such as {{"top_k": 1}}')
    if is_deeper(found, _MOST_LEVELS):
        raise _too_deep(option)
    return found


def _too_deep(option: str) -> UsageError:
    return UsageError(f"{option} is nested too deeply; at most {_MOST_LEVELS} levels are allowed")
