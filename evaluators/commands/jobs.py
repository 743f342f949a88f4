"""Evaluate models on the Hub's machines."""

from typing import Annotated

import typer

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.evaluation.options import cli_option
from eyechart.evaluators.runs.console import say

_MODEL_HELP = "Model, as inspect-ai names it: vllm/OWNER/NAME or hf/OWNER/NAME in the job, or a provider's."
_INSTALL_HELP = "How the job installs eyechart, such as 'eyechart[inspect] @ git+https://...'."


def run(
    tasks: Annotated[list[str], typer.Argument(help="Tasks, as for `eyechart run`.")],
    model: Annotated[str, cli_option(_MODEL_HELP, metavar="PROVIDER/MODEL")],
    logs: Annotated[str, cli_option("Bucket for the logs.", metavar="hf://buckets/OWNER/NAME")],
    install: Annotated[str, cli_option(_INSTALL_HELP, metavar="REQUIREMENT")],
    flavor: Annotated[str, cli_option("Machine; `hf jobs hardware` lists them.")] = "a10g-large",
    submit: Annotated[bool, cli_option("Start the job. Without it, only print its command.", "--submit")] = False,
) -> None:
    """Print the job that evaluates a model on the Hub's machines with inspect-ai, or start it.

    `eyechart score TASK --predictions LOG` makes a run of each log.
    """
    from eyechart.evaluators.tasks import TASKS, match_tasks
    from eyechart.hub_cards.jobs import Bucket, Job

    if "/" not in model:
        raise UsageError(f"--model {model!r} has no provider; expected PROVIDER/MODEL, such as vllm/{model}")
    names = match_tasks(tasks, [task.name for task in TASKS])
    job = Job(names, model, Bucket.of("--logs", logs), install, flavor)
    say(f"Started: {job.submit()}" if submit else job.command())


COMMANDS = (run,)
