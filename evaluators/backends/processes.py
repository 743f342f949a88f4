"""Several processes that run the same command, as started by `torchrun` or `accelerate launch`, share its requests."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any, TypeVar

from eyechart.datasets_scripts.common.errors import EyechartError, UsageError
from eyechart.evaluators.backends.local.image_groups import group_by_image
from eyechart.evaluators.backends.stored import BackendWrapper
from eyechart.evaluators.requests.errors import ModelError
from eyechart.evaluators.requests.types import Backend, Request, Response

Value = TypeVar("Value")
# Requests per process between two exchanges: few enough for a smooth progress bar, enough to fill batches.
_REQUESTS_PER_ROUND = 512
_SET_BY_LAUNCHERS = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
_UNSENT = Request("", (), ())


class Processes:
    """The processes of a run, including this one; without a `state`, accelerate's `PartialState`, it is the only one.

    `device` is the device on which this process runs its model; None lets the model choose.
    """

    def __init__(self, state: Any = None) -> None:
        """Keep the state."""
        self._state = state
        self.rank: int = 0 if state is None else state.process_index
        self.count: int = 1 if state is None else state.num_processes
        self.device = None if state is None else str(state.device)

    @property
    def is_main(self) -> bool:
        """Whether this is the process that prints and writes results."""
        return self.rank == 0

    def gather(self, value: Value) -> list[Value]:
        """The values of all processes, by rank; every process must call this."""
        if self.count == 1:
            return [value]
        from accelerate.utils import gather_object

        return gather_object([value])

    def together(self, call: Callable[[], Value]) -> Value:
        """Run a step in every process; if it fails in another one, raise ModelError here instead of waiting forever."""
        value, error, reason = None, None, None
        try:
            value = call()
        # Whatever it is, the other processes must learn of it.
        except Exception as raised:
            error = raised
            reason = raised.explain() if isinstance(raised, EyechartError) else f"{type(raised).__name__}: {raised}"
        reasons = self.gather(reason)
        if error is not None:
            raise error
        for rank, other_reason in enumerate(reasons):
            if other_reason is not None:
                raise ModelError(f"process {rank} of {self.count} failed: {other_reason}")
        return value  # type: ignore[return-value]

    def close(self) -> None:
        """Leave the process group; call this once, at the end."""
        if self._state is not None:
            self._state.destroy_process_group()


ALONE = Processes()


def launched() -> tuple[int, int]:
    """The rank of this process and the number of processes, as their launcher set them; (0, 1) without one.

    Raises `UsageError` if the variables do not belong together, such as those of an earlier job.
    """
    given = {name: os.environ[name] for name in _SET_BY_LAUNCHERS if os.environ.get(name)}
    numbers = {name: int(text) for name, text in given.items() if re.fullmatch(r"\d{1,9}", text)}
    rank, local, count = (numbers.get(name, name == "WORLD_SIZE") for name in _SET_BY_LAUNCHERS[:3])
    missing = [name for name in _SET_BY_LAUNCHERS if name not in given]
    wrong = [name for name in given if name not in numbers and name != "MASTER_ADDR"]
    if not given.keys() & {*_SET_BY_LAUNCHERS[:3]} or (not wrong and rank == local == 0 and count == 1):
        return 0, 1
    if wrong or missing or not local <= rank < count:
        values = ", ".join(f"{name}={text!r:.40}" for name, text in given.items())
        lacks = f", without {', '.join(missing)}" if missing else ""
        raise UsageError(
            f"the environment has {values}{lacks}, which no launcher sets; remove what an earlier job left there "
            f"(unset {' '.join(given)}), or start several processes with torchrun or accelerate launch"
        )
    return rank, count


def join_processes() -> Processes:
    """The processes of this run; raises as `launched`."""
    if launched()[1] == 1:
        return ALONE
    import torch
    from accelerate import PartialState

    try:
        return Processes(PartialState(cpu=not torch.cuda.is_available()))
    # The address may be wrong, its port in use, or the other processes never start.
    except (ValueError, RuntimeError) as error:
        raise ModelError(f"the other processes cannot be joined: {str(error).splitlines()[0]}") from error


class DistributedBackend(BackendWrapper):
    """Divides requests among processes; requests that begin with the same image go to the same process.

    Each process must be given the same requests, and gets all responses.
    """

    def __init__(self, backend: Backend, processes: Processes) -> None:
        """Keep the backend, which answers this process's part, and the processes."""
        super().__init__(backend)
        self._processes = processes

    def settings(self) -> dict[str, Any]:
        """The settings of the wrapped backend, and the number of processes."""
        return {**self._backend.settings(), "processes": self._processes.count}

    def answer(self, requests: Sequence[Request]) -> Iterator[Response]:
        """Answer in rounds, after each of which every process yields the same responses in the same order."""
        indices = {id(request): index for index, request in enumerate(requests)}
        parts: list[list[Request]] = [[] for _ in range(self._processes.count)]
        for group in group_by_image(requests):
            min(parts, key=len).extend(group)
        for start in range(0, max(map(len, parts)), _REQUESTS_PER_ROUND):
            part = parts[self._processes.rank][start : start + _REQUESTS_PER_ROUND]
            responses = self._processes.together(partial(self._answer, part))
            # Images are not sent; errors are sent as class and text, because not every error can be pickled.
            sent = [
                (
                    indices[id(response.request)],
                    replace(response, request=_UNSENT, error=None),
                    None if response.error is None else (type(response.error), str(response.error)),
                )
                for response in responses
            ]
            for index, response, failure in chain.from_iterable(self._processes.gather(sent)):
                error = None if failure is None else failure[0](failure[1])
                yield replace(response, request=requests[index], error=error)

    def _answer(self, requests: Sequence[Request]) -> list[Response]:
        return list(self._backend.answer(requests))
