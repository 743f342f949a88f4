"""Keys and values of tokens that a model has read, copied with room to grow: one more token copies nothing old."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

from eyechart.evaluators.backends.local.errors import UnsharableError


@dataclass
class KVCache:
    """Rows of sequences that were read.

    Attributes:
        cache: Keys and values.
        mask: 1 for tokens, 0 for padding, shape (rows, length).
        types: Token types, likewise; zeros for models that have none.
    """

    cache: DynamicCache
    mask: torch.Tensor
    types: torch.Tensor

    def select(self, rows: Sequence[int], room: int) -> "KVCache":
        """A copy with these rows, in this order, each as often as it is named.

        Args:
            rows: The rows.
            room: How many tokens are to be appended.
        """
        index = torch.as_tensor(rows, device=self.mask.device)
        return KVCache(copy_rows(self.cache, rows, room), self.mask[index], self.types[index])


class PreallocatedLayer(DynamicLayer):
    """A layer that writes what is appended behind what it holds, as long as there is room.

    Args:
        layer: The layer whose rows are copied.
        rows: Which of its rows, each as often as it is named.
        room: How many tokens may be appended.
    """

    def __init__(self, layer: DynamicLayer, rows: Sequence[int], room: int) -> None:
        """Copy the rows."""
        super().__init__()
        self.is_initialized, self.dtype, self.device = True, layer.dtype, layer.device
        self._stores = [_copied(tensor, rows, room) for tensor in (layer.keys, layer.values)]
        self._show(layer.keys.shape[-2])

    def update(self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any) -> Any:
        """Append keys and values of shape (rows, heads, tokens, width); gives all of them."""
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


def copy_rows(cache: DynamicCache, rows: Sequence[int], room: int) -> DynamicCache:
    """A cache of its own with some rows of another.

    Args:
        cache: The other, which stays as it is.
        rows: Which rows, each as often as it is named.
        room: How many tokens are to be appended; more are possible, and slower.
    """
    copied = copy.copy(cache)
    copied.layers = [_copied_layer(layer, rows, room) for layer in cache.layers]
    return copied


def check_cache(cache: Any) -> None:
    """Raise `UnsharableError` for a cache whose rows `copy_rows` cannot copy."""
    kinds = {type(layer) for layer in getattr(cache, "layers", [])}
    if type(cache) is not DynamicCache or not kinds <= {DynamicLayer, DynamicSlidingWindowLayer, PreallocatedLayer}:
        names = ", ".join(sorted(kind.__name__ for kind in kinds)) or "no layers"
        raise UnsharableError(f"its cache is a {type(cache).__name__} of {names}")


def _copied_layer(layer: DynamicLayer, rows: Sequence[int], room: int) -> DynamicLayer:
    if isinstance(layer, DynamicSlidingWindowLayer):
        # Never past its window here, where it would drop tokens, but it counts them itself.
        own = copy.copy(layer)
        own.batch_select_indices(torch.as_tensor(rows, device=layer.device))
        return own
    return PreallocatedLayer(layer, rows, room)


def _copied(tensor: torch.Tensor, rows: Sequence[int], room: int) -> torch.Tensor:
    _, heads, length, width = tensor.shape
    copied = tensor.new_empty((len(rows), heads, length + room, width))
    for place, row in enumerate(rows):
        copied[place, :, :length] = tensor[row]
    return copied
