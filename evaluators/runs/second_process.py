"""A second process for long runs: it draws demo data and charts while this one loads and asks the model."""

import contextlib
import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eyechart.evaluators.evaluation.options import DataRequest
    from eyechart.evaluators.report.charts import Chart
    from eyechart.evaluators.runs.task_runs import TaskRun

# With fewer tasks, its start takes longer than what it saves.
_LEAST_TASKS = 8


class SecondProcess:
    """Work that is done ahead; whatever fails there is done again here, where its error is reported."""

    def __init__(self, process: "subprocess.Popen[bytes]", thread: ThreadPoolExecutor) -> None:
        """Keep the process, and the thread that waits for what it does."""
        self._process, self._thread = process, thread
        self._loaded: dict[int, Future[Any]] = {}
        self._drawn: dict[Chart, Future[Any]] = {}

    def load_ahead(self, task_runs: "Sequence[TaskRun]") -> None:
        """Draw and prepare the demo data of tasks, in their order."""
        for run in task_runs:
            if run.data.is_mini:
                self._loaded[id(run)] = self._submit(_load, run.dataset, run.task.data.config, run.data)

    def wait_for_data(self, task_run: "TaskRun") -> None:
        """Wait until the demo data of a task are in the cache."""
        if future := self._loaded.get(id(task_run)):
            future.exception()

    def draw_ahead(self, charts: "Sequence[Chart]") -> None:
        """Draw charts that the report will have."""
        for chart in charts:
            self._drawn[chart] = self._drawn.get(chart) or self._submit(_draw, chart)

    def drawn(self, chart: "Chart") -> Mapping[str, bytes]:
        """A chart as SVG."""
        self.draw_ahead([chart])
        with contextlib.suppress(Exception):
            return self._drawn[chart].result()
        return _draw(chart)

    def _submit(self, work: Callable[..., Any], *arguments: Any) -> Future[Any]:
        return self._thread.submit(self._ask, work, arguments)

    def _ask(self, work: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        # Complete before a byte is sent: half a pickle would end the other process.
        self._process.stdin.write(pickle.dumps((work, arguments)))
        self._process.stdin.flush()
        # Written by `serve`, which is this program, for nobody else has the pipe.
        is_done, value = pickle.load(self._process.stdout)
        if not is_done:
            raise RuntimeError(value)
        return value


@contextlib.contextmanager
def second_process(task_runs: "Sequence[TaskRun]") -> Iterator[SecondProcess | None]:
    """A second process for these tasks; None if they are too few, or there is one core."""
    if len(task_runs) < _LEAST_TASKS or os.cpu_count() == 1:
        yield None
        return
    thread = ThreadPoolExecutor(1, "eyechart-second-process")
    # -P: a file in the working directory must not stand for a library. In a session of its own: Ctrl-C is for this one.
    command = [sys.executable, "-P", "-c", f"from {__name__} import serve; serve()"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
    try:
        second = SecondProcess(process, thread)
        second.load_ahead(task_runs)
        yield second
    finally:
        process.kill()
        thread.shutdown(cancel_futures=True)
        process.communicate()


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


def serve() -> None:
    """Do what the first process asks for until it ends, however it ends; leave warnings to it."""
    warnings.simplefilter("ignore")
    answers, sys.stdout = sys.stdout.buffer, sys.stderr
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            # Written by `SecondProcess`.
            work, arguments = pickle.load(sys.stdin.buffer)
            try:
                answer = True, work(*arguments)
            # Whatever it is, the work is done again in the first process.
            except Exception as error:
                answer = False, repr(error)
            pickle.dump(answer, answers)
            answers.flush()
