"""Names of results and their data in reports, as in the papers."""

from eyechart.evaluators.published.names import full_title
from eyechart.evaluators.results.evaluation import AVERAGE
from eyechart.evaluators.results.finished_runs import TaskKey
from eyechart.evaluators.tasks.q_bench import DATABASES

_DATA = {
    **DATABASES,
    AVERAGE: "average of the databases",
    "llvisionqa": "LLVisionQA",
    "llvisionqa_pairs": "LLVisionQA, pairs",
    "lldescribe": "LLDescribe",
    "llsavisionqa": "LLSAVisionQA",
    "csiq": "CSIQ",
    "kadis700k": "KADIS-700k",
    "mm21": "MM21",
    "sqad": "SQAD",
}
_ONLY = ("mmbench", "aesbench", "two_afc")


def data_title(key: TaskKey) -> str:
    """The dataset and split of a result; only the split if the dataset has the name of the paper or of your own task.

    Examples:
        >>> data_title(TaskKey("q_bench/assessment", "koniq10k", "test"))
        'KonIQ-10k, test'
    """
    repeat = f", no. {key.repeat + 1}" if key.repeat else ""
    named = "" if key.dataset in (*_ONLY, key.task) else f"{_DATA.get(key.dataset, key.dataset)}, "
    return f"{named}{key.split}{repeat}"


def heading(key: TaskKey) -> str:
    """Paper, task, dataset and split of a result, for lists across papers.

    Examples:
        >>> heading(TaskKey("q_bench/perception", "llvisionqa", "dev"))
        'Q-Bench A1 Perception (LLVisionQA, dev)'
    """
    return f"{full_title(key.task)} ({data_title(key)})"
