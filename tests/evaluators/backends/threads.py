"""Processes of one run as threads of this one, which costs a fraction of starting real ones."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from eyechart.evaluators.backends.processes import Processes


class _Thread(Processes):
    def __init__(self, rank: int, values: list[Any], barrier: threading.Barrier) -> None:
        self.rank, self.count = rank, len(values)
        self._values, self._barrier = values, barrier

    def gather(self, value):
        self._values[self.rank] = value
        self._barrier.wait()
        gathered = list(self._values)
        self._barrier.wait()
        return gathered


def in_processes(count: int, call: Callable[[Processes], Any]) -> list[Any]:
    """Run the same in so many; gives what each returned, by rank."""
    values, barrier = [None] * count, threading.Barrier(count, timeout=120)
    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(lambda rank: call(_Thread(rank, values, barrier)), range(count)))
