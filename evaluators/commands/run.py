"""`eyechart run`: evaluate a model."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eyechart.datasets_scripts.common.errors import UsageError, unknown_name
from eyechart.evaluators import tiny_vlm
from eyechart.evaluators.backends.endpoint.options import DEFAULT_CONCURRENCY, DEFAULT_TIMEOUT, EndpointOptions
from eyechart.evaluators.commands.arguments import (
    HOW,
    Aggregator,
    AsPublished,
    BackendKind,
    Blind,
    DataDirs,
    DataOptions,
    Fallback,
    HumanLetters,
    Inference,
    Limit,
    Marking,
    Mini,
    NoStore,
    OptionalSeed,
    Out,
    Rounds,
    SkipBad,
    SkipMissing,
    Split,
    Subset,
    Temperature,
    Ties,
    WithoutBlind,
    Wording,
    Words,
    parse_options,
)
from eyechart.evaluators.commands.judge import (
    JudgeConcurrency,
    JudgeCost,
    JudgeName,
    JudgePrice,
    JudgeTemperature,
    JudgeTimeout,
    JudgeTokens,
    JudgeUrl,
    judge_options,
)
from eyechart.evaluators.commands.running import execute_plan
from eyechart.evaluators.evaluation.suites import list_suites, suite_tasks
from eyechart.evaluators.protocols.options import TaskOptions
from eyechart.evaluators.runs.console import checked
from eyechart.evaluators.runs.data import check_data, check_mini
from eyechart.evaluators.runs.plan import TaskRun, make_plan
from eyechart.evaluators.tasks import TASKS

if TYPE_CHECKING:
    from eyechart.evaluators.requests.types import Backend
    from eyechart.evaluators.runs.run import RunOptions
    from eyechart.evaluators.runs.suite_file import Suite

Tasks = Annotated[list[str] | None, typer.Argument(help="Tasks, as `eyechart tasks` lists them; all if none is given.")]


def run(
    tasks: Tasks = None,
    suite: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE",
            help="All tasks of a paper (q_bench, mmbench, ql_bench, aes_bench, two_afc), or what a YAML file lists.",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="Model id or folder of a transformers image-text-to-text model or (for quality assessment) of a dual "
            "encoder such as CLIP, or a model's name on a server.",
            show_default=tiny_vlm.NAME,
        ),
    ] = None,
    backend: Annotated[
        BackendKind | None,
        typer.Option(help="Who runs the model: transformers here, or a server (openai), as --base-url implies."),
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(help="Address of an OpenAI-compatible server, such as http://127.0.0.1:8000/v1.")
    ] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Requests at once to a server.")] = DEFAULT_CONCURRENCY,
    timeout: Annotated[float, typer.Option(help="Seconds to wait for a server's answer.")] = DEFAULT_TIMEOUT,
    subset: Subset = None,
    split: Split = None,
    limit: Limit = None,
    seed: OptionalSeed = None,
    batch_size: Annotated[
        int | None,
        typer.Option(min=1, help="Requests per forward pass, halved when memory runs out (default: automatic)."),
    ] = None,
    device: Annotated[str | None, typer.Option(help="Device for the model, for example cpu or cuda:0.")] = None,
    dtype: Annotated[
        str, typer.Option(help="Number format, for example bfloat16; auto is that of the weights.")
    ] = "auto",
    device_map: Annotated[str | None, typer.Option(help="Spread the model over devices, for example auto.")] = None,
    attention: Annotated[
        str | None, typer.Option(help="Attention implementation, for example sdpa or flash_attention_2.")
    ] = None,
    revision: Annotated[str | None, typer.Option(help="Branch, tag or commit of a model on the Hub.")] = None,
    trust_remote_code: Annotated[
        bool, typer.Option("--trust-remote-code", help="Run the code that the model's repository brings.")
    ] = False,
    data_dir: DataDirs = None,
    mini: Mini = False,
    out: Out = None,
    skip_bad: SkipBad = False,
    skip_missing: SkipMissing = False,
    no_store: NoStore = False,
    option: DataOptions = None,
    as_published: AsPublished = None,
    shuffle_seed: Annotated[
        int | None, typer.Option(help="Shuffle the options of each question.", rich_help_panel=HOW)
    ] = None,
    inference: Inference = None,
    loss: Annotated[
        str | None, typer.Option(help="Loss of an option in closed-set inference: mean or sum.", rich_help_panel=HOW)
    ] = None,
    wording: Wording = None,
    blind: Blind = None,
    without_blind: WithoutBlind = None,
    marking: Marking = None,
    human_letters: HumanLetters = None,
    early_stop: Annotated[
        bool | None,
        typer.Option(
            "--early-stop/--no-early-stop",
            help="Ask no further rotations after a wrong one (default: on servers only).",
            rich_help_panel=HOW,
        ),
    ] = None,
    words: Words = None,
    temperature: Temperature = None,
    ties: Ties = None,
    aggregator: Aggregator = None,
    fallback: Fallback = None,
    judge: JudgeName = None,
    judge_base_url: JudgeUrl = None,
    judge_temperature: JudgeTemperature = None,
    judge_max_tokens: JudgeTokens = None,
    judge_concurrency: JudgeConcurrency = DEFAULT_CONCURRENCY,
    judge_timeout: JudgeTimeout = None,
    judge_max_cost: JudgeCost = None,
    judge_price: JudgePrice = None,
    rounds: Rounds = None,
    max_new_tokens: Annotated[
        int | None, typer.Option(min=1, help="The longest reply, in tokens.", rich_help_panel=HOW)
    ] = None,
) -> None:
    """Evaluate a model on the real data; where no model is named, the bundled tiny model on synthetic ones."""
    # Synthetic data are never what somebody evaluates a model of their own on without having asked for them.
    is_model_named = model is not None or backend is not None or base_url is not None

    def plan_run() -> "tuple[Suite | None, list[TaskRun]]":
        given = TaskOptions(
            as_published=as_published,
            shuffle_seed=shuffle_seed,
            inference=inference,
            loss=loss,
            wording=wording,
            blind=blind,
            early_stop=early_stop,
            without_blind=without_blind,
            marking=marking,
            human_letters=human_letters,
            words=words,
            temperature=temperature,
            ties=ties,
            aggregator=aggregator,
            fallback=fallback,
            rounds=rounds,
            max_new_tokens=max_new_tokens,
        )
        if suite is not None and tasks:
            raise UsageError(f"--suite {suite} and the tasks {', '.join(tasks)} are both given; leave out one")
        if suite is not None and suite not in list_suites():
            own = {"--subset": subset, "--split": split, "--data-dir": data_dir, "--option": option, "--limit": limit}
            own |= {"--seed": seed, "--mini": mini or None}
            own |= {f"--{name.replace('_', '-')}": value for name, value in given.given().items()}
            given_too = [name for name, value in own.items() if value is not None]
            return _read_suite(suite, given_too, is_mini=not is_model_named)
        plan = make_plan(
            tasks or [],
            among=TASKS if suite is None else suite_tasks(suite),
            subset=subset,
            split=split,
            data_dirs=data_dir or [],
            is_mini=mini or not is_model_named,
            data_options=parse_options(option or []),
            options=given,
            limit=limit,
        )
        if mini:
            check_mini(plan)
        return None, plan

    suite_file, plan = checked(plan_run)

    judging = checked(
        lambda: judge_options(
            judge,
            judge_base_url,
            judge_temperature,
            judge_max_tokens,
            judge_concurrency,
            judge_timeout,
            judge_max_cost,
            judge_price,
        )
    )
    endpoint = checked(lambda: _endpoint(model, backend, base_url, concurrency, timeout))
    checked(lambda: check_data(plan))

    def make_backend(own_device: str | None) -> "Backend":
        from eyechart.evaluators.backends import resolve_backend
        from eyechart.evaluators.backends.local.loading import LoadOptions

        load = LoadOptions(device or own_device, dtype, device_map, attention, revision, trust_remote_code)
        return resolve_backend(model, batch_size=batch_size, options=load, endpoint=endpoint)

    def options() -> "RunOptions":
        from eyechart.evaluators.runs.run import RunOptions

        if suite_file is None:
            return RunOptions(seed or 0, skip_bad, skip_missing)
        return RunOptions(suite_file.seed, skip_bad, skip_missing, suite_file.model_dump())

    execute_plan(plan, make_backend, options, out, judging, use_store=not no_store)


def _read_suite(path: str, given: list[str], *, is_mini: bool) -> "tuple[Suite, list[TaskRun]]":
    """A suite file, which says itself what the options in `given` would say."""
    from eyechart.evaluators.runs.suite_file import read_suite

    if not Path(path).exists():
        raise UsageError(f"{unknown_name('suite', path, list_suites())}; nor is there a file of that name")
    if given:
        raise UsageError(f"{', '.join(given)} cannot be given with the suite file {path}; write it into the file")
    return read_suite(path, is_mini=is_mini)


def _endpoint(
    model: str | None, backend: BackendKind | None, base_url: str | None, concurrency: int, timeout: float
) -> EndpointOptions | None:
    """How to ask a server, None for a model that runs here."""
    if backend is BackendKind.TRANSFORMERS and base_url is not None:
        raise UsageError("--base-url is the address of a server, and --backend transformers asks none; leave out one")
    if backend is not BackendKind.OPENAI and base_url is None:
        return None
    if model is None:
        raise UsageError("a server needs --model, the model's name there")
    return EndpointOptions(base_url=base_url, concurrency=concurrency, timeout=timeout)
