import gc
import weakref

import pytest

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators.backends.local.base import each_alone, fitting

FULL = "CUDA out of memory. Tried to allocate 1 GiB"
FAILED = "the model failed on it: ValueError: no"


@pytest.fixture(autouse=True)
def _without_collection(monkeypatch):
    """accelerate collects garbage each time, which takes long where many tests ran before."""
    monkeypatch.setattr(gc, "collect", lambda: 0)


@pytest.mark.parametrize(
    ("start", "fits", "tried"),
    [
        *((8, 8, [8]), (8, 3, [8, 4, 2]), (16, 1, [16, 8, 4, 2, 1]), (12, 1, [12, 6, 3, 1]), (1, 1, [1])),
        # Memory is too small for one.
        *((1, 0, [1]), (5, 0, [5, 2, 1])),
    ],
)
def test_a_batch_is_halved_until_it_fits(start, fits, tried):
    sizes = []

    def run(size):
        sizes.append(size)
        if size > fits:
            raise RuntimeError(FULL)
        return f"with {size}"

    if fits:
        assert fitting(run, start) == (f"with {tried[-1]}", tried[-1])
    else:
        with pytest.raises(MemoryError, match=f"out of memory even with batch size 1: {FULL}"):
            fitting(run, start)
    assert sizes == tried


def test_other_errors_do_not_make_smaller_batches():
    with pytest.raises(ZeroDivisionError):
        fitting(lambda size: size / 0, 8)


def test_a_bad_item_does_not_take_the_others_along_and_what_its_run_held_is_freed():
    held = []

    def run(items):
        assert not [reference for reference in held if reference() is not None]
        large = set(items)
        held.append(weakref.ref(large))
        if "bad" in items:
            raise ValueError("no")
        return [item.upper() for item in items]

    results = dict(each_alone(["a", "bad", "c"], run))
    assert (results["a"], results["c"], len(held)) == ("A", "C", 4)
    assert isinstance(results["bad"], DataError) and str(results["bad"]) == FAILED
