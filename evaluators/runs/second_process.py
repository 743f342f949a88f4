"""A second process for long runs: it draws demo data and charts while this one loads and asks the model."""

import contextlib
import multiprocessing
import os
import signal
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eyechart.evaluators.evaluation.options import DataRequest
    from eyechart.evaluators.report.charts import Chart
    from eyechart.evaluators.runs.task_runs import TaskRun

# With fewer tasks, its start takes longer than what it saves.
_LEAST_TASKS = 8


class SecondProcess:
    """Work that is done ahead; whatever fails there is done again here, where its error is reported."""

    def __init__(self, pool: ProcessPoolExecutor, task_runs: "Sequence[TaskRun]") -> None:
        """Begin with the demo data, in the order of the tasks."""
        self._pool = pool
        self._loaded = {
            id(run): pool.submit(_load, run.dataset, run.task.data.config, run.data)
            for run in task_runs
            if run.data.is_mini
        }
        self._drawn: dict[Chart, Future[Mapping[str, bytes]]] = {}

    def wait_for_data(self, task_run: "TaskRun") -> None:
        """Wait until the demo data of a task are in the cache."""
        if future := self._loaded.get(id(task_run)):
            future.exception()

    def draw_ahead(self, charts: "Sequence[Chart]") -> None:
        """Draw charts that the report will have."""
        with contextlib.suppress(BrokenExecutor):
            for chart in charts:
                self._drawn[chart] = self._drawn.get(chart) or self._pool.submit(_draw, chart)

    def drawn(self, chart: "Chart") -> Mapping[str, bytes]:
        """A chart as SVG."""
        with contextlib.suppress(Exception):
            return (self._drawn.get(chart) or self._pool.submit(_draw, chart)).result()
        return _draw(chart)


@contextlib.contextmanager
def second_process(task_runs: "Sequence[TaskRun]") -> Iterator[SecondProcess | None]:
    """A second process for these tasks; None if they are too few, or there is one core."""
    if len(task_runs) < _LEAST_TASKS or os.cpu_count() == 1:
        yield None
        return
    context = multiprocessing.get_context("spawn")
    alive, watched = context.Pipe()
    pool = ProcessPoolExecutor(1, context, _begin, (watched,))
    try:
        yield SecondProcess(pool, task_runs)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        alive.close()


def _begin(watched: Connection) -> None:
    """End when the other end of a pipe is closed, as by a process that is killed; leave Ctrl-C and warnings to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore")
    threading.Thread(target=lambda: (watched.poll(None), os._exit(1)), daemon=True).start()


def _load(name: str, config: str | None, request: "DataRequest") -> None:
    import datasets

    from eyechart.datasets_scripts import load_dataset, mini

    datasets.disable_progress_bars()
    load_dataset(
        name,
        config,
        split=request.split,
        data_dir=mini.release(name),
        skip_missing=request.skip_missing,
        skip_bad=request.skip_bad,
        images=request.images,
        options=request.options,
    )


def _draw(chart: "Chart") -> Mapping[str, bytes]:
    from eyechart.evaluators.report.drawing import draw

    return draw(chart, files=False)
