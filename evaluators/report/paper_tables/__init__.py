"""Scores in the layout of the papers' tables: the same columns in the same order, so that rows can be compared.

Ranks and marks of improvement are left out: they compare with models outside the report.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from eyechart.evaluators.report.paper_tables import (
    aes_bench,
    choice_bias,
    mmbench,
    mmbench_appendix,
    own_task,
    q_bench,
    q_bench_assessment,
    ql_bench,
    two_afc,
)
from eyechart.evaluators.report.paper_tables.cells import PaperTable, Results, ResultsByKey
from eyechart.evaluators.results.finished_runs import Run, TaskKey, merged_keys
from eyechart.evaluators.tasks import known_task

_MMBENCH = tuple(f"mmbench/{name}" for name in ("en", "cn", "en_v11", "cn_v11", "cc"))
_MAKERS: Mapping[str, Callable[[TaskKey, Results], Iterator[PaperTable]]] = {
    "q_bench/perception": q_bench.perception,
    "q_bench/perception_pairs": q_bench.perception,
    "q_bench/description": q_bench.description,
    **dict.fromkeys(_MMBENCH, mmbench.circular),
    "ql_bench/single": ql_bench.self_awareness,
    "ql_bench/pair": ql_bench.self_awareness,
    "aes_bench/perception": aes_bench.perception,
    "aes_bench/empathy": aes_bench.empathy,
    "aes_bench/assessment": aes_bench.assessment,
    "aes_bench/interpretation": aes_bench.interpretation,
    "two_afc/coarse": two_afc.coarse,
    **{f"two_afc/{name}": two_afc.fine for name in ("fine_levels", "fine_types", "fine_mos")},
}
"""The tables of each result of a task."""
_TASK_MAKERS: Mapping[str, Callable[[str, ResultsByKey], Iterator[PaperTable]]] = {
    "q_bench/assessment": q_bench_assessment.assessment,
    **dict.fromkeys(_MMBENCH, mmbench_appendix.without_blind_solved),
}
"""The tables over several datasets or splits of a task; they come after its other tables."""


def paper_tables(runs: Sequence[Run]) -> list[PaperTable]:
    """The papers' tables of some runs, in the order of the runs' tasks.

    Args:
        runs: Each is one row, or a group of columns if the paper has models side by side.
    """
    tables: list[PaperTable] = []
    keys = merged_keys(runs)
    last = {key.task: key for key in keys}
    for key in keys:
        scored = [(run.label, run.tasks[key]) for run in runs if key in run.tasks and run.tasks[key].scores]
        marked = [(choice_bias.label_of(label, result), result) for label, result in scored]
        # MMBench has a separate table for runs without images.
        rows = scored if key.task in _MMBENCH else marked
        if scored and key.task in _MAKERS:
            tables += _MAKERS[key.task](key, rows)
        elif scored and known_task(key.task) is None:
            tables += own_task.scores(key, rows)
        tables += choice_bias.gains(key, marked)
        tables += choice_bias.positions(key, marked)
        if key == last[key.task] and key.task in _TASK_MAKERS:
            tables += _TASK_MAKERS[key.task](key.task, _of_task(key.task, runs))
    return tables


def _of_task(task: str, runs: Sequence[Run]) -> ResultsByKey:
    return [
        (run.label, {key: result for key, result in run.tasks.items() if key.task == task and result.scores})
        for run in runs
    ]
