"""`eyechart run`: evaluate models."""

import contextlib
import json
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators import tiny_vlm
from eyechart.evaluators.backends.chat import ChatOptions, Sampling, parse_thinking
from eyechart.evaluators.backends.endpoint.options import EndpointOptions
from eyechart.evaluators.commands.arguments import (
    Checkpoint,
    TaskOptions,
    complete_task,
    known_arguments,
    meaning,
    parse_arguments,
    parse_pairs,
)
from eyechart.evaluators.commands.command import Command
from eyechart.evaluators.commands.running import announce, check_server, result_folders, run_models, warn_of_names
from eyechart.evaluators.commands.view import watching
from eyechart.evaluators.evaluation.options import DataRequest, RunOptions, Texts, cli_option, scoring_option
from eyechart.evaluators.requests.secrets import redact
from eyechart.evaluators.requests.types import Backend
from eyechart.evaluators.runs.console import console, print_line

if TYPE_CHECKING:
    from eyechart.evaluators.backends.endpoint.serving import Server
    from eyechart.evaluators.backends.local.loading import LoadOptions
    from eyechart.evaluators.requests.store import ResponseStore

_model = partial(cli_option, panel="Model")
_server = partial(cli_option, panel="Model on a server")
_sampling = partial(cli_option, panel="Sampling")

_TASKS_HELP = """Tasks, as listed by `eyechart tasks`; papers, such as q_bench, for all their tasks; names with
wildcards, such as 'mmbench/*'; or your own task files (.yaml, .py). Default: all tasks."""
_MODEL_HELP = """Id or folder of a transformers model (image-text-to-text, or a dual encoder such as CLIP), or its name
on a server. Repeatable: the models run one after the other and are then compared."""
_MODEL_ARG_HELP = """Rarer option of the model or its server, such as revision=v1.0, or price=[2.5,10] and max_cost=5;
`eyechart run --help-args` lists all. Repeatable."""
_SERVE_HELP = """Start a server for the model, and stop it after the run: vllm, sglang or llama.cpp with its options,
such as "vllm --tensor-parallel-size 8", or any command with {model} and {port}."""
_REPEATS_HELP = "Ask every request K times: mean and spread over the repeats."
_BACKEND_HELP = """What runs the model here: transformers or vllm, whose arguments --model-arg takes too, such as
tensor_parallel_size=8 (default: transformers)."""
_TRACK_HELP = """Send scores, settings and the report to an experiment tracker: trackio, wandb or mlflow, with :PROJECT
to name the project (default: eyechart). Repeatable."""
_LIKE_HELP = "Repeat a finished run, given by its folder; options that are given here replace its own."

_OF_MODEL = ("model", "name", "backend", "base_url", "serve", "device", "dtype", "batch_size", "model_arg")
"""Options that `--like` does not repeat for another model."""
_NOT_REPEATED = ("out", "no_store", "verbose", "like", "view", "help_args")
_PAIRS = {"settings": "--set", "model_arg": "--model-arg", "judge_arg": "--judge-arg", "data_arg": "--data-arg"}
"""Options of which `--like` repeats the names that are not given."""

PromptStyle = Literal["eyechart", "vlmevalkit", "lmms-eval"]


class RunCommand(Command):
    """`run`, which takes the options that are not given from the run that `--like` names."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Add the options of the run of `--like`, then parse."""
        options = {option for param in self.get_params(ctx) for option in param.opts}
        for option in (word.partition("=")[0] for word in args):
            name = option.removeprefix("--").replace("-", "_")
            if option.startswith("--") and option not in options and name in known_arguments("--model-arg"):
                ctx.fail(f"No such option: {option}; write --model-arg {name}=VALUE")
        given, _, _ = self.make_parser(ctx).parse_args(list(args))
        if "like" in given:
            from eyechart.evaluators.results.results_file import read_results

            request = read_results(given["like"]).request
            if request is None:
                raise UsageError(
                    f"--like {given['like']}: `eyechart run` did not write its results; it cannot be repeated"
                )
            instead = {"model": _OF_MODEL, "limit": ("sample",), "sample": ("limit",)}
            left_out = {name for option in given.keys() & instead.keys() for name in instead[option]}
            ctx.default_map = {name: value for name, value in request.items() if name not in left_out}
            for name in given.keys() & _PAIRS.keys() & request.keys():
                changed = {pair.partition("=")[0] for pair in given[name]}
                for pair in request[name]:
                    args = args if pair.partition("=")[0] in changed else [_PAIRS[name], pair, *args]
        return super().parse_args(ctx, args)


COMMAND_CLASS = RunCommand


def _given(ctx: typer.Context, **more: Any) -> dict[str, Any]:
    """The options that were given, as the results record them for `--like`."""
    given = {
        name: value
        for name, value in ctx.params.items()
        if name not in _NOT_REPEATED and getattr(ctx.get_parameter_source(name), "name", "DEFAULT") != "DEFAULT"
    }
    return json.loads(json.dumps({**given, **more}, default=str))


def _print_arguments() -> None:
    for option in ("--model-arg", "--judge-arg"):
        print_line(console(), f"{option} NAME=VALUE")
        for name, (owner, field) in known_arguments(option).items():
            print_line(console(), f"  {name}: {meaning(owner, field)}")
    print_line(console(), "Settings of a task, for --set: `eyechart tasks NAME`")


@dataclass(frozen=True)
class ModelOptions:
    """The options that say which models run, and how they reply."""

    model: Annotated[Texts, _model(_MODEL_HELP, metavar="TEXT", show_default=tiny_vlm.NAME)] = None
    name: Annotated[str | None, _model("Name to show in results instead of the model id.")] = None
    backend: Annotated[Literal["transformers", "vllm"] | None, _model(_BACKEND_HELP)] = None
    device: Annotated[str | None, _model("Device for the model, such as cpu or cuda:0.")] = None
    dtype: Annotated[str | None, _model("Precision, such as bfloat16 (default: that of the weights).")] = None
    batch_size: Annotated[int | None, _model("Requests per forward pass (default: automatic).", min=1)] = None
    system_prompt: Annotated[str | None, _model("System prompt for every request.")] = None
    thinking: Annotated[str | None, _model("Reasoning: on, off or at most N tokens.", metavar="on|off|N")] = None
    max_new_tokens: Annotated[int | None, _model("Maximum length of a reply, in tokens.", min=1)] = None
    model_arg: Annotated[Texts, _model(_MODEL_ARG_HELP, metavar="NAME=VALUE")] = None
    base_url: Annotated[str | None, _server("URL of a server, such as http://127.0.0.1:8000/v1.")] = None
    serve: Annotated[str | None, _server(_SERVE_HELP, metavar="COMMAND")] = None
    temperature: Annotated[float | None, _sampling("Sampling temperature (default: 0, greedy).", min=0)] = None

    @property
    def models(self) -> list[str | None]:
        """The models; None is the bundled one."""
        return [*self.model] if self.model else [None]

    def read(self, folder: Path) -> "tuple[Server | None, EndpointOptions | LoadOptions, ChatOptions]":
        """The server to start, if any; how the model is asked on a server, or loaded here; and how it replies."""
        from eyechart.evaluators.backends.local.loading import LoadOptions, read_template

        engine = self.engine()
        others = [pair for pair in self.model_arg or () if pair.partition("=")[0] not in engine]
        parsed = parse_arguments("--model-arg", others)
        loading, asking = parsed[LoadOptions], parsed[EndpointOptions]
        alone = _named(asking, "served_name") | _named(loading, "adapter", "revision") | _named(parsed[Checkpoint])
        self._check_models(alone)
        server = None if self.serve is None else self._new_server(self.serve, folder / "server.log")
        thinking = None if self.thinking is None else parse_thinking(self.thinking)
        chat = ChatOptions(self.system_prompt, thinking, self._sampling(parsed[Sampling]))
        if server is None and self.base_url is None:
            reason = "has no effect without a server; name one with --base-url, or leave it out"
            _refuse(_named(asking), reason)
            if self.backend == "vllm":
                _refuse({"--batch-size": self.batch_size}, "is not for vLLM; use --model-arg max_num_seqs")
            if "chat_template" in loading:
                loading["chat_template"] = read_template(loading["chat_template"])
            return None, LoadOptions(self.device, self.dtype or "auto", **loading), chat
        _refuse({"--backend": self.backend}, "is for a model that runs here; leave it, or --base-url and --serve, out")
        if server is not None:
            reason = "is for a server that is already running, but --serve starts a new one; leave one out"
            _refuse({"--base-url": self.base_url, **_named(asking, "served_name")}, reason)
        else:
            _refuse(_named(asking, "serve_timeout"), "has no effect without --serve; leave it out")
        here = {"--device": self.device, "--dtype": self.dtype, "--batch-size": self.batch_size, **_named(loading)}
        _refuse(here, "has no effect on a server; set it when the server is started")
        if self.model is None:
            raise UsageError("a server needs --model, the model's name on that server")
        return server, EndpointOptions(self.base_url, chat=chat, **asking), chat

    def step(self) -> int | None:
        """The training step that is given."""
        pairs = [pair for pair in self.model_arg or () if pair.startswith("step=")]
        return Checkpoint(**parse_arguments("--model-arg", pairs)[Checkpoint]).step

    def engine(self) -> dict[str, Any]:
        """Arguments for vLLM: those of `--model-arg` that are not eyechart's own."""
        known = known_arguments("--model-arg")
        given = parse_pairs("--model-arg", self.model_arg) if self.backend == "vllm" else {}
        return {name: value for name, value in given.items() if name not in known}

    def _new_server(self, command: str, log: Path) -> "Server":
        from eyechart.evaluators.backends.endpoint.serving import Server
        from eyechart.evaluators.backends.processes import launched

        if self.model is None or len(self.model) > 1:
            raise UsageError("--serve needs --model, given once: the model to serve")
        if launched()[1] > 1:
            raise UsageError(
                "--serve works in one process only; start one, and give the server several GPUs: "
                '--serve "vllm --tensor-parallel-size 8"'
            )
        return Server(command, self.model[0], log)

    def _check_models(self, arguments: Mapping[str, Any]) -> None:
        """Refuse a model that is given twice, a name with a secret, and options that only one model can have."""
        names = [os.path.normpath(model) for model in self.model or ()]
        for name in names:
            if names.count(name) > 1:
                raise UsageError(f"--model {name} is given {names.count(name)} times; name each model once")
        if redact(shown := self.name or " ".join(names)) != shown:
            raise UsageError(f"the name {redact(shown)} contains a secret; set another --name")
        for option, value in {"--name": self.name, **arguments}.items():
            if len(names) > 1 and value is not None:
                raise UsageError(f"{option} {value} is for one model, but {len(names)} are given; run each on its own")

    def _sampling(self, arguments: Mapping[str, Any]) -> Sampling | None:
        """How replies are sampled; None for greedy decoding."""
        if self.temperature:
            return Sampling(self.temperature, **arguments)
        given = {"--model-arg top_p": arguments.get("top_p"), "--model-arg sampling_seed": arguments.get("seed")}
        _refuse(given, "has no effect at temperature 0; add a --temperature above 0")
        return None


def run(
    ctx: typer.Context,
    *,
    tasks: Annotated[Texts, typer.Argument(metavar="TASK|FILE", autocompletion=complete_task, help=_TASKS_HELP)] = None,
    asked: ModelOptions,
    data: DataRequest,
    how: RunOptions,
    prompt_style: Annotated[PromptStyle | None, scoring_option("Use another toolkit's multiple-choice prompt.")] = None,
    blind: Annotated[bool, scoring_option("Ask multiple-choice questions without images.", "--blind")] = False,
    repeats: Annotated[int, _sampling(_REPEATS_HELP, min=1, metavar="K")] = 1,
    task_options: TaskOptions,
    track: Annotated[Texts, cli_option(_TRACK_HELP, metavar="NAME[:PROJECT]", panel="Output")] = None,
    like: Annotated[Path | None, cli_option(_LIKE_HELP, metavar="RUN")] = None,
    view: Annotated[bool, cli_option("Watch the run in a browser; see `eyechart view`.", "--view")] = False,
    help_args: Annotated[bool, cli_option("List what -arg options take, and exit.", "--help-args")] = False,
) -> None:
    """Evaluate a model. Without --model, the bundled tiny model runs on synthetic demo data."""
    if help_args:
        return _print_arguments()
    announce(asked.name or ", ".join(asked.model or [tiny_vlm.NAME]))
    from eyechart.evaluators.backends import folder_of, resolve_backend
    from eyechart.evaluators.backends.local.loading import check_model
    from eyechart.evaluators.backends.local.remembered import RememberedBackend, record_of
    from eyechart.evaluators.runs.tracking import trackings

    if repeats > 1 and not asked.temperature:
        raise UsageError(
            f"--repeats {repeats} needs a --temperature above 0, such as 0.7: at temperature 0 decoding is greedy and "
            "all repeats would be equal"
        )
    settings = {
        "prompt": prompt_style and prompt_style.replace("eyechart", "default"),
        "max_new_tokens": asked.max_new_tokens,
        "blind": blind or None,
    }
    how = replace(how, repeats=repeats, settings={name: value for name, value in settings.items() if value is not None})
    # A model that the user names never runs on synthetic data unless --mini asks for them.
    is_mini = asked.model is None and asked.base_url is None
    task_runs = task_options.task_runs(tasks or [], data, how, is_mini=is_mini)
    folders = result_folders(task_options.out, asked.models)
    judge = task_options.judge_options()
    tracking = trackings(track or (), asked.step())
    server, options, chat = asked.read(folders[0])

    def make_backend(model: str | None, device: str | None) -> Backend:
        if not isinstance(options, EndpointOptions):
            if asked.backend == "vllm":
                from eyechart.evaluators.backends.vllm import VllmBackend

                return VllmBackend(model or tiny_vlm.NAME, engine=asked.engine(), options=options, chat=chat)
            here = replace(options, device=options.device or device)
            load = partial(_load, model, batch_size=asked.batch_size, options=here, chat=chat)
            # Without stored answers, every model is needed.
            record = None if task_options.no_store else record_of(model, here, chat, asked.batch_size)
            return load() if record is None else RememberedBackend(record, load)
        if server is None:
            return resolve_backend(model, endpoint=options)
        from eyechart.evaluators.backends.endpoint.backend import OpenAIBackend

        print_line(console(stderr=True), f"starting {server.program}; log: {server.log}")
        started = server.start(options)
        # llama.cpp lists a file's name without its folder.
        warn_of_names(server.program, [str(started.served_name)], server.model, os.path.basename(server.model))
        return OpenAIBackend(str(model), started, server)

    def check(model: str | None, store: "ResponseStore | None") -> None:
        if not isinstance(options, EndpointOptions):
            if asked.backend == "vllm":
                from eyechart.evaluators.backends.vllm import check_vllm

                return check_vllm(folder_of(model), options, asked.engine(), chat)
            record = None if store is None else record_of(model, options, chat, asked.batch_size)
            if record is None or not record.exists():
                check_model(folder_of(model), options)
        # Nothing can be checked of a server that is not started yet.
        elif server is None:
            check_server(str(model), options, store)

    from eyechart.evaluators.runs.run import ModelRun

    request = _given(ctx, is_mini=any(task_run.data.is_mini for task_run in task_runs))
    shared = (asked.name, request, task_options.verbose, judge, tracking)
    runs = [
        ModelRun(partial(make_backend, model), folder, model, partial(check, model), *shared)
        for model, folder in zip(asked.models, folders, strict=True)
    ]
    here = _exiting_on_signals() if asked.backend == "vllm" else contextlib.nullcontext()
    with here if server is None else _stopped_at_end(server), watching(folders) if view else contextlib.nullcontext():
        run_models(task_runs, runs, task_options)


def _load(model: str | None, **options: Any) -> Backend:
    """Load a model; the progress bars of its loading, but not those of a download, would disturb ours."""
    from huggingface_hub.utils import are_progress_bars_disabled, enable_progress_bars
    from transformers.utils import logging

    from eyechart.evaluators.backends import resolve_backend

    show_downloads = console(stderr=True).is_terminal and not are_progress_bars_disabled()
    logging.disable_progress_bar()
    if show_downloads:
        enable_progress_bars()
    return resolve_backend(model, **options)


def _named(arguments: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Values of `--model-arg` by what the user wrote; all of them if no names are given."""
    return {f"--model-arg {name}": value for name, value in arguments.items() if not names or name in names}


def _refuse(options: Mapping[str, Any], reason: str) -> None:
    if given := [option for option, value in options.items() if value is not None]:
        raise UsageError(f"{', '.join(given)} {reason}")


@contextlib.contextmanager
def _exiting_on_signals() -> Iterator[None]:
    """Exit, and so clean up, on signals that by default end only this process: others would keep their GPUs."""
    # Windows has no SIGHUP.
    known = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    signals = [number for number in known if signal.getsignal(number) is signal.SIG_DFL]
    for number in signals:
        signal.signal(number, lambda number, frame: sys.exit(128 + number))
    try:
        yield
    finally:
        for number in signals:
            signal.signal(number, signal.SIG_DFL)


@contextlib.contextmanager
def _stopped_at_end(server: "Server") -> Iterator[None]:
    """Stop a server at the end of the block, also after an error; show its last lines if it ended by itself."""
    with _exiting_on_signals():
        try:
            yield
        finally:
            ending = server.ending()
            server.close()
            if ending:
                last = f"eyechart: {ending}. Last lines of its log:\n{server.last_lines()}"
                print_line(console(stderr=True), last, "red")
