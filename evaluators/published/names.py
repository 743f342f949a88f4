"""The names of the papers and of their tasks, as reports and leaderboards show them."""

from typing import NamedTuple

from eyechart.evaluators.published import published_tables

TASK_TITLES = {
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


class Paper(NamedTuple):
    """A paper, or the group of tasks that belong to no paper."""

    name: str
    citation: str
    """Authors and venue; "" for tasks without a paper."""


OWN = Paper("Other tasks", "")


def paper_of(task: str) -> Paper:
    """The paper of a task.

    Examples:
        >>> paper_of("q_bench/perception")
        Paper(name='Q-Bench', citation='Wu et al., ICLR 2024')
    """
    if task not in TASK_TITLES:
        return OWN
    lead = f"{task.partition('/')[0]}/"
    full = next(table.paper for table in published_tables().values() if table.board.startswith(lead))
    name, _, citation = full.partition(" (")
    return Paper(name, citation.removesuffix(")"))


def task_title(task: str) -> str:
    """The title of a task within its paper; for a task of your own, its name."""
    return TASK_TITLES.get(task, task)
