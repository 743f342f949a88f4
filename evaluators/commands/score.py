"""`eyechart score`: score precomputed predictions."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.commands.arguments import DataArguments, JudgeArguments, TaskArguments, expanded, parse_pairs
from eyechart.evaluators.commands.completion import complete_task
from eyechart.evaluators.commands.running import execute_plan
from eyechart.evaluators.runs.console import checked

if TYPE_CHECKING:
    from eyechart.evaluators.requests.types import Backend
    from eyechart.evaluators.runs.plan import TaskRun
    from eyechart.evaluators.runs.run import RunOptions


@expanded
def score(
    task: Annotated[
        str, typer.Argument(autocompletion=complete_task, help="Task, as `eyechart tasks` lists them, or a task file.")
    ],
    data: DataArguments,
    how: TaskArguments,
    judge: JudgeArguments,
    predictions: Annotated[
        Path,
        typer.Option(
            help="File of answers: JSON Lines with id, pass, and text, logits or score; VLMEvalKit's XLSX, TSV or "
            "JSON; lmms-eval's samples; LLaVA's answers to MMBench; Q-Bench's released logits; a benchmark's own "
            "answer file; or CSV with image and score of any measure."
        ),
    ],
    model: Annotated[str | None, typer.Option(help="Name of the model that gave the answers.")] = None,
    lower_is_better: Annotated[
        bool, typer.Option("--lower-is-better", help="A lower score is that of a better image, as for NIQE.")
    ] = False,
) -> None:
    """Score precomputed predictions; an answer file needs a release that holds the right answers."""
    from eyechart.evaluators.runs.data import check_data, check_mini
    from eyechart.evaluators.runs.plan import make_plan

    def plan_scoring() -> "list[TaskRun]":
        plan = make_plan(
            [task],
            dataset=data.dataset,
            split=data.split,
            data_dirs=data.data_dir or [],
            is_mini=data.mini,
            data_options=parse_pairs("--data-option", data.data_option or []),
            settings=how.given_settings(),
            as_published=how.as_published,
            limit=data.limit,
            sample=data.sample,
        )
        if data.mini:
            check_mini(plan)
        return plan

    plan = checked(plan_scoring)
    judging = checked(judge.options)
    checked(lambda: check_data(plan, images="skip"))

    def backend(_: str | None) -> "Backend":
        from eyechart.evaluators.backends.predictions.backend import PredictionsFileBackend

        made = PredictionsFileBackend(predictions, name=model, lower_is_better=lower_is_better)
        if made.config not in (None, plan[0].task.data.config):
            # Parts of AesBench share their ids: nothing else would tell them apart.
            raise UsageError(f"{predictions} answers the configuration '{made.config}', which is not that of {task}")
        return made

    def options() -> "RunOptions":
        from eyechart.evaluators.runs.run import RunOptions

        return RunOptions(how.seed or 0, how.skip_bad)

    execute_plan(plan, backend, options, how.out, judging, use_store=judging is not None and not how.no_store)
