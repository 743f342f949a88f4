"""What a model reads: images, whose features are kept, and chunks of tokens, which extend a key-value cache.

Padding is between a row's prefix and its continuation. Mask and positions skip it, so rows do not affect each other.
"""

import copy
import inspect
from collections import OrderedDict, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence
from transformers import DynamicCache, PreTrainedModel
from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer
from transformers.modeling_outputs import BaseModelOutputWithPooling

from eyechart.evaluators.backends.local.image_groups import batches
from eyechart.evaluators.backends.local.rendering import ImageInputs

_KNOWN_OUTPUTS = frozenset({"last_hidden_state", "pooler_output", "hidden_states", "attentions"})


class UnsharableError(Exception):
    """The model does not support prefix sharing; its prompts are then run separately. The message gives the reason."""


class ImageFeatures:
    """Encodes each distinct image once and keeps 1 GiB of the last used features."""

    def __init__(self, model: PreTrainedModel) -> None:
        """Start without features."""
        self._model = model
        self._capacity, self._cached_bytes = 2**30, 0
        self._cache: OrderedDict[str, torch.Tensor] = OrderedDict()
        self._listed = False

    def encoder_outputs(
        self, inputs: Mapping[str, ImageInputs], keys: Sequence[str], batch_size: int
    ) -> dict[str, Any] | None:
        """Features of the images with these keys, in the form of the model's `mm_encoder_outputs`; None without images.

        `inputs` may lack images with features; `batch_size` is in images. Raises UnsharableError for unknown outputs.
        """
        if not keys:
            return None
        by_shape: dict[Any, list[str]] = defaultdict(list)
        for key in dict.fromkeys(keys):
            if key in self._cache:
                self._cache.move_to_end(key)
            else:
                by_shape[tuple((name, value.shape) for name, value in inputs[key].tensors.items())].append(key)
        for alike in by_shape.values():
            for batch in batches(alike, batch_size):
                self._cache.update(zip(batch, self._encode([inputs[key] for key in batch]), strict=True))
                self._cached_bytes += sum(self._cache[key].nbytes for key in batch)
        # Models concatenate the features of all images, so they can be passed as the features of one image.
        joined = torch.cat([self._cache[key] for key in keys])
        while self._cached_bytes > self._capacity:
            self._cached_bytes -= self._cache.popitem(last=False)[1].nbytes
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


@dataclass
class KVCache:
    """The cache of sequences, one per row; mask (1 for tokens, 0 for padding) and types are of shape (rows, length)."""

    cache: DynamicCache
    mask: torch.Tensor
    types: torch.Tensor

    def select(self, rows: Sequence[int], room: int) -> "KVCache":
        """A copy with these rows, which may repeat, and room for that number of tokens to be appended quickly."""
        index = torch.as_tensor(rows, device=self.mask.device)
        cache = copy.copy(self.cache)
        cache.layers = [_copied_layer(layer, rows, room) for layer in self.cache.layers]
        return KVCache(cache, self.mask[index], self.types[index])

    def make_room(self, room: int) -> None:
        """Let that number of tokens be appended quickly; in place, so that only one layer is in memory twice."""
        for number, layer in enumerate(self.cache.layers):
            self.cache.layers[number] = _copied_layer(layer, range(len(self.mask)), room)


@dataclass(frozen=True)
class Chunk:
    """Tokens to append to a row, at least one, and their images; positions are of shape (kinds of position, tokens)."""

    ids: Sequence[int]
    positions: torch.Tensor
    types: Sequence[int] | None = None
    images: Sequence[str] = ()


class Reader:
    """A model that extends sequences; raises UnsharableError if its architecture does not support prefix sharing."""

    def __init__(self, model: PreTrainedModel, pad_token_id: int) -> None:
        """Look up which arguments the model takes."""
        parameters = inspect.signature(model.forward).parameters
        missing = {"mm_encoder_outputs", "position_ids", "past_key_values", "logits_to_keep"} - set(parameters)
        if missing or not hasattr(model, "get_image_features"):
            raise UnsharableError(f"its architecture does not take {', '.join(sorted(missing)) or 'image features'}")
        self._model = model
        self._pad = pad_token_id
        self._takes_types = "token_type_ids" in parameters
        self._window = _smallest_window(model.config.get_text_config(decoder=True))

    def extend(
        self,
        kv_cache: KVCache | None,
        chunks: Sequence[Chunk],
        encoder_outputs: dict[str, Any] | None = None,
        *,
        keep: int = 1,
    ) -> tuple[KVCache, torch.Tensor]:
        """Append a chunk to each row of the cache, which is used up, and return the new cache and the last logits.

        Logits have the shape (chunks, keep, vocabulary). Raises UnsharableError if the model's cache or the length does
        not allow prefix sharing.
        """

        def padded(rows: list[Any], value: int = 0) -> torch.Tensor:
            tensors = [torch.as_tensor(row) for row in rows]
            joined = pad_sequence(tensors, batch_first=True, padding_value=value, padding_side="left")
            return joined.to(self._model.device)

        ids = padded([chunk.ids for chunk in chunks], self._pad)
        mask = padded([[1] * len(chunk.ids) for chunk in chunks])
        types = padded([chunk.types or [0] * len(chunk.ids) for chunk in chunks])
        positions = padded([chunk.positions.T for chunk in chunks]).permute(2, 0, 1)
        if kv_cache is not None:
            mask, types = torch.cat([kv_cache.mask, mask], dim=1), torch.cat([kv_cache.types, types], dim=1)
        # Padding in the middle shifts a sliding window, and a moving window drops tokens of the shared prefix.
        if self._window is not None and mask.shape[1] > self._window:
            raise UnsharableError(f"its sliding attention window has {self._window} tokens, and a prompt is longer")
        arguments: dict[str, Any] = {
            "input_ids": ids,
            "attention_mask": mask,
            "position_ids": positions[0] if len(positions) == 1 else positions,
            "past_key_values": None if kv_cache is None else kv_cache.cache,
            "mm_encoder_outputs": encoder_outputs,
            "use_cache": True,
            "logits_to_keep": keep,
        }
        if self._takes_types and encoder_outputs is not None:
            # For the complete sequence, because the model indexes types from its beginning.
            arguments["token_type_ids"] = types
        output = self._model(**arguments)
        _check_cache(output.past_key_values)
        return KVCache(output.past_key_values, mask, types), output.logits


def _smallest_window(config: Any) -> int | None:
    """The shortest sliding window among the layers; None if all layers have full attention."""
    kinds = getattr(config, "layer_types", None)
    window = getattr(config, "sliding_window", None) or getattr(config, "attention_chunk_size", None)
    slides = kinds is None or any(kind in ("sliding_attention", "chunked_attention") for kind in kinds)
    return window if slides and getattr(config, "use_sliding_window", True) is not False else None


class PreallocatedLayer(DynamicLayer):
    """A copy of a layer's rows that appends tokens in place as long as there is room."""

    def __init__(self, layer: DynamicLayer, rows: Sequence[int], room: int) -> None:
        """Copy the rows."""
        super().__init__()
        self.is_initialized, self.dtype, self.device = True, layer.dtype, layer.device
        self._stores = [_copied(tensor, rows, room) for tensor in (layer.keys, layer.values)]
        self._show(layer.keys.shape[-2])

    def update(self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any) -> Any:
        """Append keys and values of shape (rows, heads, tokens, width); returns all keys and values."""
        begin = self.keys.shape[-2]
        end = begin + key_states.shape[-2]
        if end > self._stores[0].shape[-2]:
            self._stores = [_copied(store, range(len(store)), end) for store in (self.keys, self.values)]
        for store, states in zip(self._stores, (key_states, value_states), strict=True):
            store[..., begin:end, :] = states
        self._show(end)
        return self.keys, self.values

    def _show(self, length: int) -> None:
        self.keys, self.values = (store[..., :length, :] for store in self._stores)


def _check_cache(cache: Any) -> None:
    """Raise `UnsharableError` for a cache whose rows `KVCache.select` cannot copy."""
    kinds = {type(layer) for layer in getattr(cache, "layers", [])}
    if type(cache) is not DynamicCache or not kinds <= {DynamicLayer, DynamicSlidingWindowLayer, PreallocatedLayer}:
        names = ", ".join(sorted(kind.__name__ for kind in kinds)) or "no layers"
        raise UnsharableError(f"its cache is a {type(cache).__name__} of {names}")


def _copied_layer(layer: DynamicLayer, rows: Sequence[int], room: int) -> DynamicLayer:
    if isinstance(layer, DynamicSlidingWindowLayer):
        # Here it never exceeds its window, where it would drop tokens, but it needs its own count of tokens.
        copied = copy.copy(layer)
        copied.batch_select_indices(torch.as_tensor(rows, device=layer.device))
        return copied
    return PreallocatedLayer(layer, rows, room)


def _copied(tensor: torch.Tensor, rows: Sequence[int], room: int) -> torch.Tensor:
    _, heads, length, width = tensor.shape
    copied = tensor.new_empty((len(rows), heads, length + room, width))
    for index, row in enumerate(rows):
        copied[index, :, :length] = tensor[row]
    return copied
