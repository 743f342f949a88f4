import gc
import weakref

import pytest

from eyechart.datasets_scripts.common.errors import DataError, ModelError
from eyechart.evaluators.backends.local.recovery import each_alone, fitting


@pytest.fixture(autouse=True)
def _without_collection(monkeypatch):
    """accelerate collects garbage each time, which takes long where many tests ran before."""
    monkeypatch.setattr(gc, "collect", lambda: 0)


FULL = "CUDA out of memory. Tried to allocate 1 GiB"


@pytest.mark.parametrize(
    ("start", "fits", "tried"),
    [
        (8, 8, [8]),
        (8, 3, [8, 4, 2]),
        (16, 1, [16, 8, 4, 2, 1]),
        (12, 1, [12, 6, 3, 1]),
        (3, 1, [3, 1]),
        (1, 1, [1]),
    ],
)
def test_a_batch_is_halved_until_it_fits(start, fits, tried):
    sizes = []

    def run(size):
        sizes.append(size)
        if size > fits:
            raise RuntimeError(FULL)
        return f"with {size}"

    assert fitting(run, start) == (f"with {tried[-1]}", tried[-1])
    assert sizes == tried


@pytest.mark.parametrize("start", [1, 2, 5])
def test_memory_that_is_too_small_for_one_is_an_error(start):
    sizes = []

    def run(size):
        sizes.append(size)
        raise RuntimeError(FULL)

    with pytest.raises(MemoryError, match="out of memory even with batch size 1: CUDA out of memory"):
        fitting(run, start)
    assert sizes[-1] == 1 and len(sizes) == start.bit_length()


def test_other_errors_do_not_make_smaller_batches():
    def run(size):
        raise RuntimeError("shapes do not match")

    with pytest.raises(RuntimeError, match="shapes do not match"):
        fitting(run, 8)


def test_items_are_run_together():
    runs = []

    def run(items):
        runs.append(list(items))
        return [(1, "second"), (0, "first")]

    assert dict(each_alone(["a", "b"], run)) == {"a": "first", "b": "second"}
    assert runs == [["a", "b"]]
    assert list(each_alone([], run)) == []


def test_a_bad_item_does_not_take_the_others_along():
    def run(items):
        if "bad" in items:
            raise ValueError("no")
        return list(enumerate(item.upper() for item in items))

    found = dict(each_alone(["a", "bad", "c"], run))
    assert found["a"] == "A" and found["c"] == "C"
    assert isinstance(found["bad"], DataError)
    assert str(found["bad"]) == "the model failed on it: ValueError: no"


def test_what_a_failed_run_held_is_freed_before_its_items_are_run_alone():
    held = []

    def run(items):
        assert not [reference for reference in held if reference() is not None]
        large = {1, 2, 3}
        held.append(weakref.ref(large))
        raise ValueError("no")

    found = dict(each_alone(["a", "b"], run))
    assert len(held) == 3 and {str(error) for error in found.values()} == {"the model failed on it: ValueError: no"}


def test_what_concerns_all_items_is_raised():
    def run(items):
        raise ModelError("not this model")

    with pytest.raises(ModelError, match="not this model"):
        list(each_alone(["a", "b"], run))
