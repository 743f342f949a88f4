"""A transformers vision-language model as a backend: text, next-token logits, losses of continuations."""

import contextlib
import hashlib
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from eyechart.evaluators.backends.chat import ChatOptions
from eyechart.evaluators.backends.local.base import LocalBackend
from eyechart.evaluators.backends.local.engine import Engine, Node, shared_prefixes
from eyechart.evaluators.backends.local.loading import Origin, load_settings
from eyechart.evaluators.backends.local.outputs import Job
from eyechart.evaluators.backends.local.plain import PlainRunner
from eyechart.evaluators.backends.local.reader import UnsharableError
from eyechart.evaluators.backends.local.rendering import RenderedPrompt, Renderer, image_token_id
from eyechart.evaluators.requests.errors import ModelError
from eyechart.evaluators.requests.types import Answer, OutputType, Request, Response

if TYPE_CHECKING:
    from transformers import PreTrainedModel, ProcessorMixin

_APART = "its processor does not show where the images are in the prompt"


class TransformersBackend(LocalBackend):
    """Answers with an image-text-to-text model, whose processor needs a tokenizer and a chat template."""

    def __init__(
        self,
        model: "PreTrainedModel",
        processor: "ProcessorMixin",
        *,
        name: str,
        batch_size: int | None = None,
        share_prefixes: bool = True,
        origin: Origin | None = None,
        chat: ChatOptions | None = None,
    ) -> None:
        """Check that model and processor can be used; a tokenizer without a padding token pads with its end token."""
        if getattr(processor, "tokenizer", None) is None:
            raise ModelError(f"model '{name}' needs a processor with a tokenizer and an image processor.")
        if model.config.is_encoder_decoder or model.config.get_text_config().is_encoder_decoder:
            raise ModelError(f"model '{name}' is an encoder-decoder; only decoder models are supported.")
        if processor.tokenizer.pad_token is None:
            processor.tokenizer.pad_token = processor.tokenizer.eos_token
        super().__init__(model, self._make_renderer, name=name, batch_size=batch_size, origin=origin)
        self._processor = processor
        self._chat = chat or ChatOptions()
        self.samples = self._chat.sampling is not None
        self._renderer = self._make_renderer()
        self._renderer.check_template()
        self._plain = PlainRunner(self._model, processor)
        self._engine: Engine | None = None
        self._compared: set[bool] = set()
        # Why prefixes are not shared at all, and whether those of some requests are not.
        self._unshared = "" if share_prefixes else "switched off"
        self._is_partial = False
        if share_prefixes:
            try:
                self._engine = Engine(self._model, processor.tokenizer)
            except UnsharableError as error:
                self._stop_sharing(error)

    def identity(self) -> dict[str, Any] | None:
        """The model's weights, dtype and preprocessing; None if its weights are unknown."""
        template = hashlib.sha256(str(self._processor.chat_template).encode()).hexdigest()
        identity = super().identity()
        return None if identity is None else {**identity, "chat_template": template}

    def settings(self) -> dict[str, Any]:
        """Model, dtype, image sizes, decoding, batch size and prefix sharing."""
        return {
            "backend": "transformers",
            **load_settings(self._model, self._processor.image_processor, self.name, self._origin),
            "decoding": self._chat.decoding,
            **self._chat.settings(),
            "batch_size": self._batch_size,
            "prefix_sharing": (
                f"off: {self._unshared}" if self._unshared else f"on, in part: {_APART}" if self._is_partial else "on"
            ),
        }

    def answer(self, requests: Sequence[Request]) -> Iterator[Response]:
        """Answer requests grouped by output type and words, and those that begin with the same image together."""
        kinds: dict[tuple[OutputType, tuple[str, ...], tuple[str, ...], str, int], list[Request]] = {}
        for request in requests:
            length = request.max_new_tokens if request.output_type is OutputType.TEXT else 0
            kind = (request.output_type, request.words, request.optional_words, request.prefill, length)
            kinds.setdefault(kind, []).append(request)
        for (output_type, words, *_, length), group in kinds.items():
            tokens = self._renderer.first_tokens(group[0]) if words else {}
            # Closed immediately, whatever happens here, so that no thread keeps running.
            with contextlib.closing(self._windows(group)) as windows:
                for window in windows:
                    yield from window.failed
                    job = Job((), window, output_type, length, tokens, self._chat.sampling)
                    for is_placed in (True, False):
                        prompts = [prompt for prompt in window.prompts if prompt.is_placed is is_placed]
                        yield from self._respond(window, prompts, partial(self._run, job))

    def _run(self, job: Job, prompts: Sequence[RenderedPrompt], batch_size: int) -> list[Answer]:
        """The output of prompts whose images are all placed, or none are; with prefix sharing where it is possible."""
        job = replace(job, prompts=prompts)
        if self._engine is not None and prompts[0].is_placed:
            try:
                root = shared_prefixes(prompts)
                if bool(root.children) not in self._compared:
                    self._compare(self._engine, job, root)
                    self._compared.add(bool(root.children))
                return self._engine.run(job, root, batch_size)
            except UnsharableError as error:
                self._stop_sharing(error)
        elif self._engine is not None and not self._is_partial:
            self._is_partial = True
            self._warn(f"runs some requests without prefix sharing, which is slower: {_APART}")
        return self._plain.run(job, batch_size)

    def _compare(self, engine: Engine, job: Job, root: Node) -> None:
        """Compare the logits of two sequences, which share a prefix if any do, with and without prefix sharing."""
        from accelerate.utils.memory import should_reduce_batch_size

        indices = root.children[0].sequences() if root.children else root.leaves
        first = [replace(job.prompts[index], scored=0) for index in indices[:2]]
        tokens = {str(token): token for token in range(0, self._model.config.get_text_config().vocab_size, 97)}
        probe = replace(job, prompts=first, output_type=OutputType.LOGITS, tokens=tokens)
        # Outside the `try`: an error here is not caused by prefix sharing.
        expected = self._plain.run(probe, 1)
        try:
            outputs = engine.run(probe, shared_prefixes(first), 2)
        except UnsharableError:
            raise
        # Architectures differ in more ways than can be foreseen.
        except Exception as error:
            if should_reduce_batch_size(error):
                raise
            raise UnsharableError(f"prefix sharing failed with {type(error).__name__}: {error}") from error
        ways = ([list((answer.logits or {}).values()) for answer in way] for way in (outputs, expected))
        shared, plain = map(np.array, ways)
        largest, apart = np.abs(plain).max(), np.abs(shared - plain).max()
        allowed = (1e-3 if self._model.dtype.itemsize >= 4 else 0.05) * max(1.0, largest)
        if np.isfinite(largest) and not apart <= allowed:
            raise UnsharableError(f"prefix sharing would change its logits by {apart:.2g}")

    def _make_renderer(self) -> Renderer:
        return Renderer(self._processor, image_token_id(self._model.config), name=self.name, chat=self._chat)

    def _stop_sharing(self, error: UnsharableError) -> None:
        self._engine, self._unshared = None, str(error)
        self._warn(f"runs each request without prefix sharing, which is slower: {error}")

    def _warn(self, text: str) -> None:
        warnings.warn(f"model '{self.name}' {text}.", stacklevel=3)
