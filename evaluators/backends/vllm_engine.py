"""vLLM's engine in this process: an event loop in a thread, and the outputs of prompts."""

import asyncio
import threading
import weakref
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any
from uuid import uuid4

_STOP_TIMEOUT = 10
"""In seconds."""


class VllmEngine:
    """vLLM's engine, with an event loop in a thread of its own; both end with this object."""

    def __init__(self, **arguments: Any) -> None:
        """Start it with fields of vLLM's EngineArgs."""
        from vllm import AsyncEngineArgs
        from vllm.renderers import ChatParams
        from vllm.v1.engine.async_llm import AsyncLLM

        given = {"disable_log_stats": True, "use_tqdm_on_load": False, "enable_prefix_caching": True, **arguments}
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="eyechart-vllm", daemon=True).start()

        async def start() -> Any:
            llm = AsyncLLM.from_engine_args(AsyncEngineArgs(**given))
            # Known before the first requests, which would wait for it in turn and change their order.
            await llm.get_supported_tasks()
            return llm

        self._llm = asyncio.run_coroutine_threadsafe(start(), self._loop).result()
        weakref.finalize(self, _stop, self._llm, self._loop)
        self.renderer, self.config = self._llm.renderer, self._llm.vllm_config
        self.renderer.warmup(ChatParams())
        self._replicas = self.config.parallel_config.data_parallel_size
        # Enough to keep it busy while more are prepared.
        self.capacity = 2 * self.config.scheduler_config.max_num_seqs * self._replicas

    @property
    def is_dead(self) -> bool:
        """Whether its processes ended."""
        return bool(self._llm.errored)

    def forget_images(self) -> None:
        """Clear the caches of images, which have to agree, after some that were preprocessed may not have been sent."""
        if not self.is_dead:
            asyncio.run_coroutine_threadsafe(self._llm.reset_mm_cache(), self._loop).result()

    def ask(
        self, prompts: Sequence[Any], scored: Sequence[int], parameters: Mapping[str, Any], group: int
    ) -> Future[list[Any]]:
        """Ask for the outputs of prompts, which come later; the same replica answers a whole group.

        `scored` is the number of each prompt's last tokens whose log-probabilities are wanted, empty for none.
        """

        async def outputs() -> list[Any]:
            replica, asked = group % self._replicas, zip(prompts, scored or [0], strict=True)
            return await asyncio.gather(*(_output(self._llm, parameters, *prompt, replica) for prompt in asked))

        return asyncio.run_coroutine_threadsafe(outputs(), self._loop)


async def _output(llm: Any, parameters: Mapping[str, Any], prompt: Any, scored: int, replica: int) -> Any:
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind

    common = {"temperature": 0.0, "ignore_eos": True, "detokenize": False, **parameters}
    common["output_kind"] = RequestOutputKind.FINAL_ONLY
    for is_cache_skipped in (False, True):
        sampling = SamplingParams(**common, skip_reading_prefix_cache=is_cache_skipped)
        async for output in llm.generate(prompt, sampling, uuid4().hex, data_parallel_rank=replica):
            last = output
        if (reason := last.outputs[0].finish_reason) not in ("stop", "length"):
            raise RuntimeError(f"vLLM ended it with {reason!r}")
        # Tokens in the cache have no log-probabilities; that of a continuation's first token belongs to the one before.
        if not scored or last.num_cached_tokens < len(last.prompt_token_ids) - scored:
            break
    return last


def _stop(llm: Any, loop: asyncio.AbstractEventLoop) -> None:
    async def end() -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # First, so that no task takes the end of the processes for a failure.
    asyncio.run_coroutine_threadsafe(end(), loop).result(_STOP_TIMEOUT)
    llm.shutdown(timeout=_STOP_TIMEOUT)
    # Its destructor would call it again, and fail while Python ends.
    llm.shutdown = lambda: None
    loop.call_soon_threadsafe(loop.stop)
