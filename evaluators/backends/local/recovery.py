"""Keeps a run going: smaller batches if memory runs out, single items if a batch fails."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from eyechart.datasets_scripts.common.errors import DataError, EyechartError, UsageError

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def first_batch_size(requested: int | None, device_type: str) -> int:
    """The requested batch size; None is 8 on a CPU, where more is not faster, and otherwise 64."""
    if requested is None:
        return 8 if device_type == "cpu" else 64
    if requested < 1:
        raise UsageError(f"batch_size={requested} is not allowed; it must be at least 1, or None to choose it.")
    return requested


def fitting(run: Callable[[int], _Result], batch_size: int) -> tuple[_Result, int]:
    """Run with half the batch size each time memory runs out; returns the result and the size that fitted."""
    from accelerate.utils.memory import clear_device_cache

    while True:
        try:
            return run(batch_size), batch_size
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            if batch_size == 1:
                raise MemoryError(f"out of memory even with batch size 1: {error}") from error
        # Outside of `except`, where the traceback's frames hold the tensors that filled the memory.
        clear_device_cache(garbage_collection=True)
        batch_size //= 2


def is_out_of_memory(error: Exception) -> bool:
    """Whether the error means that memory ran out, so that a smaller batch may help."""
    from accelerate.utils.memory import should_reduce_batch_size

    return bool(should_reduce_batch_size(error))


def each_alone(
    items: Sequence[_Item], run: Callable[[Sequence[_Item]], Sequence[tuple[int, _Result]]]
) -> Iterator[tuple[_Item, _Result | DataError]]:
    """Run items together or, if that fails, one by one, and yield each with its result or the error.

    `run` returns each result with the index of its item; an EyechartError concerns all items and is raised.
    """
    if not items:
        return
    try:
        results = run(items)
    except EyechartError:
        raise
    # Models can raise any kind of error.
    except Exception as error:
        # Only the message is kept, because the traceback's frames hold the tensors that filled the memory.
        failure = model_failure(error)
    else:
        yield from ((items[index], result) for index, result in results)
        return
    if len(items) == 1:
        yield items[0], failure
        return
    for item in items:
        yield from each_alone([item], run)


def model_failure(error: Exception) -> DataError:
    """The error of an item for which the model or its processor raised."""
    return DataError(f"the model failed on it: {type(error).__name__}: {error}")
