"""`eyechart run`: evaluate models."""

import os
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators import tiny_vlm
from eyechart.evaluators.backends.chat_options import ChatOptions, Sampling, parse_thinking
from eyechart.evaluators.backends.endpoint.options import (
    DEFAULT_CONCURRENCY,
    DEFAULT_TIMEOUT,
    DEFAULT_TOP_LOGPROBS,
    EndpointOptions,
)
from eyechart.evaluators.commands.arguments import (
    BackendKind,
    DataArguments,
    JudgeArguments,
    TaskArguments,
    expanded,
    parse_object,
    parse_pairs,
)
from eyechart.evaluators.commands.completion import complete_task
from eyechart.evaluators.commands.running import ModelRun, announce, default_folder, execute_plan, model_folders
from eyechart.evaluators.commands.sampling import SamplingArguments
from eyechart.evaluators.commands.serving import ServeArguments, start, stopped_at_end
from eyechart.evaluators.runs.console import checked

if TYPE_CHECKING:
    from eyechart.evaluators.backends.local.loading import LoadOptions
    from eyechart.evaluators.requests.types import Backend
    from eyechart.evaluators.runs.plan import TaskRun
    from eyechart.evaluators.runs.suite_file import Suite


_OF_MODELS_HERE = frozenset(
    (
        *("batch_size", "device", "dtype", "device_map", "attention", "revision", "trust_remote_code"),
        *("adapter", "model_arg"),
    )
)
"""Options for models that run in this process, not on a server."""
_server_option = partial(typer.Option, rich_help_panel="Model on a server")


@dataclass(frozen=True)
class ModelArguments:
    """The model and what runs it."""

    panel: ClassVar[str] = "Model"

    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT",
            help="Id or folder of a transformers model (image-text-to-text, or a dual encoder such as CLIP), or its "
            "name on a server. Repeatable: the models run one after the other and are then compared.",
            show_default=tiny_vlm.NAME,
        ),
    ] = None
    name: Annotated[str | None, typer.Option(help="Name to show in results instead of the model id.")] = None
    backend: Annotated[
        BackendKind | None,
        typer.Option(help="Where the model runs: here (transformers), or on a server (openai, implied by --base-url)."),
    ] = None
    base_url: Annotated[
        str | None, _server_option(help="URL of an OpenAI-compatible server, such as http://127.0.0.1:8000/v1.")
    ] = None
    served_name: Annotated[
        str | None,
        _server_option(
            metavar="NAME",
            help="Confirm that this name, under which the server answers, means the model given by --model.",
        ),
    ] = None
    concurrency: Annotated[int, _server_option(min=1, help="Maximum number of parallel requests to a server.")] = (
        DEFAULT_CONCURRENCY
    )
    timeout: Annotated[float, _server_option(help="Seconds to wait for a complete reply from a server.")] = (
        DEFAULT_TIMEOUT
    )
    top_logprobs: Annotated[
        int,
        _server_option(
            min=1,
            help="Number of likeliest tokens to ask a server for, for scores that are computed from probabilities.",
        ),
    ] = DEFAULT_TOP_LOGPROBS
    batch_size: Annotated[
        int | None,
        typer.Option(min=1, help="Requests per forward pass; halved when memory runs out (default: automatic)."),
    ] = None
    device: Annotated[str | None, typer.Option(help="Device for the model, such as cpu or cuda:0.")] = None
    dtype: Annotated[str, typer.Option(help="Precision, such as bfloat16; auto keeps that of the weights.")] = "auto"
    device_map: Annotated[str | None, typer.Option(help="Device map over several devices, such as auto.")] = None
    attention: Annotated[str | None, typer.Option(help="Attention, such as sdpa or flash_attention_2.")] = None
    revision: Annotated[str | None, typer.Option(help="Branch, tag or commit of a model on the Hub.")] = None
    trust_remote_code: Annotated[
        bool, typer.Option("--trust-remote-code", help="Allow code from the model's repository to run.")
    ] = False
    adapter: Annotated[
        str | None, typer.Option(metavar="PATH", help="Folder or id of a PEFT adapter. Not for models on a server.")
    ] = None
    model_arg: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="chat_template=FILE for another chat template, or a setting of the image processor, such as "
            "max_pixels=1003520. Not for models on a server. Repeatable.",
        ),
    ] = None
    system_prompt: Annotated[str | None, typer.Option(metavar="TEXT", help="System prompt for every request.")] = None
    thinking: Annotated[
        str | None,
        typer.Option(
            metavar="on|off|N",
            help="Turn the reasoning of a hybrid model on or off, or limit it to N tokens.",
        ),
    ] = None
    extra_body: Annotated[
        str | None,
        _server_option(metavar="JSON", help="Extra fields of every request, as a JSON object; null removes a field."),
    ] = None

    def __post_init__(self) -> None:
        """Refuse a model that is given twice, and options that only one model can have.

        Raises:
            UsageError: One of them is given.
        """
        names = [os.path.normpath(name) for name in self.model or []]
        for name in names:
            if names.count(name) > 1:
                raise UsageError(f"--model {name} is given {names.count(name)} times; name each model once")
        for option in ("name", "served_name", "adapter", "revision"):
            if len(names) > 1 and (value := getattr(self, option)) is not None:
                option = f"--{option.replace('_', '-')}"
                raise UsageError(f"{option} {value} is for one model, but {len(names)} are given; run each on its own")

    @property
    def models(self) -> list[str | None]:
        """The models to run, one after the other; None is the bundled model."""
        return [*self.model] if self.model else [None]

    def check_served(self) -> None:
        """Refuse options that do not fit --serve.

        Raises:
            UsageError: One of them is given.
        """
        if self.backend is BackendKind.TRANSFORMERS:
            raise UsageError("--serve starts a server, but --backend transformers does not use one; leave one out")
        if self.base_url is not None or self.served_name is not None:
            name = "--base-url" if self.base_url is not None else "--served-name"
            raise UsageError(
                f"{name} is for a server that is already running, but --serve starts a new one; leave one out"
            )
        given = {one.name for one in fields(self) if getattr(self, one.name) != one.default}
        if here := sorted(given & _OF_MODELS_HERE):
            names = ", ".join(f"--{name.replace('_', '-')}" for name in here)
            raise UsageError(f"{names} has no effect on a server: pass the server's own options in --serve")

    @property
    def is_named(self) -> bool:
        """Whether the user chose a model, not the bundled one."""
        return self.model is not None or self.backend is not None or self.base_url is not None

    def endpoint(self, sampling: Sampling | None = None, *, is_served: bool = False) -> EndpointOptions | None:
        """How to query a server; None for a model that runs in this process.

        Args:
            sampling: How replies are sampled; None for greedy decoding.
            is_served: Whether the run starts the server.

        Raises:
            UsageError: Options contradict each other.
        """
        if self.backend is BackendKind.TRANSFORMERS and self.base_url is not None:
            raise UsageError("--base-url names a server, but --backend transformers does not use one; leave one out")
        if is_served:
            self.check_served()
        elif self.backend is not BackendKind.OPENAI and self.base_url is None:
            if self.served_name is not None:
                raise UsageError(
                    "--served-name has no effect without a server; name one with --base-url, or leave --served-name out"
                )
            if self.extra_body is not None:
                raise UsageError(
                    "--extra-body has no effect without a server; name one with --base-url, or leave --extra-body out"
                )
            return None
        if self.adapter is not None or self.model_arg:
            name = "--model-arg" if self.adapter is None else "--adapter"
            raise UsageError(f"{name} has no effect on a server; configure it when you start the server")
        if self.model is None:
            raise UsageError("a server needs --model, the model's name on that server")
        return EndpointOptions(
            base_url=self.base_url,
            concurrency=self.concurrency,
            timeout=self.timeout,
            top_logprobs=self.top_logprobs,
            served_name=self.served_name,
            chat=self.chat(sampling),
            extra_body=parse_object("--extra-body", self.extra_body),
        )

    def chat(self, sampling: Sampling | None = None) -> ChatOptions:
        """Options of every chat with the model."""
        thinking = None if self.thinking is None else parse_thinking(self.thinking)
        return ChatOptions(self.system_prompt, thinking, sampling)

    def load_options(self, own_device: str | None) -> "LoadOptions":
        """How to load a model in this process; `own_device` is the device of this process."""
        from eyechart.evaluators.backends.local.loading import LoadOptions, read_template

        processor = parse_pairs("--model-arg", self.model_arg or [])
        template = processor.pop("chat_template", None)
        return LoadOptions(
            self.device or own_device,
            self.dtype,
            self.device_map,
            self.attention,
            self.revision,
            self.trust_remote_code,
            processor,
            self.adapter,
            None if template is None else read_template(str(template)),
        )


@expanded
def run(
    model: ModelArguments,
    sampling: SamplingArguments,
    serve: ServeArguments,
    data: DataArguments,
    task: TaskArguments,
    judge: JudgeArguments,
    tasks: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TASK|FILE",
            autocompletion=complete_task,
            help="Tasks, as listed by `eyechart tasks`; papers, such as q_bench, for all their tasks; names with "
            "wildcards, such as 'mmbench/*'; or your own task files (.yaml, .py). Default: all tasks.",
        ),
    ] = None,
    suite: Annotated[
        Path | None, typer.Option(metavar="FILE", help="YAML suite file that lists tasks with their data and settings.")
    ] = None,
    skip_missing: Annotated[
        bool,
        typer.Option(
            "--skip-missing",
            help="Leave out rows whose image is missing; the results list them.",
            rich_help_panel=DataArguments.panel,
        ),
    ] = False,
) -> None:
    """Evaluate a model. Without --model, the bundled tiny model runs on synthetic demo data."""
    announce(model.name or ", ".join(model.model or [tiny_vlm.NAME]))
    from eyechart.evaluators.evaluation.repeats import check_repeats
    from eyechart.evaluators.runs.data import check_data, check_mini
    from eyechart.evaluators.runs.plan import check_blind, make_plan
    from eyechart.evaluators.runs.suite_file import read_suite

    # A model that the user names never runs on synthetic data unless --mini asks for them.
    is_mini = data.mini or not model.is_named

    def plan_run() -> "tuple[Suite | None, list[TaskRun]]":
        if suite is not None:
            if given := [*(tasks or []), *_given(data), *_given(task)]:
                raise UsageError(
                    f"{', '.join(given)} cannot be combined with the suite file {suite}; write it into the file"
                )
            return read_suite(suite, is_mini=not model.is_named)
        request = replace(data.request(), is_mini=is_mini)
        plan = make_plan(
            tasks or [], request, task.options(), datasets=data.dataset or (), data_dirs=data.data_dir or ()
        )
        if data.mini:
            check_mini(plan)
        if task.blind:
            check_blind(plan)
        return None, plan

    suite_file, plan = checked(plan_run)
    plan = [
        replace(
            planned,
            data=replace(planned.data, skip_missing=skip_missing, skip_bad=task.skip_bad),
            options=replace(planned.options, skip_bad=task.skip_bad, repeats=sampling.repeats),
        )
        for planned in plan
    ]
    folders = model_folders(task.out or default_folder(), model.models)
    judging, server = checked(judge.options), checked(lambda: serve.server(model.models, folders[0]))
    endpoint = checked(lambda: model.endpoint(sampling.options(), is_served=server is not None))
    chat = checked(lambda: model.chat(sampling.options()))
    load_options = checked(lambda: model.load_options(None)) if endpoint is None else None
    for planned in plan:
        checked(partial(check_repeats, sampling.repeats, planned.task.name, planned.protocol().output_type))
    checked(lambda: check_data(plan))

    def make_backend(name: str | None, own_device: str | None) -> "Backend":
        from eyechart.evaluators.backends import resolve_backend

        if server is not None and endpoint is not None:
            from eyechart.evaluators.backends.endpoint.backend import OpenAIBackend

            return OpenAIBackend(str(name), start(server, endpoint), server)
        return resolve_backend(
            name,
            batch_size=model.batch_size,
            options=model.load_options(own_device),
            endpoint=endpoint,
            chat=chat,
        )

    contents = None if suite_file is None else suite_file.model_dump()
    runs = [
        ModelRun(partial(make_backend, id), folder, id, endpoint if server is None else None, load_options, model.name)
        for id, folder in zip(model.models, folders, strict=True)
    ]
    with stopped_at_end(server):
        execute_plan(plan, runs, judging, use_store=not task.no_store, verbose=task.verbose, suite=contents)


def _given(group: DataArguments | TaskArguments) -> list[str]:
    """The options of a group that are given although they belong in the suite file."""
    elsewhere = ("out", "skip_bad", "no_store", "verbose")
    given = [one.name for one in fields(group) if getattr(group, one.name) is not one.default]
    return ["--set" if name == "settings" else f"--{name.replace('_', '-')}" for name in given if name not in elsewhere]
