"""Scores laid out as the papers' tables are: the same columns in the same order, so that rows can be set beside them.

Left out are columns that compare with models that are no part of a report: ranks, and marks of improvement.
"""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence

from eyechart.evaluators.report.paper_tables import aes_bench
from eyechart.evaluators.report.paper_tables import mmbench
from eyechart.evaluators.report.paper_tables import q_bench
from eyechart.evaluators.report.paper_tables import ql_bench
from eyechart.evaluators.report.paper_tables import two_afc
from eyechart.evaluators.report.paper_tables.cells import PaperTable
from eyechart.evaluators.report.paper_tables.cells import Results
from eyechart.evaluators.report.runs import Run
from eyechart.evaluators.report.runs import TaskKey
from eyechart.evaluators.report.runs import merged_keys

_MAKERS: Mapping[str, Callable[[TaskKey, Results], Iterator[PaperTable]]] = {
    "q_bench/perception": q_bench.perception,
    "q_bench/perception_pairs": q_bench.perception,
    "q_bench/description": q_bench.description,
    "q_bench/assessment": q_bench.assessment,
    **{f"mmbench/{name}": mmbench.circular for name in ("en", "cn", "en_v11", "cn_v11", "cc")},
    "ql_bench/single": ql_bench.self_awareness,
    "ql_bench/pair": ql_bench.self_awareness,
    "aes_bench/perception": aes_bench.perception,
    "aes_bench/empathy": aes_bench.empathy,
    "aes_bench/assessment": aes_bench.assessment,
    "aes_bench/interpretation": aes_bench.interpretation,
    "two_afc/coarse": two_afc.coarse,
    **{f"two_afc/{name}": two_afc.fine for name in ("fine_levels", "fine_types", "fine_mos")},
}
"""Which tables each task fills."""


def paper_tables(runs: Sequence[Run]) -> list[PaperTable]:
    """The tables that the results of some runs fill, in the order of the runs' tasks.

    Args:
        runs: Each gives a row, or a group of columns where the paper has models side by side.
    """
    tables: list[PaperTable] = []
    for key in merged_keys(runs):
        scored = [(run.label, run.tasks[key]) for run in runs if key in run.tasks and run.tasks[key].scores]
        if scored and key.task in _MAKERS:
            tables += _MAKERS[key.task](key, scored)
    return tables
