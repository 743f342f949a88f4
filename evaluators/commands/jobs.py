"""Evaluate models on the Hub's machines."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.commands.arguments import parse_pairs
from eyechart.evaluators.evaluation.options import DataRequest, RunOptions, Texts, cli_option
from eyechart.evaluators.runs.console import say

if TYPE_CHECKING:
    from eyechart.evaluators.runs.task_runs import TaskRun

_MODEL_HELP = "Model, as inspect-ai names it: vllm/OWNER/NAME for one in the job, or a provider's."
# The backslash hides the bracket from rich.
_INSTALL_HELP = r"How the job installs eyechart, such as 'eyechart\[inspect] @ git+https://...'."
_LOGS_HELP = "Bucket for the logs; a new one is private."
_SETTINGS_HELP = "Setting of all these tasks, as for `eyechart run`. Repeatable."


def run(
    tasks: Annotated[list[str], typer.Argument(help="Tasks, as for `eyechart run`, except task files.")],
    model: Annotated[str, cli_option(_MODEL_HELP, metavar="PROVIDER/MODEL")],
    logs: Annotated[str, cli_option(_LOGS_HELP, metavar="hf://buckets/OWNER/NAME")],
    install: Annotated[str, cli_option(_INSTALL_HELP, metavar="REQUIREMENT")],
    dataset: Annotated[str | None, cli_option("Dataset (default: the first of each task).", metavar="NAME")] = None,
    settings: Annotated[Texts, cli_option(_SETTINGS_HELP, "--set", metavar="NAME=VALUE")] = None,
    limit: Annotated[int | None, cli_option("Evaluate only the first N items.", min=1)] = None,
    judge: Annotated[str | None, cli_option("Judge, named like the model.", metavar="PROVIDER/MODEL")] = None,
    flavor: Annotated[str, cli_option("Machine; `hf jobs hardware` lists them.")] = "a10g-large",
    timeout: Annotated[str, cli_option("Stop the job after this time, such as 90m or 2d.", metavar="TIME")] = "6h",
    submit: Annotated[bool, cli_option("Start the job. Without it, only print its commands.", "--submit")] = False,
) -> None:
    """Print the job that evaluates a model on the Hub's machines with inspect-ai, or start it.

    `eyechart score TASK --predictions LOG` makes a run of each log.
    """
    from eyechart.evaluators.inspect_bridge.providers import check_output_type
    from eyechart.evaluators.runs.task_runs import check_judging, make_task_runs
    from eyechart.hub_cards.jobs import Bucket, Job, provider_of

    how = RunOptions(parse_pairs("--set", settings))
    task_runs = make_task_runs(tasks, DataRequest(), how, datasets=[dataset] if dataset else [])
    if dataset is None:
        # As inspect-ai's tasks do.
        task_runs = [each for each in task_runs if each.dataset == each.task.data.default_datasets[0]]
    _check(task_runs, how)
    check_judging(task_runs, judge is not None)
    pairs = [f"dataset={dataset}"] if dataset else []
    options = [word for pair in (*pairs, *(settings or ())) for word in ("-T", pair)]
    options += ["--limit", str(limit)] if limit else []
    names = [task_run.task.name for task_run in task_runs]
    job = Job(names, model, Bucket.of("--logs", logs), install, flavor, timeout, judge, options)
    for each in task_runs:
        check_output_type(each.options.protocol(each.task).output_type, provider_of(model))
    say(f"Started: {job.submit()}" if submit else job.command())


def _check(task_runs: "Sequence[TaskRun]", how: RunOptions) -> None:
    """Refuse what a job does not have: task files, data to get by hand, settings of only some of its tasks."""
    from eyechart.datasets_scripts.loading import by_hand
    from eyechart.evaluators.tasks import known_task, more_tasks

    missing: dict[str, str] = {}
    for task_run in task_runs:
        task = task_run.task
        if known_task(task.name) is None and task.name not in more_tasks():
            raise UsageError(f"{task.name} is a task file's, which the job does not have; use `eyechart run`")
        if others := how.settings.keys() - task_run.options.settings.keys():
            raise UsageError(f"--set {min(others)} is not for {task.name}; a job has one set of settings: use two jobs")
        if task_run.is_official and (steps := by_hand(task_run.dataset, task.data.config)):
            missing.setdefault(steps, f"- {task_run.title}: {steps}")
    if missing:
        reason = "these data cannot be downloaded in a job; use `eyechart run`, or name another --dataset of the task:"
        raise UsageError("\n".join([reason, *missing.values()]))


COMMANDS = (run,)
