"""vLLM in this process as a backend: it runs the prompts that the local engine renders.

Prompts go to vLLM as tokens and images, those about the same image one after the other and to the same replica, so that
its caches of prefixes and of encoded images hit. Logits are log-probabilities of the words' tokens; losses are those of
a prompt's last tokens. `AsyncLLM`, unlike `LLM`, prepares requests while others run, and can have several replicas.
"""

import concurrent.futures
import hashlib
import importlib.util
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from PIL import Image
from typing_extensions import override

from eyechart.datasets_scripts.common.errors import DataError, EyechartError, UsageError, unknown_name
from eyechart.evaluators import tiny_vlm
from eyechart.evaluators.backends.chat import ChatOptions, decode_image, inseparable, joined
from eyechart.evaluators.backends.endpoint.options import find_secret
from eyechart.evaluators.backends.local.base import make_response
from eyechart.evaluators.backends.local.image_groups import group_by_image, model_failure
from eyechart.evaluators.backends.local.loading import TASK, LoadOptions, check_model, loading_error, model_fingerprint
from eyechart.evaluators.backends.local.rendering import Renderer, image_token_id, is_downscaled, size_settings
from eyechart.evaluators.backends.processes import launched
from eyechart.evaluators.backends.vllm_engine import VllmEngine
from eyechart.evaluators.requests.errors import ModelError
from eyechart.evaluators.requests.keys import image_digest
from eyechart.evaluators.requests.types import Answer, Backend, Loss, OutputType, Request, Response

if TYPE_CHECKING:
    from eyechart.evaluators.backends.local.outputs import TextReader

# What eyechart passes to vLLM itself, and options of the local engine that vLLM has no equal of.
_SET_HERE = ("model", "tokenizer", "dtype", "revision", "tokenizer_revision", "trust_remote_code", "chat_template")
_UNSUPPORTED = ("device", "device_map", "attention", "processor", "adapter")
# Unless the user set them: only errors are logged, and nothing is reported to vLLM's makers.
_ENVIRONMENT = {"VLLM_LOGGING_LEVEL": "ERROR", "VLLM_NO_USAGE_STATS": "1"}
_LOWEST, _HIGHEST = 0.01, 2
"""Temperatures that vLLM takes as they are."""


def check_vllm(model: str, options: LoadOptions, engine: Mapping[str, Any], chat: ChatOptions) -> None:
    """Raise `ModelError` or `UsageError` if vLLM, the model or an option cannot be used; no weights are read."""
    if launched()[1] > 1:
        raise UsageError(
            "the backend vllm works in one process only; start one, and give it several GPUs: "
            "--model-arg tensor_parallel_size=8 or --model-arg data_parallel_size=8"
        )
    if given := [name for name in _UNSUPPORTED if getattr(options, name)]:
        raise UsageError(
            f"{', '.join(given)} has no effect with the backend vllm; leave it out. vLLM has arguments of its own; "
            "CUDA_VISIBLE_DEVICES chooses GPUs, and an adapter has to be merged into the model"
        )
    if chat.sampling is not None and not _LOWEST <= chat.sampling.temperature <= _HIGHEST:
        given_temperature = f"temperature={chat.sampling.temperature}"
        raise UsageError(f"{given_temperature} is not allowed with the backend vllm; expected {_LOWEST} to {_HIGHEST}")
    if secret := find_secret(" ".join(f"--{name} {value}" for name, value in engine.items())):
        raise UsageError(f"the argument {secret} is a secret, but results contain it; set it in the environment")
    if importlib.util.find_spec("vllm") is None:
        raise ModelError('the backend vllm needs vLLM; install it with pip install -e ".[vllm]"')
    os.environ.update({name: value for name, value in _ENVIRONMENT.items() if name not in os.environ})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from vllm import AsyncEngineArgs
    allowed = [field.name for field in fields(AsyncEngineArgs) if field.name not in _SET_HERE]
    for name in engine:
        if name not in allowed:
            raise unknown_name("argument", name, allowed, "of vLLM", instead="expected a field of vLLM's EngineArgs")
    if check_model(model, options) != TASK:
        raise ModelError(f"model '{model}' only compares images with texts, which vLLM cannot; leave --backend out")


class VllmBackend(Backend):
    """Answers with an image-text-to-text model that vLLM loads.

    Args:
        model: Id or folder of the model.
        engine: Arguments of vLLM's engine, such as {"tensor_parallel_size": 8}.
        options: Of these, dtype, revision, trust_remote_code and chat_template.
        chat: Options for every chat.
    """

    def __init__(
        self,
        model: str,
        *,
        engine: Mapping[str, Any] | None = None,
        options: LoadOptions | None = None,
        chat: ChatOptions | None = None,
    ) -> None:
        """Load the model; raises as `check_vllm`."""
        folder = str(tiny_vlm.folder()) if model == tiny_vlm.NAME else model
        self.name, self._arguments = model, dict(engine or {})
        self._options, self._chat = options or LoadOptions(), chat or ChatOptions()
        check_vllm(folder, self._options, self._arguments, self._chat)
        self.samples = self._chat.sampling is not None
        from transformers import AutoConfig, AutoProcessor, GenerationConfig

        from eyechart.evaluators.backends.local.outputs import TextReader

        revision, trust = self._options.revision, self._options.trust_remote_code
        try:
            self._config = AutoConfig.from_pretrained(folder, revision=revision, trust_remote_code=trust)
            self._processor = AutoProcessor.from_pretrained(folder, revision=revision, trust_remote_code=trust)
            self._processor.chat_template = self._options.chat_template or self._processor.chat_template
            try:
                generation = GenerationConfig.from_pretrained(folder, revision=revision)
            except OSError:
                generation = GenerationConfig.from_model_config(self._config)
            self._texts = TextReader(generation, self._processor.tokenizer)
            self._renderer = Renderer(self._processor, image_token_id(self._config), name=model, chat=self._chat)
            self._renderer.check_template()
            self._fingerprint = model_fingerprint(folder, self._config)
            weights = {"model": folder, "dtype": self._dtype(), "revision": revision, "trust_remote_code": trust}
            self._engine = VllmEngine(**weights, **self._arguments)
        except EyechartError:
            raise
        # As in `load_pipeline`.
        except Exception as error:
            raise ModelError(f"model '{model}' cannot be loaded by vLLM: {loading_error(error, folder)}") from error
        # By digest, because vLLM preprocesses an image once.
        self._downscaled: dict[str, bool | None] = {}

    def _dtype(self) -> str:
        """The dtype of the weights; by default, vLLM would round float32 to 16 bits."""
        stored = self._config.dtype or self._config.get_text_config().dtype
        dtype = stored if self._options.dtype == "auto" else self._options.dtype
        if dtype is None:
            raise ModelError(f"the configuration of model '{self.name}' names no dtype; choose one with --dtype")
        return str(dtype).removeprefix("torch.")

    @override
    def identity(self) -> dict[str, Any] | None:
        if self._fingerprint is None:
            return None
        with_effect = {name: value for name, value in self.settings().items() if name not in ("name", "revision")}
        template = _digest(str(self._processor.chat_template))
        return {**with_effect, "chat_template": template, "fingerprint": self._fingerprint}

    @override
    def settings(self) -> dict[str, Any]:
        import transformers
        import vllm

        image_processor, config = self._processor.image_processor, self._engine.config
        return {
            "backend": "vllm",
            "name": self.name,
            "version": vllm.__version__,
            "transformers": transformers.__version__,
            "engine": self._arguments,
            "processor": self._arguments.get("mm_processor_kwargs", {}),
            "chat_template": self._options.chat_template and _digest(self._options.chat_template),
            "architecture": config.model_config.architecture,
            "revision": getattr(self._config, "_commit_hash", None),
            "dtype": str(config.model_config.dtype).removeprefix("torch."),
            "quantization": config.model_config.quantization,
            "device": config.device_config.device_type,
            "trust_remote_code": self._options.trust_remote_code,
            "image_processor": type(image_processor).__name__,
            "image_sizes": size_settings(image_processor),
            "decoding": self._chat.decoding,
            **self._chat.settings(),
        }

    @override
    def answer(self, requests: Sequence[Request]) -> Iterator[Response]:
        waiting: dict[concurrent.futures.Future[list[Any]], _Question] = {}
        words: dict[object, dict[str, int]] = {}
        try:
            for number, group in enumerate(group_by_image(requests)):
                images: dict[int, tuple[str, Image.Image]] = {}
                for request in group:
                    kind = (request.words, request.optional_words, request.prefill)
                    try:
                        if request.words and kind not in words:
                            words[kind] = self._renderer.first_tokens(request)
                        question = self._question(request, images, words.get(kind, {}))
                        asked = self._engine.ask(question.prompts, question.scored, question.parameters, number)
                        waiting[asked] = question
                    except DataError as error:
                        yield Response(request, error=error)
                    except EyechartError:
                        raise
                    # Processors can raise any kind of error.
                    except Exception as error:
                        yield Response(request, error=model_failure(error))
                    while len(waiting) >= self._engine.capacity:
                        yield from self._ready(waiting)
            while waiting:
                yield from self._ready(waiting)
        finally:
            if waiting:
                for future in waiting:
                    future.cancel()
                self._engine.forget_images()

    def _question(
        self, request: Request, images: dict[int, tuple[str, Image.Image]], words: Mapping[str, int]
    ) -> "_Question":
        """Render a request; its images are added to `images`, by the id of their source."""
        for source in request.images:
            if id(source) not in images:
                images[id(source)] = image_digest(source), decode_image(source)
        shown = [images[id(source)] for source in request.images]
        text, digests = self._renderer.text_of(request), [digest for digest, _ in shown]
        parameters: dict[str, Any] = {"max_tokens": 1}
        if request.output_type is OutputType.TEXT:
            parameters = {"max_tokens": request.max_new_tokens, "stop_token_ids": sorted(self._texts.ends)}
            if self._chat.sampling is not None:
                parameters |= self._chat.sampling.fields(repr((text, digests)), request.repeat)
        elif words:
            parameters["logprob_token_ids"] = [*words.values()]
        else:
            parameters["prompt_logprobs"] = 0
        before = self._renderer.tokens(text)
        sequences = [self._renderer.tokens(joined(text, more)) for more in request.continuations]
        for continuation, tokens in zip(request.continuations, sequences, strict=True):
            if len(tokens) <= len(before) or tokens[: len(before)] != before:
                raise inseparable(self.name, continuation)
        # Whatever vLLM has preprocessed must also be asked, because it sends an image to its processes only once.
        prompts = [self._prompt(tokens, shown, parameters["max_tokens"]) for tokens in sequences or [before]]
        scored = [len(tokens) - len(before) for tokens in sequences]
        downscaled = [self._downscaled[digest] for digest in digests]
        return _Question(request, text, prompts, parameters, scored, words, downscaled)

    def _prompt(self, tokens: list[int], images: Sequence[tuple[str, Image.Image]], reply: int) -> Any:
        """The tokens, with those of the images, and the images' pixels, in vLLM's form; a reply must fit too."""
        prompt: dict[str, Any] = {"prompt_token_ids": tokens}
        self._check_length(prompt, reply)
        if images:
            digests, decoded = map(list, zip(*images, strict=True))
            prompt |= {"multi_modal_data": {"image": decoded}, "multi_modal_uuids": {"image": digests}}
        (prompt,) = self._engine.renderer.render_cmpl([prompt])
        try:
            self._check_length(prompt, reply)
        except DataError:
            self._engine.forget_images()
            raise
        items = prompt.get("mm_kwargs", {}).get("image", ())
        for (digest, image), item in zip(images, items, strict=True):
            # There is no item if vLLM has cached its pixels.
            if digest not in self._downscaled:
                inputs = {} if item is None else {name: part.data for name, part in item.items()}
                if (pixels := inputs.get("pixel_values")) is not None and pixels.dim() == 3:
                    inputs["pixel_values"] = pixels[None]
                # Unknown if vLLM was given other settings than the processor has.
                is_known = inputs and "mm_processor_kwargs" not in self._arguments
                downscaled = is_downscaled(image, inputs, self._processor.image_processor) if is_known else None
                self._downscaled[digest] = downscaled
        return prompt

    def _check_length(self, prompt: Mapping[str, Any], reply: int) -> None:
        length, most = len(prompt["prompt_token_ids"]), self._engine.config.model_config.max_model_len
        if length + reply > most:
            raise DataError(
                f"the prompt's {length:,} tokens and up to {reply:,} of the reply are more than the context of "
                f"{most:,}; set a smaller --max-new-tokens, or a larger --model-arg max_model_len"
            )

    def _ready(self, waiting: "dict[concurrent.futures.Future[list[Any]], _Question]") -> Iterator[Response]:
        """The responses that are complete, at least one."""
        done, _ = concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_COMPLETED)
        for future in done:
            question = waiting.pop(future)
            if (error := future.exception()) is None:
                yield question.response(future.result(), self._texts)
            elif self._engine.is_dead or not isinstance(error, Exception):
                raise ModelError(f"vLLM stopped: {error} VLLM_LOGGING_LEVEL=INFO shows more") from error
            else:
                yield Response(question.request, error=model_failure(error))


@dataclass(frozen=True)
class _Question:
    """A request in vLLM's form: prompts, several for losses, and sampling parameters."""

    request: Request
    text: str
    prompts: Sequence[Any]
    parameters: Mapping[str, Any]
    scored: Sequence[int]
    """Tokens of each continuation."""
    words: Mapping[str, int]
    downscaled: Sequence[bool | None]

    def response(self, outputs: Sequence[Any], texts: "TextReader") -> Response:
        """The response, from vLLM's outputs."""
        if self.scored:
            answers = [_loss(output, scored) for output, scored in zip(outputs, self.scored, strict=True)]
        else:
            answers = [self._answer(output, texts) for output in outputs]
        return make_response(self.request, self.text, answers, self.downscaled)

    def _answer(self, output: Any, texts: "TextReader") -> Answer:
        (reply,) = output.outputs
        if self.words:
            return Answer(logits={word: reply.logprobs[0][token].logprob for word, token in self.words.items()})
        return texts.answer(reply.token_ids, self.request.max_new_tokens)


def _loss(output: Any, scored: int) -> Answer:
    """The loss of the last tokens of a prompt."""
    last = zip(output.prompt_token_ids[-scored:], output.prompt_logprobs[-scored:], strict=True)
    return Answer(losses=(Loss(-sum(values[token].logprob for token, values in last), scored),))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
