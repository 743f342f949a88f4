"""A transformers vision-language model as a backend: batched greedy generation and next-token logits.

Requests of similar length share a batch, padded on the left; a score needs one forward pass whose output projection is
computed for the last position only. Images are preprocessed by the model's own processor.
"""

import dataclasses
import enum
import os
from collections.abc import Iterator
from collections.abc import Sequence
from typing import TYPE_CHECKING
from typing import Any

from PIL import Image

from eyechart.datasets_scripts.common.errors import BadImageError
from eyechart.datasets_scripts.common.errors import ModelError
from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.backends.chat import decode_images
from eyechart.evaluators.backends.chat import to_messages
from eyechart.evaluators.types import Request
from eyechart.evaluators.types import Response

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
        """Check that model and processor can be used; the processor pads on the left from now on.

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
        if model.config.is_encoder_decoder:
            raise ModelError(f"model '{name}' is an encoder-decoder; only decoder models can be evaluated so far.")
        self._model = model.eval()
        self._processor = processor
        self._name = name
        self._batch_size = batch_size
        self._images_seen = 0
        self._images_downscaled: int | None = 0
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

    def check(self, words: bool) -> None:
        """A local model gives both text and logits."""

    def answer(self, requests: Sequence[Request]) -> Iterator[Response]:
        """Answer in batches of requests of the same kind and similar length."""
        self._images_seen, self._images_downscaled = 0, 0
        by_kind: dict[tuple[tuple[str, ...], str, int], list[Request]] = {}
        for request in requests:
            by_kind.setdefault((request.words, request.prefill, request.max_new_tokens), []).append(request)
        for group in by_kind.values():
            group.sort(key=_length)
            for start in range(0, len(group), self._batch_size):
                yield from self._answer_batch(group[start : start + self._batch_size])

    def settings(self) -> dict[str, Any]:
        """Model, number formats, image sizes, decoding; the share of images downscaled is that of the last `answer`."""
        config, image_processor = self._model.config, self._processor.image_processor
        sizes = ("do_resize", "size", "crop_size", "do_center_crop", "do_pad", "min_pixels", "max_pixels", "resample")
        found = {key: getattr(image_processor, key, None) for key in sizes}
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
            "image_sizes": {key: _plain(value) for key, value in found.items() if value is not None},
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
            self._count_images(image for _, images in ready for image in images)
            yield from self._score(ready) if ready[0][0].words else self._generate(ready)

    def _generate(self, ready: "Sequence[Ready]") -> Iterator[Response]:
        import torch

        inputs = self._inputs(ready)
        with torch.inference_mode():
            output = self._model.generate(**inputs, **self._greedy(ready[0][0].max_new_tokens))
        new = output[:, inputs["input_ids"].shape[1] :]
        texts = self._processor.tokenizer.batch_decode(new, skip_special_tokens=True)
        for (request, _), text in zip(ready, texts, strict=True):
            yield Response(request, text=text.strip())

    def _greedy(self, max_new_tokens: int) -> dict[str, Any]:
        # The sampling defaults that many model folders carry would warn, and matter nothing to greedy decoding.
        sampling = {"do_sample": False, "num_beams": 1, "temperature": None, "top_p": None, "top_k": None}
        eos = self._model.generation_config.eos_token_id
        pad = self._processor.tokenizer.pad_token_id
        if pad is None:
            pad = eos[0] if isinstance(eos, list) else eos
        return {**sampling, "max_new_tokens": max_new_tokens, "pad_token_id": pad}

    def _score(self, ready: "Sequence[Ready]") -> Iterator[Response]:
        import torch

        words = ready[0][0].words
        tokens = self._tokens_of(ready[0][0])
        inputs = self._inputs(ready)
        with torch.inference_mode():
            logits = self._model(**inputs, logits_to_keep=1).logits[:, -1, tokens].float().cpu()
        for (request, _), row in zip(ready, logits.tolist(), strict=True):
            yield Response(request, logits=dict(zip(words, row, strict=True)))

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
        return inputs.to(self._model.device, dtype=self._model.dtype)

    def _tokens_of(self, request: Request) -> list[int]:
        """The first token of each word where it would stand, after the prefilled reply."""
        key = (request.prefill, request.words)
        if key not in self._word_tokens:
            self._word_tokens[key] = _first_tokens(self._processor, self._name, request)
        return self._word_tokens[key]

    def _count_images(self, images: "Iterator[Image.Image]") -> None:
        for image in images:
            self._images_seen += 1
            reduced = _is_downscaled(image.size, self._processor.image_processor)
            if reduced is None or self._images_downscaled is None:
                self._images_downscaled = None
            else:
                self._images_downscaled += reduced


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


def _first_tokens(processor: "ProcessorMixin", name: str, request: Request) -> list[int]:
    messages = to_messages(request, list(request.images))
    rendered = processor.apply_chat_template(
        messages,
        tokenize=False,
        add_generation_prompt=not request.prefill,
        continue_final_message=bool(request.prefill),
    )
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


def _is_downscaled(size: tuple[int, int], image_processor: Any) -> bool | None:
    """Whether the processor reduces an image of that (width, height); None where its settings don't tell."""
    if not getattr(image_processor, "do_resize", False):
        return False
    target = _plain(getattr(image_processor, "size", None))
    if not isinstance(target, dict):
        return None
    width, height = size
    if target.get("height") and target.get("width"):
        return width > target["width"] or height > target["height"]
    if target.get("shortest_edge"):
        longest = target.get("longest_edge")
        return min(size) > target["shortest_edge"] or bool(longest and max(size) > longest)
    if target.get("longest_edge"):
        return max(size) > target["longest_edge"]
    return None


def _plain(value: Any) -> Any:
    """A JSON value of a processor's setting."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = dataclasses.asdict(value)
    if isinstance(value, dict):
        return {key: item for key, item in value.items() if item is not None}
    return value.value if isinstance(value, enum.Enum) else value
