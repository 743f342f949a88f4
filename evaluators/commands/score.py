"""`eyechart score`: score precomputed predictions."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.backends.endpoint.options import DEFAULT_CONCURRENCY
from eyechart.evaluators.commands.arguments import (
    Aggregator,
    AsPublished,
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
    Out,
    Rounds,
    Seed,
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
    JudgePrices,
    JudgeTemperature,
    JudgeTimeout,
    JudgeTokens,
    JudgeUrl,
    judge_options,
)
from eyechart.evaluators.commands.running import execute_plan
from eyechart.evaluators.protocols.options import TaskOptions
from eyechart.evaluators.runs.console import checked
from eyechart.evaluators.runs.data import check_data, check_mini
from eyechart.evaluators.runs.plan import TaskRun, make_plan

if TYPE_CHECKING:
    from eyechart.evaluators.requests.types import Backend
    from eyechart.evaluators.runs.run import RunOptions


def score(
    task: Annotated[str, typer.Argument(help="Task, as `eyechart tasks` lists them.")],
    predictions: Annotated[
        Path,
        typer.Option(
            help="File of predictions: JSON Lines with id, pass, and text, logits or score; an answer file of Q-Bench, "
            "AesBench or MMBench; VLMEvalKit's XLSX, TSV or JSON; lmms-eval's samples; LLaVA's answers to MMBench; "
            "Q-Bench's released logits; or CSV with image and score of any measure."
        ),
    ],
    model: Annotated[str | None, typer.Option(help="Name of the model that gave the predictions.")] = None,
    lower_is_better: Annotated[
        bool, typer.Option("--lower-is-better", help="A lower score is that of a better image, as for NIQE.")
    ] = False,
    subset: Subset = None,
    split: Split = None,
    limit: Limit = None,
    seed: Seed = 0,
    data_dir: DataDirs = None,
    mini: Mini = False,
    out: Out = None,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave out malformed rows and items without a prediction; list them.")
    ] = False,
    no_store: NoStore = False,
    option: DataOptions = None,
    as_published: AsPublished = None,
    inference: Inference = None,
    wording: Wording = None,
    blind: Blind = None,
    without_blind: WithoutBlind = None,
    marking: Marking = None,
    human_letters: HumanLetters = None,
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
    judge_prices: JudgePrices = None,
    rounds: Rounds = None,
) -> None:
    """Score precomputed predictions; an answer file needs a release that holds the right answers."""

    def plan_scoring() -> list[TaskRun]:
        given = TaskOptions(
            as_published=as_published,
            inference=inference,
            wording=wording,
            blind=blind,
            without_blind=without_blind,
            marking=marking,
            human_letters=human_letters,
            words=words,
            temperature=temperature,
            ties=ties,
            aggregator=aggregator,
            fallback=fallback,
            rounds=rounds,
        )
        plan = make_plan(
            [task],
            subset=subset,
            split=split,
            data_dirs=data_dir or [],
            is_mini=mini,
            data_options=parse_options(option or []),
            options=given,
            limit=limit,
        )
        if mini:
            check_mini(plan)
        return plan

    plan = checked(plan_scoring)

    judging = checked(
        lambda: judge_options(
            judge,
            judge_base_url,
            judge_temperature,
            judge_max_tokens,
            judge_concurrency,
            judge_timeout,
            judge_max_cost,
            judge_prices,
        )
    )

    checked(lambda: check_data(plan, images="skip"))

    def backend(_: str | None) -> "Backend":
        from eyechart.evaluators.backends.predictions.backend import PredictionsFileBackend

        made = PredictionsFileBackend(predictions, name=model, lower_is_better=lower_is_better)
        if made.config not in (None, plan[0].task.config):
            # Parts of AesBench share their ids: nothing else would tell them apart.
            raise UsageError(f"{predictions} answers the configuration '{made.config}', which is not that of {task}")
        return made

    def options() -> "RunOptions":
        from eyechart.evaluators.runs.run import RunOptions

        return RunOptions(seed, skip_bad)

    execute_plan(plan, backend, options, out, judging, use_store=judging is not None and not no_store)
