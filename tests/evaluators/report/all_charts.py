"""The charts of a report, for tests."""

from collections.abc import Iterator, Sequence

from eyechart.evaluators.report.charts import Chart, Scatter
from eyechart.evaluators.report.task_charts import charts_of
from eyechart.evaluators.results.finished_runs import Run, merged_keys


def task_charts(runs: Sequence[Run]) -> Iterator[Chart | Scatter]:
    """All charts of some runs, in the order of the runs' tasks."""
    for key in merged_keys(runs):
        yield from charts_of(key, runs)
