"""Concurrent calls, with a limit on running calls and on waiting results."""

import itertools
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_unordered(function: Callable[[Item], Result], items: Sequence[Item], workers: int) -> Iterator[Result]:
    """Call a function on each item, in threads, and yield each result as soon as it is ready.

    At most `2 * workers` items are in progress, including waiting results, so that memory does not grow with the number
    of items. After an error, an interruption or a `close`, no new call starts; running calls are abandoned. Unlike the
    threads of `concurrent.futures`, these threads do not keep the process alive.

    Args:
        function: Called by several threads at once.
        items: The arguments of the calls.
        workers: Number of concurrent calls, at least 1.

    Raises:
        Exception: The first exception that a call raised.
    """
    todo: queue.SimpleQueue[Item | None] = queue.SimpleQueue()
    done: queue.SimpleQueue[Callable[[], Result]] = queue.SimpleQueue()
    stopped = threading.Event()

    def work() -> None:
        while True:
            item = todo.get()
            if item is None or stopped.is_set():
                return
            done.put(_outcome(function, item))

    threads = [threading.Thread(target=work, daemon=True) for _ in range(min(workers, len(items)))]
    for thread in threads:
        thread.start()
    remaining = iter(items)
    try:
        under_way = 0
        for item in itertools.islice(remaining, 2 * workers):
            todo.put(item)
            under_way += 1
        while under_way:
            result = done.get()()
            under_way -= 1
            for item in itertools.islice(remaining, 1):
                todo.put(item)
                under_way += 1
            yield result
    finally:
        stopped.set()
        for _ in threads:
            todo.put(None)


def _outcome(function: Callable[[Item], Result], item: Item) -> Callable[[], Result]:
    """Call the function; returns a function that returns or raises the outcome."""
    try:
        result = function(item)
    except Exception as error:
        failure = error

        def fail() -> Result:
            raise failure

        return fail
    return lambda: result
