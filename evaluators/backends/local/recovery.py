"""Keeps a run going: smaller batches if memory runs out, single items if a batch fails."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from eyechart.datasets_scripts.common.errors import DataError, EyechartError, UsageError

_Asked = TypeVar("_Asked")
_Found = TypeVar("_Found")
_Result = TypeVar("_Result")


def first_batch_size(requested: int | None, device_type: str) -> int:
    """The initial batch size.

    Args:
        requested: At least 1; None is 8 on a CPU, where more is not faster, and otherwise 64, which `fitting` halves if
            memory runs out.
        device_type: Torch's name of the device type: "cpu", "cuda".

    Raises:
        UsageError: The requested size is below 1.
    """
    if requested is None:
        return 8 if device_type == "cpu" else 64
    if requested < 1:
        raise UsageError(f"batch_size={requested} is not allowed; it must be at least 1, or None to choose it.")
    return requested


def fitting(run: Callable[[int], _Result], batch_size: int) -> tuple[_Result, int]:
    """Run with a batch size that fits into memory.

    Args:
        run: Called with a batch size; called again with half the size each time memory runs out.
        batch_size: The first size, at least 1.

    Returns:
        What `run` returned, and the batch size that was used.

    Raises:
        MemoryError: Memory runs out even with batch size 1.
    """
    from accelerate.utils import find_executable_batch_size

    def sized(size: int) -> tuple[_Result, int]:
        try:
            return run(size), size
        except RuntimeError as error:
            if size > 1 or not is_out_of_memory(error):
                raise
            raise MemoryError(f"out of memory even with batch size 1: {error}") from error

    try:
        return sized(batch_size)
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
    sizes = iter(batch_size // 2**halvings for halvings in range(2, batch_size.bit_length()))
    return find_executable_batch_size(sized, batch_size // 2, reduce_batch_size_fn=lambda: next(sizes))()


def is_out_of_memory(error: Exception) -> bool:
    """Whether the error means that memory ran out, so that a smaller batch may help."""
    from accelerate.utils.memory import should_reduce_batch_size

    return bool(should_reduce_batch_size(error))


def each_alone(
    asked: Sequence[_Asked], run: Callable[[Sequence[_Asked]], Sequence[tuple[int, _Found]]]
) -> Iterator[tuple[_Asked, _Found | DataError]]:
    """Run items together or, if that fails, one by one, so that a bad item does not make the others fail.

    Args:
        asked: The items.
        run: Takes items and returns results, each with the index of its item.

    Yields:
        Each item with its result, or with the error.

    Raises:
        EyechartError: The error concerns all items.
    """
    if not asked:
        return
    try:
        found = run(asked)
    except EyechartError:
        raise
    # Models can raise any kind of error.
    except Exception as error:
        # Only the message is kept, because the traceback's frames hold the tensors that filled the memory.
        failure = model_failure(error)
    else:
        for index, result in found:
            yield asked[index], result
        return
    if len(asked) == 1:
        yield asked[0], failure
        return
    for item in asked:
        yield from each_alone([item], run)


def model_failure(error: Exception) -> DataError:
    """The error of an item for which the model or its processor raised."""
    return DataError(f"the model failed on it: {type(error).__name__}: {error}")
