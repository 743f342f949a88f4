"""A transformers vision-language model as a backend: batched greedy generation and next-token logits.

Requests of similar length share a batch, padded on the left; a score needs one forward pass whose output projection is
computed for the last position only. Images are preprocessed by the model's own processor.
"""

import contextlib
import inspect
import math
import os
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import TYPE_CHECKING
from typing import Any

from PIL import Image

from eyechart.datasets_scripts.common.errors import BadImageError
from eyechart.datasets_scripts.common.errors import DataError
from eyechart.datasets_scripts.common.errors import EyechartError
from eyechart.datasets_scripts.common.errors import ModelError
from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.backends.chat import decode_images
from eyechart.evaluators.backends.chat import to_messages
from eyechart.evaluators.backends.image_sizes import count_downscaled
from eyechart.evaluators.backends.image_sizes import size_settings
from eyechart.evaluators.types import Request
from eyechart.evaluators.types import Response
from eyechart.evaluators.types import Wanted

if TYPE_CHECKING:
    import torch
    from transformers import Pipeline
    from transformers import PreTrainedModel
    from transformers import ProcessorMixin

    Ready = tuple[Request, list[Image.Image]]

_TASK = "image-text-to-text"


class TransformersBackend:
    """Answers with a transformers model.

    Args:
        model: An image-text-to-text model with its language-model head.
        processor: Its processor, with a chat template.
        name: How results call the model.
        batch_size: Requests per forward pass.
    """

    needs_images = True

    def __init__(self, model: "PreTrainedModel", processor: "ProcessorMixin", *, name: str, batch_size: int) -> None:
        """Check that model and processor can be used; a tokenizer without a padding token gets its end token for that.

        Raises:
            ModelError: There is no chat template or no tokenizer, or the model is an encoder-decoder.
            UsageError: The batch size is below 1.
        """
        if batch_size < 1:
            raise UsageError(f"batch_size={batch_size} is not allowed; it is at least 1.")
        if getattr(processor, "tokenizer", None) is None:
            raise ModelError(f"model '{name}' has no processor with a tokenizer and an image processor.")
        if getattr(processor, "chat_template", None) is None:
            raise ModelError(
                f"model '{name}' has no chat template, so its prompts cannot be formed. Add chat_template.jinja to its "
                "folder, or use a chat or instruct variant of the model."
            )
        if model.config.is_encoder_decoder or model.config.get_text_config().is_encoder_decoder:
            raise ModelError(f"model '{name}' is an encoder-decoder; only decoder models can be evaluated so far.")
        if processor.tokenizer.pad_token is None:
            processor.tokenizer.pad_token = processor.tokenizer.eos_token
        self._model = model.eval()
        self._processor = processor
        self._name = name
        self._batch_size = batch_size
        self._images_seen = 0
        self._images_downscaled: int | None = 0
        self._rendered_prompt = ""
        self._word_tokens: dict[tuple[str, tuple[str, ...]], list[int]] = {}

    @classmethod
    def from_pretrained(
        cls, folder: str, *, name: str, batch_size: int, device: int | str | None = None
    ) -> "TransformersBackend":
        """Load model and processor from a folder or the Hub.

        Args:
            folder: Folder or model id.
            name: How results call the model.
            batch_size: Requests per forward pass.
            device: As `transformers.pipeline` takes it; None is the best there is.

        Raises:
            ModelError: The model does not exist, is of an unknown architecture, or is no image-text-to-text model.
        """
        if os.path.sep in folder and folder.startswith((".", os.path.sep)) and not os.path.isdir(folder):
            raise ModelError(f"model folder '{folder}' does not exist.")
        from transformers import pipeline

        _check_config(folder)
        try:
            pipe = pipeline(_TASK, model=folder, device=device)
        # Loading runs code of many libraries; whatever it raises, the user needs the model's name beside it.
        except Exception as error:
            raise ModelError(f"model '{name}' cannot be loaded: {type(error).__name__}: {error}") from error
        return cls(pipe.model, pipe.processor, name=name, batch_size=batch_size)

    @classmethod
    def from_pipeline(cls, pipe: "Pipeline", *, batch_size: int) -> "TransformersBackend":
        """Use the model and processor of a pipeline.

        Raises:
            ModelError: The pipeline is for another task.
        """
        if pipe.task != _TASK:
            raise ModelError(f"the pipeline's task is '{pipe.task}'; expected '{_TASK}'.")
        name = str(pipe.model.config.name_or_path) or type(pipe.model).__name__
        return cls(pipe.model, pipe.processor, name=name, batch_size=pipe._batch_size or batch_size)

    @property
    def name(self) -> str:
        """The model's id or folder."""
        return self._name

    def check(self, wanted: Wanted) -> None:
        """Refuse losses."""
        if wanted is Wanted.LOSSES:
            raise ModelError(f"this backend gives no {wanted.value} so far.")

    def identity(self) -> None:
        """Not told so far."""

    def answer(self, requests: Sequence[Request]) -> Iterator[Response]:
        """Answer in batches of requests of the same kind and similar length."""
        self._images_seen, self._images_downscaled, self._rendered_prompt = 0, 0, ""
        by_kind: dict[tuple[tuple[str, ...], str, int], list[Request]] = {}
        for request in requests:
            by_kind.setdefault((request.words, request.prefill, request.max_new_tokens), []).append(request)
        for group in by_kind.values():
            group.sort(key=_length)
            for start in range(0, len(group), self._batch_size):
                yield from self._answer_batch(group[start : start + self._batch_size])

    def settings(self) -> dict[str, Any]:
        """Model, number formats, image sizes, decoding.

        `downscaled_share` and `rendered_prompt`, the first prompt as the model's chat template writes it, are those of
        the last `answer`. The share is None for processors that cut images into tiles.
        """
        config, image_processor = self._model.config, self._processor.image_processor
        seen, downscaled = self._images_seen, self._images_downscaled
        return {
            "backend": "transformers",
            "name": self._name,
            "architecture": type(self._model).__name__,
            "revision": getattr(config, "_commit_hash", None),
            "parameters": self._model.num_parameters(),
            "dtype": str(self._model.dtype).removeprefix("torch."),
            "device": self._model.device.type,
            "attention": getattr(config, "_attn_implementation", None),
            "decoding": "greedy",
            "batch_size": self._batch_size,
            "image_processor": type(image_processor).__name__,
            "image_sizes": size_settings(image_processor),
            "rendered_prompt": self._rendered_prompt,
            "downscaled_share": None if downscaled is None or not seen else downscaled / seen,
        }

    def _answer_batch(self, requests: Sequence[Request]) -> Iterator[Response]:
        ready: list[Ready] = []
        for request in requests:
            try:
                ready.append((request, decode_images(request)))
            except BadImageError as error:
                yield Response(request, error=error)
        if ready:
            yield from self._answer_ready(ready)

    def _answer_ready(self, ready: "Sequence[Ready]") -> list[Response]:
        try:
            return self._score(ready) if ready[0][0].words else self._generate(ready)
        except EyechartError:
            raise
        # Processors and models raise whatever the input led them to; one bad item must not take its batch along.
        except Exception as error:
            if len(ready) > 1:
                return [response for item in ready for response in self._answer_ready([item])]
            reason = f"the model failed on it: {type(error).__name__}: {error}"
            return [Response(ready[0][0], error=DataError(reason))]

    def _generate(self, ready: "Sequence[Ready]") -> list[Response]:
        import torch

        inputs = self._inputs(ready)
        with torch.inference_mode(), _plain_greedy(self._model, self._processor.tokenizer.pad_token_id):
            output = self._model.generate(**inputs, max_new_tokens=ready[0][0].max_new_tokens)
        new = output[:, inputs["input_ids"].shape[1] :]
        texts = self._processor.tokenizer.batch_decode(new, skip_special_tokens=True)
        return [Response(request, text=text.strip()) for (request, _), text in zip(ready, texts, strict=True)]

    def _score(self, ready: "Sequence[Ready]") -> list[Response]:
        import torch

        tokens = self._tokens_of(ready[0][0])
        inputs = self._inputs(ready)
        if _takes_plain_positions(self._model):
            # Without them, a forward pass counts positions from the padding, as generation does not.
            inputs["position_ids"] = (inputs["attention_mask"].cumsum(dim=1) - 1).clamp(min=0)
        with torch.inference_mode():
            logits = self._model(**inputs, logits_to_keep=1).logits[:, -1, tokens].float().cpu()
        return [_logits_response(request, row) for (request, _), row in zip(ready, logits.tolist(), strict=True)]

    def _inputs(self, ready: "Sequence[Ready]") -> "dict[str, torch.Tensor]":
        messages = [to_messages(request, images) for request, images in ready]
        prefilled = bool(ready[0][0].prefill)
        inputs = self._processor.apply_chat_template(
            messages,
            add_generation_prompt=not prefilled,
            continue_final_message=prefilled,
            tokenize=True,
            return_dict=True,
            return_tensors="pt",
            processor_kwargs={"padding": True, "padding_side": "left"},
        )
        self._count_images([image for _, images in ready for image in images], inputs)
        if not self._rendered_prompt:
            self._rendered_prompt = _render(self._processor, ready[0][0])
        return inputs.to(self._model.device, dtype=self._model.dtype)

    def _tokens_of(self, request: Request) -> list[int]:
        """The first token of each word where it would stand, after the prefilled reply."""
        key = (request.prefill, request.words)
        if key not in self._word_tokens:
            self._word_tokens[key] = _first_tokens(self._processor, self._name, request)
        return self._word_tokens[key]

    def _count_images(self, images: list[Image.Image], inputs: "Mapping[str, torch.Tensor]") -> None:
        reduced = count_downscaled(images, inputs, self._processor.image_processor)
        self._images_seen += len(images)
        unknown = reduced is None or self._images_downscaled is None
        self._images_downscaled = None if unknown else (self._images_downscaled or 0) + (reduced or 0)


def _check_config(folder: str) -> None:
    """Raise `ModelError` for a model of an unknown or text-only architecture, before its weights are read."""
    from transformers import AutoConfig
    from transformers import AutoModelForImageTextToText

    try:
        config = AutoConfig.from_pretrained(folder)
    except (ValueError, KeyError) as error:
        raise ModelError(f"model '{folder}' has an architecture that transformers does not know: {error}") from error
    except OSError as error:
        raise ModelError(f"model '{folder}' cannot be found: {error}") from error
    if type(config) not in AutoModelForImageTextToText._model_mapping:
        raise ModelError(f"model '{folder}' is of type '{config.model_type}', which is not an {_TASK} architecture.")


def _length(request: Request) -> tuple[int, int, str]:
    return len(request.images), sum(len(part) for part in request.prompt if isinstance(part, str)), request.id


def _logits_response(request: Request, row: list[float]) -> Response:
    if not all(math.isfinite(value) for value in row):
        return Response(request, error=DataError(f"the model's logits of {', '.join(request.words)} are {row}"))
    return Response(request, logits=dict(zip(request.words, row, strict=True)))


@contextlib.contextmanager
def _plain_greedy(model: "PreTrainedModel", pad_token_id: int) -> Iterator[None]:
    """Generate by plain argmax: what the model's folder says of sampling, penalties or beams is put aside meanwhile."""
    from transformers import GenerationConfig

    own = model.generation_config
    tokens = {"eos_token_id": own.eos_token_id, "bos_token_id": own.bos_token_id, "pad_token_id": pad_token_id}
    model.generation_config = GenerationConfig(do_sample=False, num_beams=1, **tokens)
    try:
        yield
    finally:
        model.generation_config = own


def _takes_plain_positions(model: "PreTrainedModel") -> bool:
    """Whether a token has one position; Qwen2-VL and its like compute three of them from the image's grid."""
    inner = getattr(model, "model", model)
    return "position_ids" in inspect.signature(model.forward).parameters and not hasattr(inner, "get_rope_index")


def _render(processor: "ProcessorMixin", request: Request) -> str:
    """The prompt as the chat template writes it, images as their marks."""
    return processor.apply_chat_template(
        to_messages(request, list(request.images)),
        tokenize=False,
        add_generation_prompt=not request.prefill,
        continue_final_message=bool(request.prefill),
    )


def _first_tokens(processor: "ProcessorMixin", name: str, request: Request) -> list[int]:
    rendered = _render(processor, request)
    tokenizer = processor.tokenizer
    before = tokenizer.encode(rendered, add_special_tokens=False)
    found: dict[int, str] = {}
    for word in request.words:
        tokens = tokenizer.encode(f"{rendered} {word}", add_special_tokens=False)
        if tokens[: len(before)] != before or len(tokens) == len(before):
            raise ModelError(
                f"model '{name}': the tokens of '{word}' cannot be told from those of the reply before it."
            )
        first = tokens[len(before)]
        if first in found:
            token = tokenizer.convert_ids_to_tokens(first)
            raise ModelError(
                f"model '{name}': the words '{found[first]}' and '{word}' begin with the same token {token!r}, so "
                "their next-token logits are one. Choose another pair of words."
            )
        found[first] = word
    return list(found)
