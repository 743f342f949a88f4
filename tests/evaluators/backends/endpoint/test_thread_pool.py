import threading
import time

import pytest

from eyechart.evaluators.backends.endpoint.thread_pool import map_unordered


def test_every_item_is_called_once():
    assert sorted(map_unordered(lambda i: i * i, range(1000), 7)) == [i * i for i in range(1000)]
    assert list(map_unordered(lambda i: i, [], 3)) == []


def test_few_items_are_taken_before_their_results_are():
    begun = []
    results = map_unordered(lambda i: begun.append(i) or i, range(1000), 4)
    next(results)
    time.sleep(0.1)
    assert len(begun) <= 2 * 4 + 1


def test_an_error_comes_out_and_ends_the_calls():
    begun = []

    def call(i):
        begun.append(i)
        if i == 5:
            raise KeyError(i)
        return i

    with pytest.raises(KeyError, match="5"):
        list(map_unordered(call, range(1000), 2))
    time.sleep(0.1)
    assert len(begun) < 20


def test_closing_ends_the_calls_without_waiting_for_them():
    gate = threading.Event()
    before = threading.active_count()

    ended = []

    def call(i):
        if i:
            gate.wait()
        ended.append(i)
        return i

    results = map_unordered(call, range(100), 3)
    assert next(results) == 0
    results.close()
    assert ended == [0], "the others still wait"
    gate.set()
    end = time.monotonic() + 300
    while threading.active_count() > before and time.monotonic() < end:
        time.sleep(0.01)
    assert threading.active_count() == before, "the threads end"
