"""A key-value cache with preallocated room, so that appending a token does not copy the earlier ones."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer


class UnsharableError(Exception):
    """The model does not support prefix sharing; its prompts are then run separately. The message gives the reason."""


@dataclass
class KVCache:
    """The cache of sequences that were read, one per row.

    Attributes:
        cache: Keys and values.
        mask: 1 for tokens, 0 for padding, shape (rows, length).
        types: Token types, same shape; zeros for models without token types.
    """

    cache: DynamicCache
    mask: torch.Tensor
    types: torch.Tensor

    def select(self, rows: Sequence[int], room: int) -> "KVCache":
        """A copy with these rows, in this order; rows may repeat.

        Args:
            rows: The rows.
            room: Number of tokens that will be appended; appending more is possible but slower.
        """
        index = torch.as_tensor(rows, device=self.mask.device)
        cache = copy.copy(self.cache)
        cache.layers = [_copied_layer(layer, rows, room) for layer in self.cache.layers]
        return KVCache(cache, self.mask[index], self.types[index])


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


def check_cache(cache: Any) -> None:
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
