"""Judges on a server: asked many at once, stored, within a limit on spending."""

from typing import TYPE_CHECKING

from eyechart.evaluators.judging.options import JudgeOptions

if TYPE_CHECKING:
    from eyechart.evaluators.backends.processes import Processes
    from eyechart.evaluators.judging.distributed import DistributedJudge
    from eyechart.evaluators.judging.endpoint_judge import EndpointJudge
    from eyechart.evaluators.requests.store import ResponseStore


def make_judge(
    options: JudgeOptions, store: "ResponseStore | None" = None, processes: "Processes | None" = None
) -> "EndpointJudge | DistributedJudge":
    """Make the judge of a run; `for_task()` gives that of each of its tasks.

    Args:
        options: The judge and how it is asked.
        store: Gives the replies of earlier runs and keeps those of this one; None asks for all of them.
        processes: All processes of the run, of which the main one asks; None for this one alone.

    Raises:
        UsageError: Address, key, limit or table of prices are not allowed. Nothing is sent yet.
    """
    from eyechart.evaluators.judging.distributed import DistributedJudge
    from eyechart.evaluators.judging.endpoint_judge import EndpointJudge
    from eyechart.evaluators.judging.server import JudgeServer

    judge = EndpointJudge(JudgeServer(options), store)
    return judge if processes is None else DistributedJudge(judge, processes)
