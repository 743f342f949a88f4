"""`eyechart run`: evaluate models."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators import tiny_vlm
from eyechart.evaluators.backends.chat_options import ChatOptions, Sampling, parse_thinking
from eyechart.evaluators.backends.endpoint.options import DEFAULT_CONCURRENCY, EndpointOptions
from eyechart.evaluators.commands.arguments import (
    AsPublished,
    DataArgs,
    DataDirs,
    Datasets,
    Judge,
    JudgeArgs,
    Limit,
    Mini,
    NoStore,
    Out,
    PromptStyle,
    RandomSample,
    Seed,
    Settings,
    SkipBad,
    Split,
    Verbose,
    complete_task,
    data_request,
    judge_arguments,
    judge_options,
    meanings,
    model_arguments,
    name_of,
    parse_arguments,
    parse_pairs,
)
from eyechart.evaluators.commands.command import Command
from eyechart.evaluators.commands.running import ModelRun, announce, default_folder, execute_plan, model_folders
from eyechart.evaluators.commands.serving import server_for, start, stopped_at_end
from eyechart.evaluators.runs.console import checked, console, print_line

if TYPE_CHECKING:
    from eyechart.evaluators.backends.endpoint.serving import Server
    from eyechart.evaluators.requests.types import Backend
    from eyechart.evaluators.runs.plan import TaskRun

_model = partial(typer.Option, rich_help_panel="Model")
_server = partial(typer.Option, rich_help_panel="Model on a server")
_sampling = partial(typer.Option, rich_help_panel="Sampling")
_scoring = partial(typer.Option, rich_help_panel="Task and scoring")

_OF_MODEL = ("model", "name", "base_url", "serve", "device", "dtype", "batch_size", "concurrency", "model_arg")
"""Options that `--like` does not repeat for another model."""
_NOT_REPEATED = ("out", "no_store", "verbose", "like", "help_args")
_PAIRS = {"settings": "--set", "model_arg": "--model-arg", "judge_arg": "--judge-arg", "data_arg": "--data-arg"}
_STYLES = {PromptStyle.EYECHART: "default"}
"""The protocols' name for the prompt of a style, if it differs."""


class RunCommand(Command):
    """`run`, which takes the options that are not given from the run that `--like` names."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments.

        Raises:
            typer.Exit: The run of `--like` cannot be read.
        """
        given, _, _ = self.make_parser(ctx).parse_args(list(args))
        if "like" in given:
            request = checked(lambda: _request_of(Path(given["like"])))
            left_out = [*(_OF_MODEL if "model" in given else ())]
            left_out += [other for name, other in (("limit", "sample"), ("sample", "limit")) if name in given]
            ctx.default_map = {name: value for name, value in request.items() if name not in left_out}
            for name in given.keys() & _PAIRS.keys() & request.keys():
                names = [name_of(pair) for pair in given[name]]
                repeated = [pair for pair in request[name] if name_of(pair) not in names]
                args = [*(word for pair in repeated for word in (_PAIRS[name], pair)), *args]
        return super().parse_args(ctx, args)


def _request_of(run: Path) -> dict[str, Any]:
    from eyechart.evaluators.results.results_file import read_results

    request = read_results(run).request
    if request is None:
        raise UsageError(f"--like {run}: its results were not written by `eyechart run`, so they cannot be repeated")
    return request


def _given(ctx: typer.Context, **more: Any) -> dict[str, Any]:
    """The options that were given, as the results record them for `--like`."""
    given = {
        name: value.value if isinstance(value, Enum) else value
        for name, value in ctx.params.items()
        if name not in _NOT_REPEATED
        and (source := ctx.get_parameter_source(name)) is not None
        and source.name in ("COMMANDLINE", "DEFAULT_MAP")
    }
    return json.loads(json.dumps({**given, **more}, default=str))


def _print_arguments(is_wanted: bool) -> None:
    if not is_wanted:
        return
    for option, known in (("--model-arg", model_arguments()), ("--judge-arg", judge_arguments())):
        print_line(console(), f"{option} NAME=VALUE")
        for name, meaning in meanings(known).items():
            print_line(console(), f"  {name}: {meaning}")
    print_line(console(), "Settings of a task, for --set: `eyechart tasks NAME`")
    raise typer.Exit


def run(
    ctx: typer.Context,
    tasks: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TASK|FILE",
            autocompletion=complete_task,
            help="Tasks, as listed by `eyechart tasks`; papers, such as q_bench, for all their tasks; names with "
            "wildcards, such as 'mmbench/*'; or your own task files (.yaml, .py). Default: all tasks.",
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        _model(
            metavar="TEXT",
            help="Id or folder of a transformers model (image-text-to-text, or a dual encoder such as CLIP), or its "
            "name on a server. Repeatable: the models run one after the other and are then compared.",
            show_default=tiny_vlm.NAME,
        ),
    ] = None,
    name: Annotated[str | None, _model(help="Name to show in results instead of the model id.")] = None,
    device: Annotated[str | None, _model(help="Device for the model, such as cpu or cuda:0.")] = None,
    dtype: Annotated[str | None, _model(help="Precision, such as bfloat16 (default: that of the weights).")] = None,
    batch_size: Annotated[
        int | None,
        _model(min=1, help="Requests per forward pass; halved when memory runs out (default: automatic)."),
    ] = None,
    system_prompt: Annotated[str | None, _model(metavar="TEXT", help="System prompt for every request.")] = None,
    thinking: Annotated[
        str | None,
        _model(metavar="on|off|N", help="Turn the reasoning of a hybrid model on or off, or limit it to N tokens."),
    ] = None,
    max_new_tokens: Annotated[int | None, _model(min=1, help="Maximum length of a reply, in tokens.")] = None,
    model_arg: Annotated[
        list[str] | None,
        _model(
            metavar="NAME=VALUE",
            help="Rarer option of the model or its server, such as revision=v1.0 or timeout=600; "
            "`eyechart run --help-args` lists all. Repeatable.",
        ),
    ] = None,
    base_url: Annotated[
        str | None, _server(help="URL of an OpenAI-compatible server, such as http://127.0.0.1:8000/v1.")
    ] = None,
    concurrency: Annotated[
        int | None, _server(min=1, help=f"Maximum number of parallel requests (default: {DEFAULT_CONCURRENCY}).")
    ] = None,
    serve: Annotated[
        str | None,
        _server(
            metavar="COMMAND",
            help="Start a server for the model, and stop it after the run: vllm, sglang or llama.cpp with its options, "
            'such as "vllm --tensor-parallel-size 8", or any command with {model} and {port}.',
        ),
    ] = None,
    temperature: Annotated[
        float | None, _sampling(min=0, help="Sampling temperature of replies (default: 0, greedy decoding).")
    ] = None,
    repeats: Annotated[
        int,
        _sampling(
            min=1,
            help="Ask every request K times: mean and spread over the repeats; for choices, pass@K and majority vote.",
            metavar="K",
        ),
    ] = 1,
    dataset: Datasets = None,
    split: Split = None,
    limit: Limit = None,
    sample: RandomSample = None,
    data_dir: DataDirs = None,
    data_arg: DataArgs = None,
    mini: Mini = False,
    skip_bad: SkipBad = False,
    settings: Settings = None,
    prompt_style: Annotated[
        PromptStyle | None,
        _scoring(help="Use another toolkit's multiple-choice prompt, to compare scores with it."),
    ] = None,
    blind: Annotated[
        bool,
        _scoring("--blind", help="Ask multiple-choice questions without the images, to see which need no image."),
    ] = False,
    as_published: AsPublished = False,
    seed: Seed = 0,
    judge: Judge = None,
    judge_arg: JudgeArgs = None,
    out: Out = None,
    no_store: NoStore = False,
    verbose: Verbose = False,
    like: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN",
            help="Repeat a finished run, given by its folder, with its tasks, data and settings; options that are "
            "given here replace its own.",
        ),
    ] = None,
    help_args: Annotated[
        bool,
        typer.Option(
            "--help-args",
            callback=_print_arguments,
            is_eager=True,
            help="List what the -arg options take, and exit.",
        ),
    ] = False,
) -> None:
    """Evaluate a model. Without --model, the bundled tiny model runs on synthetic demo data."""
    models: list[str | None] = [*model] if model else [None]
    announce(name or ", ".join(model or [tiny_vlm.NAME]))
    from eyechart.evaluators.backends import resolve_backend
    from eyechart.evaluators.backends.local.loading import LoadOptions, read_template
    from eyechart.evaluators.evaluation.options import RunOptions
    from eyechart.evaluators.evaluation.repeats import check_repeats
    from eyechart.evaluators.runs.data import check_data, check_mini
    from eyechart.evaluators.runs.plan import check_blind, make_plan

    def plan_run() -> "list[TaskRun]":
        # A model that the user names never runs on synthetic data unless --mini asks for them.
        is_mini = mini or (model is None and base_url is None)
        request = data_request(data_arg, split=split, is_mini=is_mini, limit=limit, sample=sample, skip_bad=skip_bad)
        style = None if prompt_style is None else _STYLES.get(prompt_style, prompt_style.value)
        short = {"prompt": style, "max_new_tokens": max_new_tokens, "blind": blind or None}
        how = RunOptions(_with_short(settings, short), as_published, seed, skip_bad=skip_bad, repeats=repeats)
        plan = make_plan(tasks or [], request, how, datasets=dataset or (), data_dirs=data_dir or ())
        if mini:
            check_mini(plan)
        if blind:
            check_blind(plan)
        return plan

    def read_model() -> "tuple[Server | None, EndpointOptions | None, LoadOptions, ChatOptions]":
        """How the model is asked: on a server, or loaded here."""
        parsed = parse_arguments("--model-arg", model_arg, model_arguments())
        loading, asking = parsed[LoadOptions], parsed[EndpointOptions]
        _check_models(
            model or [], {"--name": name, **_named(asking, "served_name"), **_named(loading, "adapter", "revision")}
        )
        server = None if serve is None else server_for(serve, models, folders[0])
        sampling = _sampling_of(temperature, repeats, parsed[Sampling])
        chat = ChatOptions(system_prompt, None if thinking is None else parse_thinking(thinking), sampling)
        here = {"--device": device, "--dtype": dtype, "--batch-size": batch_size, **_named(loading)}
        if server is None and base_url is None:
            reason = "has no effect without a server; name one with --base-url, or leave it out"
            _refuse({"--concurrency": concurrency, **_named(asking)}, reason)
            if "chat_template" in loading:
                loading["chat_template"] = read_template(loading["chat_template"])
            return None, None, LoadOptions(device, dtype or "auto", **loading), chat
        if server is not None:
            reason = "is for a server that is already running, but --serve starts a new one; leave one out"
            _refuse({"--base-url": base_url, **_named(asking, "served_name")}, reason)
        _refuse(here, "has no effect on a server; set it when the server is started")
        if model is None:
            raise UsageError("a server needs --model, the model's name on that server")
        endpoint = EndpointOptions(base_url, concurrency or DEFAULT_CONCURRENCY, chat=chat, **asking)
        return server, endpoint, LoadOptions(), chat

    plan = checked(plan_run)
    folders = model_folders(out or default_folder(), models)
    judging = checked(lambda: judge_options(judge, judge_arg))
    server, endpoint, load, chat = checked(read_model)
    for planned in plan:
        checked(partial(check_repeats, repeats, planned.task.name, planned.protocol().output_type))
    checked(lambda: check_data(plan))

    def make_backend(id: str | None, own_device: str | None) -> "Backend":
        if server is not None and endpoint is not None:
            from eyechart.evaluators.backends.endpoint.backend import OpenAIBackend

            return OpenAIBackend(str(id), start(server, endpoint), server)
        options = replace(load, device=load.device or own_device)
        return resolve_backend(id, batch_size=batch_size, options=options, endpoint=endpoint, chat=chat)

    runs = [
        ModelRun(
            partial(make_backend, id),
            folder,
            id,
            endpoint if server is None else None,
            load if endpoint is None else None,
            name,
        )
        for id, folder in zip(models, folders, strict=True)
    ]
    request = _given(ctx, mini=any(planned.data.is_mini for planned in plan))
    with stopped_at_end(server):
        execute_plan(plan, runs, judging, use_store=not no_store, verbose=verbose, request=request)


def _with_short(settings: Sequence[str] | None, short: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of `--set`, and those that have an option of their own."""
    values = parse_pairs("--set", settings)
    for name, value in short.items():
        if value is not None and name in values:
            option = "--prompt-style" if name == "prompt" else f"--{name.replace('_', '-')}"
            raise UsageError(f"{option} and --set {name} are both given; leave out one")
        values |= {} if value is None else {name: value}
    return values


def _check_models(models: Sequence[str], of_one: Mapping[str, Any]) -> None:
    """Refuse a model that is given twice, and options that only one model can have."""
    names = [os.path.normpath(model) for model in models]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"--model {name} is given {names.count(name)} times; name each model once")
    for option, value in of_one.items():
        if len(names) > 1 and value is not None:
            raise UsageError(f"{option} {value} is for one model, but {len(names)} are given; run each on its own")


def _named(arguments: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Values of `--model-arg` by what the user wrote; all of them if no names are given."""
    return {f"--model-arg {name}": value for name, value in arguments.items() if not names or name in names}


def _refuse(options: Mapping[str, Any], reason: str) -> None:
    if given := [option for option, value in options.items() if value is not None]:
        raise UsageError(f"{', '.join(given)} {reason}")


def _sampling_of(temperature: float | None, repeats: int, arguments: Mapping[str, Any]) -> Sampling | None:
    """How replies are sampled; None for greedy decoding."""
    if temperature:
        return Sampling(temperature, **arguments)
    if repeats > 1:
        raise UsageError(
            f"--repeats {repeats} needs a --temperature above 0, such as 0.7: at temperature 0 decoding is greedy and "
            "all repeats would be equal"
        )
    given = {"--model-arg top_p": arguments.get("top_p"), "--model-arg sampling_seed": arguments.get("seed")}
    _refuse(given, "has no effect at temperature 0; add a --temperature above 0")
    return None
