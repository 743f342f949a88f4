"""Outputs of the vision encoder, kept for further prompts with the same images."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from transformers import PreTrainedModel

from eyechart.evaluators.backends.local.kv_cache import UnsharableError
from eyechart.evaluators.backends.local.rendering import ImageInputs

_KNOWN_OUTPUTS = frozenset({"last_hidden_state", "pooler_output", "hidden_states", "attentions"})


class ImageFeatures:
    """Encodes each distinct image once and keeps the features in a least-recently-used cache.

    Args:
        model: The model.
        capacity: Size of the cache in bytes.
    """

    def __init__(self, model: PreTrainedModel, *, capacity: int) -> None:
        """Start without features."""
        self._model = model
        self._capacity = capacity
        self._kept: OrderedDict[str, torch.Tensor] = OrderedDict()
        self._bytes = 0
        self._listed = False

    def prepare(self, inputs: Mapping[str, ImageInputs], keys: Sequence[str], batch_size: int) -> "Features":
        """Encode the images whose features are not in the cache.

        Args:
            inputs: Key to pixels, at least of the images without features.
            keys: Images that are about to be used.
            batch_size: Images per forward pass of the encoder.

        Returns:
            The features of these images, which stay valid when the cache drops them.
        """
        found: dict[str, torch.Tensor] = {}
        missing: list[str] = []
        for key in dict.fromkeys(keys):
            if key in self._kept:
                self._kept.move_to_end(key)
                found[key] = self._kept[key]
            else:
                missing.append(key)
        by_shape: dict[Any, list[str]] = {}
        for key in missing:
            shape = tuple((name, tuple(value.shape)) for name, value in inputs[key].tensors.items())
            by_shape.setdefault(shape, []).append(key)
        for alike in by_shape.values():
            for start in range(0, len(alike), batch_size):
                part = alike[start : start + batch_size]
                encoded = self._encode([inputs[key] for key in part])
                found.update(zip(part, encoded, strict=True))
        for key in missing:
            self._keep(key, found[key])
        return Features(found, listed=self._listed)

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

    def _keep(self, key: str, features: torch.Tensor) -> None:
        self._kept[key] = features
        self._bytes += features.nbytes
        while self._bytes > self._capacity:
            _, oldest = self._kept.popitem(last=False)
            self._bytes -= oldest.nbytes


class Features:
    """Features of images.

    Args:
        by_key: Key to features, shape (tokens, width).
        listed: Whether the model takes the features of the images as a list; otherwise it takes a batch.
    """

    def __init__(self, by_key: Mapping[str, torch.Tensor], *, listed: bool) -> None:
        """Keep the features."""
        self._by_key = by_key
        self._listed = listed

    def encoder_outputs(self, keys: Sequence[str]) -> dict[str, Any] | None:
        """Features of images in this order, in the form of the model's `mm_encoder_outputs`; None without images."""
        from transformers.modeling_outputs import BaseModelOutputWithPooling

        if not keys:
            return None
        # Models concatenate the features of all images, so they can be passed as the features of one image.
        joined = torch.cat([self._by_key[key] for key in keys])
        return {"image": BaseModelOutputWithPooling(pooler_output=[joined] if self._listed else joined[None])}
