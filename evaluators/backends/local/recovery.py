"""What keeps a run going: smaller batches where memory runs out, single items where a batch fails."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from eyechart.datasets_scripts.common.errors import DataError, EyechartError, UsageError

_Asked = TypeVar("_Asked")
_Found = TypeVar("_Found")
_Result = TypeVar("_Result")


def first_batch_size(requested: int | None, device_type: str) -> int:
    """The size to begin with.

    Args:
        requested: At least 1; None is 8 on a CPU, where more gains nothing, and 64 elsewhere, which `fitting` halves
            where it is too much.
        device_type: As torch names it: "cpu", "cuda".

    Raises:
        UsageError: The requested size is below 1.
    """
    if requested is None:
        return 8 if device_type == "cpu" else 64
    if requested < 1:
        raise UsageError(f"batch_size={requested} is not allowed; it is at least 1, or None for an automatic one.")
    return requested


def fitting(run: Callable[[int], _Result], batch_size: int) -> tuple[_Result, int]:
    """Run with the batch size that fits into memory.

    Args:
        run: Called with a batch size, again with half of it each time that memory runs out.
        batch_size: The first size, at least 1.

    Returns:
        What `run` returned, and the size that it ran with.

    Raises:
        MemoryError: It does not fit with size 1.
    """
    from accelerate.utils import find_executable_batch_size

    def sized(size: int) -> tuple[_Result, int]:
        try:
            return run(size), size
        except RuntimeError as error:
            if size > 1 or not is_out_of_memory(error):
                raise
            raise MemoryError(f"it does not fit into memory by itself: {error}") from error

    try:
        return sized(batch_size)
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
    sizes = iter(batch_size // 2**halvings for halvings in range(2, batch_size.bit_length()))
    return find_executable_batch_size(sized, batch_size // 2, reduce_batch_size_fn=lambda: next(sizes))()


def is_out_of_memory(error: Exception) -> bool:
    """Whether a smaller batch may do."""
    from accelerate.utils.memory import should_reduce_batch_size

    return bool(should_reduce_batch_size(error))


def each_alone(
    asked: Sequence[_Asked], run: Callable[[Sequence[_Asked]], Sequence[tuple[int, _Found]]]
) -> Iterator[tuple[_Asked, _Found | DataError]]:
    """Run items together or, if that fails, each alone, so that a bad one does not take the others along.

    Args:
        asked: The items.
        run: Gives what it found for some of the items, each with the item's index among them.

    Yields:
        Each item with what was found for it, or why there is nothing.

    Raises:
        EyechartError: What is wrong concerns all items.
    """
    if not asked:
        return
    try:
        found = run(asked)
    except EyechartError:
        raise
    # Models raise whatever the input led them to.
    except Exception as error:
        # No more is kept of the error, as its frames hold what filled the memory.
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
    """Why an item has no answer, where the model or its processor raised."""
    return DataError(f"the model failed on it: {type(error).__name__}: {error}")
