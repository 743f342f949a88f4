"""What papers, tasks and data are called in reports: as the papers name them."""

from typing import NamedTuple

from eyechart.evaluators.published import published_tables
from eyechart.evaluators.results.evaluation import AVERAGE
from eyechart.evaluators.results.finished_runs import TaskKey
from eyechart.evaluators.tasks.q_bench import DATABASES

_TASKS = {
    "q_bench/perception": "A1 Perception",
    "q_bench/perception_pairs": "A1 Perception of pairs",
    "q_bench/description": "A2 Description",
    "q_bench/assessment": "A3 Assessment",
    "mmbench/en": "English",
    "mmbench/cn": "Chinese",
    "mmbench/en_v11": "English, version 1.1",
    "mmbench/cn_v11": "Chinese, version 1.1",
    "mmbench/cc": "CCBench",
    "ql_bench/single": "Single images",
    "ql_bench/pair": "Pairs",
    "aes_bench/perception": "AesP Perception",
    "aes_bench/empathy": "AesE Empathy",
    "aes_bench/assessment": "AesA Assessment",
    "aes_bench/interpretation": "AesI Interpretation",
    "two_afc/coarse": "Coarse pairs",
    "two_afc/fine_levels": "Fine pairs, levels",
    "two_afc/fine_types": "Fine pairs, types",
    "two_afc/fine_mos": "Fine pairs, opinion scores",
}
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


class Paper(NamedTuple):
    """A paper, or the tasks that no paper has."""

    name: str
    citation: str
    """Authors and venue; "" where there is no paper."""


OWN = Paper("Other tasks", "")


def paper_of(task: str) -> Paper:
    """The paper of a task.

    Examples:
        >>> paper_of("q_bench/perception")
        Paper(name='Q-Bench', citation='Wu et al., ICLR 2024')
    """
    if task not in _TASKS:
        return OWN
    lead = f"{task.partition('/')[0]}/"
    whole = next(table.paper for table in published_tables().values() if table.board.startswith(lead))
    name, _, citation = whole.partition(" (")
    return Paper(name, citation.removesuffix(")"))


def task_title(task: str) -> str:
    """The name of a task within its paper; one of one's own has the name it was given."""
    return _TASKS.get(task, task)


def data_title(key: TaskKey) -> str:
    """The data that a result is of; the split alone where a paper has one data set, which has its name.

    Examples:
        >>> data_title(TaskKey("q_bench/assessment", "koniq10k", "test"))
        'KonIQ-10k, test'
    """
    repeat = f", no. {key.repeat + 1}" if key.repeat else ""
    named = "" if key.dataset in _ONLY else f"{_DATA.get(key.dataset, key.dataset)}, "
    return f"{named}{key.split}{repeat}"


def heading(key: TaskKey) -> str:
    """A result by its paper, task and data, for lists over all papers.

    Examples:
        >>> heading(TaskKey("q_bench/perception", "llvisionqa", "dev"))
        'Q-Bench A1 Perception (LLVisionQA, dev)'
    """
    paper = paper_of(key.task)
    lead = "" if paper == OWN else f"{paper.name} "
    return f"{lead}{task_title(key.task)} ({data_title(key)})"
