"""`eyechart run`: evaluate a model."""

from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
"""Options that a model needs which runs in this process."""


@dataclass(frozen=True)
class ModelArguments:
    """The model and what runs it."""

    model: Annotated[
        str | None,
        typer.Option(
            help="Model id or folder of a transformers image-text-to-text model or (for quality assessment) of a dual "
            "encoder such as CLIP, or a model's name on a server.",
            show_default=bundled.NAME,
        ),
    ] = None
    name: Annotated[str | None, typer.Option(help="Name shown in results, instead of the model's id.")] = None
    backend: Annotated[
        BackendKind | None,
        typer.Option(help="Who runs the model: transformers here, or a server (openai), as --base-url implies."),
    ] = None
    base_url: Annotated[
        str | None, typer.Option(help="Address of an OpenAI-compatible server, such as http://127.0.0.1:8000/v1.")
    ] = None
    served_name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Confirm that the server answers under this name for the model that --model names."
        ),
    ] = None
    concurrency: Annotated[int, typer.Option(min=1, help="Requests at once to a server.")] = DEFAULT_CONCURRENCY
    timeout: Annotated[float, typer.Option(help="Seconds to wait for a server's whole answer.")] = DEFAULT_TIMEOUT
    top_logprobs: Annotated[
        int,
        typer.Option(
            min=1,
            help="Likeliest tokens to ask a server for where scores are made of them; vLLM gives more than 20 when "
            "started with --max-logprobs.",
        ),
    ] = DEFAULT_TOP_LOGPROBS
    batch_size: Annotated[
        int | None,
        typer.Option(min=1, help="Requests per forward pass, halved when memory runs out (default: automatic)."),
    ] = None
    device: Annotated[str | None, typer.Option(help="Device for the model, for example cpu or cuda:0.")] = None
    dtype: Annotated[str, typer.Option(help="Number format, for example bfloat16; auto is that of the weights.")] = (
        "auto"
    )
    device_map: Annotated[str | None, typer.Option(help="Spread the model over devices, for example auto.")] = None
    attention: Annotated[
        str | None, typer.Option(help="Attention implementation, for example sdpa or flash_attention_2.")
    ] = None
    revision: Annotated[str | None, typer.Option(help="Branch, tag or commit of a model on the Hub.")] = None
    trust_remote_code: Annotated[
        bool, typer.Option("--trust-remote-code", help="Run the code that the model's repository brings.")
    ] = False
    adapter: Annotated[
        str | None, typer.Option(metavar="PATH", help="Folder or id of a PEFT adapter for a model that runs here.")
    ] = None
    processor: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Setting of the image processor of a model that runs here, such as max_pixels=1003520. Repeatable.",
        ),
    ] = None
    system_prompt: Annotated[
        str | None, typer.Option(metavar="TEXT", help="What the system says before every question.")
    ] = None
    thinking: Annotated[
        str | None,
        typer.Option(
            metavar="on|off|N",
            help="Whether a model that can do both reasons before it answers, or the most tokens of its reasoning.",
        ),
    ] = None
    extra_body: Annotated[
        str | None,
        typer.Option(metavar="JSON", help="Fields to send to the server with every request, as a JSON object."),
    ] = None

    def check_served(self) -> None:
        """Refuse what is not for a server of the run's own.

        Raises:
            UsageError: Such an option is given.
        """
        if self.backend is BackendKind.TRANSFORMERS:
            raise UsageError("--serve starts a server, which --backend transformers does not ask; leave one out")
        if self.base_url is not None or self.served_name is not None:
            name = "--base-url" if self.base_url is not None else "--served-name"
            raise UsageError(f"{name} is for a server that runs already, and --serve starts one; leave one out")
        given = {one.name for one in fields(self) if getattr(self, one.name) != one.default}
        if here := sorted(given & _OF_MODELS_HERE):
            names = ", ".join(f"--{name.replace('_', '-')}" for name in here)
            raise UsageError(
                f"{names} is for a model that runs in eyechart itself; a server has options of its own for it: put "
                "those into --serve-args"
            )

    @property
    def is_named(self) -> bool:
        """Whether a model is named, and not the bundled one meant."""
        return self.model is not None or self.backend is not None or self.base_url is not None

    def endpoint(self, sampling: Sampling | None = None, *, is_served: bool = False) -> EndpointOptions | None:
        """How to ask a server, None for a model that runs here.

        Args:
            sampling: How replies are drawn; None for greedy ones.
            is_served: Whether the run starts the server.

        Raises:
            UsageError: Options that do not go together.
        """
        if self.backend is BackendKind.TRANSFORMERS and self.base_url is not None:
            raise UsageError("--base-url is the address of a server, which --backend transformers does not ask")
        if is_served:
            self.check_served()
        elif self.backend is not BackendKind.OPENAI and self.base_url is None:
            if self.served_name is not None:
                raise UsageError("--served-name is a server's name for its model, and no server is asked")
            if self.extra_body is not None:
                raise UsageError("--extra-body holds fields for a server, and no server is asked")
            return None
        if self.adapter is not None or self.processor:
            name = "--processor" if self.adapter is None else "--adapter"
            raise UsageError(f"{name} is for a model that runs here; a server loads its own, so give it to the server")
        if self.model is None:
            raise UsageError("a server needs --model, the model's name there")
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
        """What is asked of the model in every chat."""
        thinking = None if self.thinking is None else parse_thinking(self.thinking)
        return ChatOptions(self.system_prompt, thinking, sampling)

    def load_options(self, own_device: str | None) -> "LoadOptions":
        """How a model that runs here is loaded; `own_device` is that of this process."""
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
            help="Tasks, as `eyechart tasks` lists them, or files of tasks of your own (.yaml, .py); all tasks if none "
            "is given.",
        ),
    ] = None,
    suite: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE",
            autocompletion=complete_suite,
            help="All tasks of a paper (q_bench, mmbench, ql_bench, aes_bench, two_afc), or what a YAML file lists.",
        ),
    ] = None,
    skip_missing: Annotated[
        bool, typer.Option("--skip-missing", help="Leave out rows whose image is absent; list them.")
    ] = False,
) -> None:
    """Evaluate a model on the real data; where no model is named, the bundled tiny model on synthetic ones."""
    from eyechart.evaluators.evaluation.repeats import check_repeats
    from eyechart.evaluators.evaluation.suites import list_suites, suite_tasks
    from eyechart.evaluators.runs.data import check_data, check_mini
    from eyechart.evaluators.runs.plan import check_blind, make_plan
    from eyechart.evaluators.tasks import TASKS

    # Synthetic data are never what somebody evaluates a model of their own on without having asked for them.
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
    """The options of a group that are given and that a suite file would hold."""
    elsewhere = ("out", "skip_bad", "no_store")
    names = {"settings": "--set"}
    return [
        names.get(one.name, f"--{one.name.replace('_', '-')}")
        for one in fields(group)
        if one.name not in elsewhere and getattr(group, one.name) is not one.default
    ]


def _read_suite(path: str, given: list[str], *, is_mini: bool) -> "tuple[Suite, list[TaskRun]]":
    """A suite file, which says itself what the options in `given` would say."""
    from eyechart.evaluators.evaluation.suites import list_suites
    from eyechart.evaluators.runs.suite_file import read_suite

    if not Path(path).exists():
        raise UsageError(f"{unknown_name('suite', path, list_suites())}; nor is there a file of that name")
    if given:
        raise UsageError(f"{', '.join(given)} cannot be given with the suite file {path}; write it into the file")
    return read_suite(path, is_mini=is_mini)
