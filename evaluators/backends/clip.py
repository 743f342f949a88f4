"""A dual encoder of images and texts, such as CLIP, as a backend: Q-Bench, Eq. 2 and Sec. A.2.3, a baseline of Table 4.

Logits are cosine similarities times 100, the logit scale of the paper's model. `softmax_iqa` divides by 100, so the
result is Eq. 2 for every model, whatever its own scale or bias (SigLIP). The request's prompt and prefill are not used.
Images are preprocessed by the model's own processor. For the paper's model it resizes the shorter side to 224 pixels
and crops the center; the paper says "resize images into 224 x 224", not whether it crops.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import permutations
from typing import TYPE_CHECKING, Any

from PIL import Image

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.backends.local.base import LocalBackend
from eyechart.evaluators.backends.local.image_groups import PromptRenderer, batches
from eyechart.evaluators.backends.local.loading import DUAL_ENCODERS, Origin, load_settings
from eyechart.evaluators.backends.local.rendering import ImageInputs, RenderedPrompt, is_downscaled
from eyechart.evaluators.requests.errors import ModelError
from eyechart.evaluators.requests.types import Answer, OutputType, Request, Response

if TYPE_CHECKING:
    import torch
    from transformers import BaseImageProcessor, PreTrainedModel, PreTrainedTokenizerBase

TEXT_TEMPLATE = "a photo of {word} quality"
"""The text that an image is compared with: Q-Bench, Sec. A.2.3, which tries only the words good and poor."""

_SCALE = 100.0


class ClipZeroShotBackend(LocalBackend):
    """Answers requests for logits of words with the similarity of the image to a text with each word."""

    def __init__(
        self,
        model: "PreTrainedModel",
        tokenizer: "PreTrainedTokenizerBase",
        image_processor: "BaseImageProcessor",
        *,
        name: str,
        batch_size: int | None = None,
        text_template: str = TEXT_TEMPLATE,
        origin: Origin | None = None,
    ) -> None:
        """Raise `ModelError` for an unsupported model, `UsageError` for a template without `{word}`."""
        if "{word}" not in text_template:
            raise UsageError(f"text_template={text_template!r} is not allowed; it must contain {{word}}.")
        kind = model.config.model_type
        if kind not in DUAL_ENCODERS:
            raise ModelError(f"model '{name}' is of type '{kind}'; supported types: {', '.join(DUAL_ENCODERS)}.")
        super().__init__(
            model, lambda: _Renderer(image_processor, self._text), name=name, batch_size=batch_size, origin=origin
        )
        self._tokenizer = tokenizer
        self._image_processor = image_processor
        self._text_template = text_template
        self._features: dict[str, torch.Tensor] = {}

    def check(self, output_type: OutputType) -> None:
        """Refuse everything but logits."""
        if output_type is not OutputType.LOGITS:
            raise ModelError(
                f"model '{self.name}' only compares images with texts; it gives logits of words, not "
                f"{output_type.value}. Choose a task that needs only such logits: one that assesses quality."
            )

    def settings(self) -> dict[str, Any]:
        """Model, dtype, image sizes, text template, and the factor of the similarities."""
        return {
            "backend": "clip_zero_shot",
            **load_settings(self._model, self._image_processor, self.name, self._origin),
            "text_template": self._text_template,
            "similarity": "cosine",
            "similarity_scale": _SCALE,
            "batch_size": self._batch_size,
        }

    def answer(self, requests: Sequence[Request]) -> Iterator[Response]:
        """Encode each text once and each image once, images in batches, and compare them."""
        for request in requests:
            if len(request.images) != 1:
                raise ModelError(
                    f"item '{request.id}' has {len(request.images)} images, but model '{self.name}' compares a single "
                    "image with texts. Choose a task about single images."
                )
        kinds = {(request.words, request.optional_words) for request in requests}
        words = {kind: self._encode_texts(*kind) for kind in kinds}
        with contextlib.closing(self._windows(requests)) as windows:
            for window in windows:
                yield from window.failed
                yield from self._respond(window, window.prompts, partial(self._logits, words, window.inputs))

    def _text(self, word: str) -> str:
        return self._text_template.replace("{word}", word)

    def _logits(
        self,
        words: Mapping[tuple[tuple[str, ...], tuple[str, ...]], Sequence[str]],
        inputs: Mapping[str, ImageInputs],
        prompts: Sequence[RenderedPrompt],
        batch_size: int,
    ) -> list[Answer]:
        """The logits of each prompt's words; prompts with the same image share its features."""
        import torch

        features: dict[str, torch.Tensor] = {}
        for keys in batches(list(dict.fromkeys(prompt.images[0] for prompt in prompts)), batch_size):
            images = [inputs[key].tensors for key in keys]
            tensors = {name: torch.cat([image[name] for image in images]) for name in images[0]}
            features.update(zip(keys, self._normalized(self._model.get_image_features, tensors), strict=True))
        answers = []
        for prompt in prompts:
            image, asked = features[prompt.images[0]], words[prompt.request.words, prompt.request.optional_words]
            # Eq. 2's exponents, times 100.
            answers.append(Answer(logits={word: float(_SCALE * (self._features[word] @ image)) for word in asked}))
        return answers

    def _encode_texts(self, words: tuple[str, ...], optional: tuple[str, ...]) -> list[str]:
        """Encode the texts of words; returns all words except optional ones with the same features as another word."""
        for word in (*words, *optional):
            if word not in self._features:
                self._features[word] = self._encode_text(self._text(word))
        features = {word: self._features[word] for word in (*words, *optional)}
        equal = [pair for pair in permutations(features, 2) if features[pair[0]].equal(features[pair[1]])]
        if clash := next((pair for pair in equal if set(pair) <= set(words)), None):
            first, second = map(self._text, clash)
            raise ModelError(
                f"model '{self.name}' gives the same features for '{first}' and '{second}', so they cannot be "
                "compared. Possible cause: the tokenizer does not add the end token that the model expects."
            )
        return [word for word in features if word in words or word not in dict(equal)]

    def _encode_text(self, text: str) -> "torch.Tensor":
        longest = self._model.config.get_text_config().max_position_embeddings
        # SigLIP was trained on texts padded to the maximum length, without a mask for the padding.
        padded = "siglip" in self._model.config.model_type
        padding: dict[str, Any] = {"padding": "max_length", "max_length": longest} if padded else {}
        tokens = self._tokenizer(text, return_tensors="pt", **padding)
        count = tokens["input_ids"].shape[1]
        if count > longest:
            raise ModelError(f"the text '{text}' has {count} tokens; model '{self.name}' takes at most {longest}.")
        (features,) = self._normalized(self._model.get_text_features, tokens)
        return features

    def _normalized(self, encode: Callable[..., Any], tensors: "Mapping[str, torch.Tensor]") -> "list[torch.Tensor]":
        """Features of unit length, in float32 on the CPU, so that later steps are the same on every device."""
        import torch

        model = self._model
        kinds = {name: model.dtype if value.is_floating_point() else None for name, value in tensors.items()}
        inputs = {name: value.to(model.device, kinds[name]) for name, value in tensors.items()}
        with torch.inference_mode():
            features = encode(**inputs, return_dict=True).pooler_output.float().cpu()
        # A vector of zeros becomes nan, which is an error of its item.
        return list(features / features.norm(dim=-1, keepdim=True))


class _Renderer(PromptRenderer):
    """Preprocesses images; texts are encoded separately."""

    def __init__(self, image_processor: "BaseImageProcessor", text: Callable[[str], str]) -> None:
        self._image_processor = image_processor
        self._text = text

    def prompts(
        self,
        request: Request,
        keys: tuple[str, ...],
        images: Mapping[str, Image.Image],
        inputs: dict[str, ImageInputs],
    ) -> list[RenderedPrompt]:
        for key in {*keys} - inputs.keys():
            tensors = self._image_processor(images=[images[key]], return_tensors="pt")
            downscaled = is_downscaled(images[key], tensors, self._image_processor)
            inputs[key] = ImageInputs(dict(tensors), tokens=0, downscaled=downscaled)
        texts = "\n".join(map(self._text, request.all_words))
        return [RenderedPrompt(request, texts, texts, ids=[], types=None, images=keys, begins=(0,), ends=(0,))]
