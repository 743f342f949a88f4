"""`eyechart score`: score precomputed predictions."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.commands.arguments import DataArguments, JudgeArguments, TaskArguments, expanded
from eyechart.evaluators.commands.completion import complete_task
from eyechart.evaluators.commands.running import ModelRun, announce, default_folder, execute_plan
from eyechart.evaluators.runs.console import checked

if TYPE_CHECKING:
    from eyechart.evaluators.requests.types import Backend
    from eyechart.evaluators.runs.plan import TaskRun


@expanded
def score(
    task: Annotated[
        str, typer.Argument(autocompletion=complete_task, help="Task, as listed by `eyechart tasks`, or a task file.")
    ],
    data: DataArguments,
    how: TaskArguments,
    judge: JudgeArguments,
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
) -> None:
    """Score precomputed predictions. A benchmark's answer file can be scored only if the data include the answers."""
    announce(model or str(predictions))
    from eyechart.evaluators.runs.data import check_data, check_mini
    from eyechart.evaluators.runs.plan import make_plan
    from eyechart.evaluators.tasks import find_task

    def plan_scoring() -> "list[TaskRun]":
        find_task(task)
        request = replace(data.request(), skip_bad=how.skip_bad, images="skip")
        plan = make_plan([task], request, how.options(), datasets=data.dataset or (), data_dirs=data.data_dir or ())
        if data.mini:
            check_mini(plan)
        return plan

    plan = checked(plan_scoring)
    judging = checked(judge.options)
    checked(lambda: check_data(plan))

    def backend(_: str | None) -> "Backend":
        from eyechart.evaluators.backends.predictions.backend import PredictionsFileBackend

        made = PredictionsFileBackend(predictions, name=model, lower_is_better=lower_is_better)
        if made.config not in (None, plan[0].task.data.config):
            # The parts of AesBench have the same ids, so matching by id would not notice.
            raise UsageError(
                f"{predictions} has predictions for the configuration '{made.config}', not for that of {task}"
            )
        return made

    runs = [ModelRun(backend, how.out or default_folder())]
    use_store = judging is not None and not how.no_store
    execute_plan(plan, runs, judging, use_store=use_store, verbose=how.verbose)
