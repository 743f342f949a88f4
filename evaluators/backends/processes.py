"""Several processes that run the same command, as started by `torchrun` or `accelerate launch`."""

import os
from collections.abc import Callable
from typing import Any, TypeVar

from eyechart.datasets_scripts.common.errors import EyechartError, ModelError

Value = TypeVar("Value")


class Processes:
    """The processes of a run, including this one.

    Args:
        state: accelerate's `PartialState`.
    """

    def __init__(self, state: Any) -> None:
        """Keep the state."""
        self._state = state
        self.rank: int = state.process_index
        self.count: int = state.num_processes

    @property
    def is_main(self) -> bool:
        """Whether this is the process that prints and writes results."""
        return bool(self._state.is_main_process)

    @property
    def device(self) -> str:
        """The device on which this process runs its model."""
        return str(self._state.device)

    def gather(self, value: Value) -> list[Value]:
        """The values of all processes, by rank; every process must call this."""
        from accelerate.utils import gather_object

        return gather_object([value])

    def together(self, call: Callable[[], Value]) -> Value:
        """Run a step in every process; if it fails in one process, it fails in all, so that none waits forever.

        Args:
            call: The step.

        Returns:
            What the step returned in this process.

        Raises:
            Exception: What the step raised in this process.
            ModelError: The step raised in another process; the message gives that process's rank and the reason.
        """
        value, error = None, None
        try:
            value = call()
        # Whatever it is, the other processes must learn of it.
        except Exception as raised:
            error = raised
        reasons = self.gather(None if error is None else _reason(error))
        if error is not None:
            raise error
        for rank, reason in enumerate(reasons):
            if reason is not None:
                raise ModelError(f"process {rank} of {self.count} failed: {reason}")
        return value  # type: ignore[return-value]

    def close(self) -> None:
        """Leave the process group; call this once, at the end."""
        self._state.destroy_process_group()


def join_processes() -> Processes | None:
    """The processes of this run; None if this is the only one."""
    if int(os.environ.get("WORLD_SIZE", "1")) < 2:
        return None
    import torch
    from accelerate import PartialState

    return Processes(PartialState(cpu=not torch.cuda.is_available()))


def _reason(error: Exception) -> str:
    return error.explain() if isinstance(error, EyechartError) else f"{type(error).__name__}: {error}"
