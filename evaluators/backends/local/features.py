"""Outputs of the vision encoder, kept for further prompts with the same images."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from transformers import PreTrainedModel
from transformers.modeling_outputs import BaseModelOutputWithPooling

from eyechart.evaluators.backends.local.reader import UnsharableError
from eyechart.evaluators.backends.local.rendering import ImageInputs

_KNOWN_OUTPUTS = frozenset({"last_hidden_state", "pooler_output", "hidden_states", "attentions"})


class ImageFeatures:
    """Encodes each distinct image once and keeps `capacity` bytes of the last used features."""

    def __init__(self, model: PreTrainedModel, *, capacity: int) -> None:
        """Start without features."""
        self._model = model
        self._capacity = capacity
        self._cache: OrderedDict[str, torch.Tensor] = OrderedDict()
        self._bytes = 0
        self._listed = False

    def encoder_outputs(
        self, inputs: Mapping[str, ImageInputs], keys: Sequence[str], batch_size: int
    ) -> dict[str, Any] | None:
        """Features of the images with these keys, in the form of the model's `mm_encoder_outputs`; None without images.

        `inputs` may lack images with features; `batch_size` is in images. Raises UnsharableError for unknown outputs.
        """
        if not keys:
            return None
        features = {key: self._cache[key] for key in keys if key in self._cache}
        by_shape: dict[Any, list[str]] = {}
        for key in dict.fromkeys(keys):
            if key in features:
                self._cache.move_to_end(key)
            else:
                shape = tuple((name, tuple(value.shape)) for name, value in inputs[key].tensors.items())
                by_shape.setdefault(shape, []).append(key)
        for alike in by_shape.values():
            for start in range(0, len(alike), batch_size):
                batch = alike[start : start + batch_size]
                features.update(zip(batch, self._encode([inputs[key] for key in batch]), strict=True))
        for key in features:
            if key not in self._cache:
                self._cache[key] = features[key]
                self._bytes += features[key].nbytes
        while self._bytes > self._capacity:
            self._bytes -= self._cache.popitem(last=False)[1].nbytes
        # Models concatenate the features of all images, so they can be passed as the features of one image.
        joined = torch.cat([features[key] for key in keys])
        return {"image": BaseModelOutputWithPooling(pooler_output=[joined] if self._listed else joined[None])}

    def _encode(self, images: Sequence[ImageInputs]) -> list[torch.Tensor]:
        """Features of images whose inputs have the same shapes, (tokens, width) each."""
        model = self._model
        tensors = {}
        for name in images[0].tensors:
            value = torch.cat([image.tensors[name] for image in images]).to(model.device)
            tensors[name] = value.to(model.dtype) if value.is_floating_point() else value
        output = model.get_image_features(**tensors, return_dict=True)
        unknown = {name for name, value in output.items() if value is not None} - _KNOWN_OUTPUTS
        pooled = output.pooler_output
        if unknown or pooled is None:
            outputs = f"unsupported outputs: {', '.join(sorted(unknown))}" if unknown else "no pooled output"
            raise UnsharableError(f"its vision encoder gives {outputs}")
        self._listed = isinstance(pooled, list | tuple)
        joined = torch.cat(list(pooled)) if self._listed else pooled
        joined = joined.reshape(-1, joined.shape[-1])
        sizes = [image.tokens for image in images]
        if len(joined) != sum(sizes):
            raise UnsharableError(f"its vision encoder gives {len(joined)} features for {sum(sizes)} image tokens")
        # Copies, because views would keep the complete batch in memory.
        return [part.clone() for part in joined.split(sizes)]
