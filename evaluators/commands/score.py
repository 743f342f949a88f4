"""`eyechart score`: score precomputed predictions."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eyechart.datasets_scripts.common.errors import UsageError
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
    RandomSample,
    Seed,
    Settings,
    SkipBad,
    Split,
    Verbose,
    complete_task,
    data_request,
    judge_options,
    parse_pairs,
)
from eyechart.evaluators.commands.running import ModelRun, announce, default_folder, execute_plan
from eyechart.evaluators.runs.console import checked

if TYPE_CHECKING:
    from eyechart.evaluators.requests.types import Backend
    from eyechart.evaluators.runs.plan import TaskRun


def score(
    task: Annotated[
        str, typer.Argument(autocompletion=complete_task, help="Task, as listed by `eyechart tasks`, or a task file.")
    ],
    predictions: Annotated[
        Path,
        typer.Option(
            help="File with predictions: JSON Lines with id, pass, and text, logits or score; VLMEvalKit's XLSX, TSV "
            "or JSON; lmms-eval's samples; LLaVA's answers to MMBench; Q-Bench's released logits; a benchmark's own "
            "answer file; or CSV with the image and the score of any quality metric."
        ),
    ],
    model: Annotated[str | None, typer.Option(help="Name of the model that made the predictions.")] = None,
    lower_is_better: Annotated[
        bool, typer.Option("--lower-is-better", help="Lower scores mean better images, as for NIQE.")
    ] = False,
    dataset: Datasets = None,
    split: Split = None,
    limit: Limit = None,
    sample: RandomSample = None,
    data_dir: DataDirs = None,
    data_arg: DataArgs = None,
    mini: Mini = False,
    skip_bad: SkipBad = False,
    settings: Settings = None,
    as_published: AsPublished = False,
    seed: Seed = 0,
    judge: Judge = None,
    judge_arg: JudgeArgs = None,
    out: Out = None,
    no_store: NoStore = False,
    verbose: Verbose = False,
) -> None:
    """Score precomputed predictions. A benchmark's answer file can be scored only if the data include the answers."""
    announce(model or str(predictions))
    from eyechart.evaluators.evaluation.options import RunOptions
    from eyechart.evaluators.runs.data import check_data, check_mini
    from eyechart.evaluators.runs.plan import make_plan
    from eyechart.evaluators.tasks import find_task

    def plan_scoring() -> "list[TaskRun]":
        find_task(task)
        request = data_request(
            data_arg, split=split, is_mini=mini, limit=limit, sample=sample, skip_bad=skip_bad, images="skip"
        )
        how = RunOptions(parse_pairs("--set", settings), as_published, seed, skip_bad=skip_bad)
        plan = make_plan([task], request, how, datasets=dataset or (), data_dirs=data_dir or ())
        if mini:
            check_mini(plan)
        return plan

    plan = checked(plan_scoring)
    judging = checked(lambda: judge_options(judge, judge_arg))
    checked(lambda: check_data(plan))

    def backend(_: str | None) -> "Backend":
        from eyechart.evaluators.backends.predictions.backend import PredictionsFileBackend

        answers = PredictionsFileBackend(predictions, name=model, lower_is_better=lower_is_better)
        if answers.config not in (None, plan[0].task.data.config):
            # The parts of AesBench have the same ids, so matching by id would not notice.
            raise UsageError(
                f"{predictions} has predictions for the configuration '{answers.config}', not for that of {task}"
            )
        return answers

    runs = [ModelRun(backend, out or default_folder())]
    execute_plan(plan, runs, judging, use_store=judging is not None and not no_store, verbose=verbose)
