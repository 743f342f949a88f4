"""`eyechart score`: score precomputed predictions."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.commands.arguments import TaskOptions, complete_task, parse_pairs
from eyechart.evaluators.commands.running import announce, result_folders, run_models
from eyechart.evaluators.evaluation.options import DataRequest, RunOptions, cli_option
from eyechart.evaluators.requests.types import Backend

_TASK_HELP = "Task, as listed by `eyechart tasks`, or a task file."
_FILE_HELP = """File with predictions: JSON Lines with id, pass, and text, logits or score; VLMEvalKit's XLSX, TSV or
JSON; lmms-eval's samples; Q-Bench's released logits; a benchmark's own answer file; a log of
inspect-ai (.eval); or CSV with the image and the score of any quality metric."""
_LOWER_HELP = "Lower scores mean better images, as for NIQE."


def score(
    task: Annotated[str, typer.Argument(autocompletion=complete_task, help=_TASK_HELP)],
    predictions: Annotated[Path, cli_option(_FILE_HELP)],
    data: DataRequest,
    how: RunOptions,
    task_options: TaskOptions,
    model: Annotated[str | None, cli_option("Name of the model that made the predictions.")] = None,
    lower_is_better: Annotated[bool, cli_option(_LOWER_HELP, "--lower-is-better")] = False,
) -> None:
    """Score precomputed predictions. A benchmark's answer file can be scored only if the data include the answers."""
    announce(model or str(predictions))
    from eyechart.evaluators.backends.predictions.inspect_log import SUFFIX, read_header
    from eyechart.evaluators.tasks import find_task

    scored_task = find_task(task)
    if predictions.suffix.lower() == SUFFIX:
        header = read_header(predictions)
        if header.task != scored_task.name:
            raise UsageError(f"{predictions} is a log of {header.task}, not of {scored_task.name}")
        given = parse_pairs("--set", task_options.settings)
        settings = {key: value for key, value in header.settings.items() if key not in given}
        how = RunOptions(
            {**settings, **how.settings},
            as_published=header.as_published or how.as_published,
            seed=how.seed or header.seed,
        )
        is_mini = data.is_mini or (header.is_mini and not task_options.data_dir)
        limit = data.limit or (None if data.sample else header.limit)
        data = replace(data, split=data.split or header.split, is_mini=is_mini, limit=limit)
        if header.dataset in scored_task.data.datasets:
            task_options = replace(task_options, dataset=task_options.dataset or [header.dataset])
    task_runs = task_options.task_runs([task], replace(data, images="skip"), how)
    judge = task_options.judge_options()

    def backend(_: str | None) -> Backend:
        from eyechart.evaluators.backends.predictions.backend import PredictionsFileBackend

        answers = PredictionsFileBackend(predictions, name=model, lower_is_better=lower_is_better)
        if answers.config not in (None, task_runs[0].task.data.config):
            # The parts of AesBench have the same ids, so matching by id would not notice.
            raise UsageError(
                f"{predictions} has predictions for the configuration '{answers.config}', not for that of {task}"
            )
        return answers

    from eyechart.evaluators.runs.run import ModelRun

    # Answers in a file are not stored again, only those of a judge.
    options = replace(task_options, no_store=task_options.no_store or judge is None)
    run = ModelRun(backend, result_folders(options.out, [model])[0], verbose=options.verbose, judge=judge)
    run_models(task_runs, [run], options)
