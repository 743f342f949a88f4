"""`eyechart run`: evaluate a model."""

from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from eyechart.datasets_scripts.common.errors import UsageError, unknown_name
from eyechart.evaluators.backends import bundled
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
from eyechart.evaluators.commands.completion import complete_suite, complete_task
from eyechart.evaluators.commands.running import default_folder, execute_plan
from eyechart.evaluators.commands.sampling import SamplingArguments
from eyechart.evaluators.commands.serving import ServeArguments, stopped_at_end
from eyechart.evaluators.runs.console import checked

if TYPE_CHECKING:
    from eyechart.evaluators.backends.local.loading import LoadOptions
    from eyechart.evaluators.requests.types import Backend
    from eyechart.evaluators.runs.plan import TaskRun
    from eyechart.evaluators.runs.run import RunOptions
    from eyechart.evaluators.runs.suite_file import Suite


_OF_MODELS_HERE = frozenset(
    (
        *("batch_size", "device", "dtype", "device_map", "attention", "revision", "trust_remote_code"),
        *("adapter", "processor"),
    )
)
"""Options for models that run in this process, not on a server."""
_server_option = partial(typer.Option, rich_help_panel="Model on a server")


@dataclass(frozen=True)
class ModelArguments:
    """The model and what runs it."""

    panel: ClassVar[str] = "Model"

    model: Annotated[
        str | None,
        typer.Option(
            help="Id or folder of a transformers image-text-to-text model or, for quality assessment, of a dual "
            "encoder such as CLIP; or the model's name on a server.",
            show_default=bundled.NAME,
        ),
    ] = None
    name: Annotated[str | None, typer.Option(help="Name to show in results instead of the model id.")] = None
    backend: Annotated[
        BackendKind | None,
        typer.Option(
            help="What runs the model: transformers on this machine, or a server (openai, implied by --base-url)."
        ),
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
            help="Number of most likely tokens to ask a server for, if scores are computed from their probabilities. "
            "vLLM returns more than 20 only if started with --max-logprobs.",
        ),
    ] = DEFAULT_TOP_LOGPROBS
    batch_size: Annotated[
        int | None,
        typer.Option(min=1, help="Requests per forward pass; halved when memory runs out (default: automatic)."),
    ] = None
    device: Annotated[str | None, typer.Option(help="Device for the model, such as cpu or cuda:0.")] = None
    dtype: Annotated[str, typer.Option(help="Precision, such as bfloat16; auto keeps that of the weights.")] = "auto"
    device_map: Annotated[
        str | None, typer.Option(help="Device map that spreads the model over several devices, such as auto.")
    ] = None
    attention: Annotated[
        str | None, typer.Option(help="Attention implementation, such as sdpa or flash_attention_2.")
    ] = None
    revision: Annotated[str | None, typer.Option(help="Branch, tag or commit of a model on the Hub.")] = None
    trust_remote_code: Annotated[
        bool, typer.Option("--trust-remote-code", help="Allow code from the model's repository to run.")
    ] = False
    adapter: Annotated[
        str | None, typer.Option(metavar="PATH", help="Folder or id of a PEFT adapter. Not for models on a server.")
    ] = None
    processor: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Setting of the image processor, such as max_pixels=1003520. Not for models on a server. Repeatable.",
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
        _server_option(metavar="JSON", help="Extra fields for every request to the server, as a JSON object."),
    ] = None

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
            raise UsageError(f"{names} has no effect on a server: pass the server's own options with --serve-args")

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
        if self.adapter is not None or self.processor:
            name = "--processor" if self.adapter is None else "--adapter"
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
        from eyechart.evaluators.backends.local.loading import LoadOptions

        return LoadOptions(
            self.device or own_device,
            self.dtype,
            self.device_map,
            self.attention,
            self.revision,
            self.trust_remote_code,
            parse_pairs("--processor", self.processor or []),
            self.adapter,
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
            help="Tasks, as listed by `eyechart tasks`, or your own task files (.yaml, .py). Default: all tasks.",
        ),
    ] = None,
    suite: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE",
            autocompletion=complete_suite,
            help="All tasks of one paper (q_bench, mmbench, ql_bench, aes_bench, two_afc), or a YAML suite file.",
        ),
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
    from eyechart.evaluators.evaluation.repeats import check_repeats
    from eyechart.evaluators.evaluation.suites import list_suites, suite_tasks
    from eyechart.evaluators.runs.data import check_data, check_mini
    from eyechart.evaluators.runs.plan import check_blind, make_plan
    from eyechart.evaluators.tasks import TASKS

    # A model that the user names never runs on synthetic data unless --mini asks for them.
    is_mini = data.mini or not model.is_named

    def plan_run() -> "tuple[Suite | None, list[TaskRun]]":
        if suite is not None and tasks:
            raise UsageError(f"--suite {suite} and the tasks {', '.join(tasks)} are both given; leave out one")
        if suite is not None and suite not in list_suites():
            return _read_suite(suite, _given(data) + _given(task), is_mini=not model.is_named)
        plan = make_plan(
            tasks or [],
            among=TASKS if suite is None else suite_tasks(suite),
            dataset=data.dataset,
            split=data.split,
            data_dirs=data.data_dir or [],
            is_mini=is_mini,
            data_options=parse_pairs("--data-option", data.data_option or []),
            settings=task.given_settings(),
            as_published=task.as_published,
            limit=data.limit,
            sample=data.sample,
        )
        if data.mini:
            check_mini(plan)
        if task.blind:
            check_blind(plan)
        return None, plan

    suite_file, plan = checked(plan_run)
    folder = task.out or default_folder()
    judging, server = checked(judge.options), checked(lambda: serve.server(model.model, folder))
    endpoint = checked(lambda: model.endpoint(sampling.options(), is_served=server is not None))
    chat = checked(lambda: model.chat(sampling.options()))
    for planned in plan:
        checked(partial(check_repeats, sampling.repeats, planned.task.name, planned.protocol().output_type))
    checked(lambda: check_data(plan))

    def make_backend(own_device: str | None) -> "Backend":
        from eyechart.evaluators.backends import resolve_backend

        if server is not None and endpoint is not None:
            from eyechart.evaluators.backends.endpoint.serving import ServedBackend
            from eyechart.evaluators.runs.run import make_folder

            make_folder(folder)
            return ServedBackend(resolve_backend(model.model, endpoint=serve.start(server, endpoint)), server)
        return resolve_backend(
            model.model,
            batch_size=model.batch_size,
            options=model.load_options(own_device),
            endpoint=endpoint,
            chat=chat,
        )

    def options() -> "RunOptions":
        from eyechart.evaluators.runs.run import RunOptions

        seed = task.seed or 0 if suite_file is None else suite_file.seed
        contents = None if suite_file is None else suite_file.model_dump()
        return RunOptions(seed, task.skip_bad, skip_missing, contents, model.name, sampling.repeats)

    with stopped_at_end(server):
        execute_plan(plan, make_backend, options, folder, judging, use_store=not task.no_store)


def _given(group: DataArguments | TaskArguments) -> list[str]:
    """The options of a group that are given although they belong in the suite file."""
    elsewhere = ("out", "skip_bad", "no_store")
    names = {"settings": "--set"}
    return [
        names.get(one.name, f"--{one.name.replace('_', '-')}")
        for one in fields(group)
        if one.name not in elsewhere and getattr(group, one.name) is not one.default
    ]


def _read_suite(path: str, given: list[str], *, is_mini: bool) -> "tuple[Suite, list[TaskRun]]":
    """Read a suite file; refuse the options in `given`, which belong in the file."""
    from eyechart.evaluators.evaluation.suites import list_suites
    from eyechart.evaluators.runs.suite_file import read_suite

    if not Path(path).exists():
        raise UsageError(f"{unknown_name('suite', path, list_suites())}; no file has that name either")
    if given:
        raise UsageError(f"{', '.join(given)} cannot be combined with the suite file {path}; write it into the file")
    return read_suite(path, is_mini=is_mini)
