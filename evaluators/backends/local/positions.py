"""Positions of the tokens of a complete sequence, as the model counts them."""

import inspect
from collections.abc import Mapping

import torch
from transformers import PreTrainedModel

from eyechart.evaluators.backends.local.rendering import ImageInputs, Prompt


class Positions:
    """Counts positions: one per token, or three in models such as Qwen2-VL, which count rows and columns of images.

    Args:
        model: The model.
    """

    def __init__(self, model: PreTrainedModel) -> None:
        """Look up how the model counts."""
        self._index = getattr(getattr(model, "model", model), "get_rope_index", None)
        self._named = set(inspect.signature(self._index).parameters) if self._index else set()

    def of(self, prompt: Prompt, inputs: Mapping[str, ImageInputs]) -> torch.Tensor:
        """Positions of a sequence's tokens, shape (1 or 3, tokens), on the CPU.

        Args:
            prompt: The sequence.
            inputs: Pixels of its images, by key; not needed if every token has one position.
        """
        if self._index is None:
            return torch.arange(len(prompt.ids))[None]
        arguments = {
            name: torch.cat([inputs[key].tensors[name] for key in prompt.images])
            for name in ("image_grid_thw",)
            if prompt.images and name in self._named
        }
        if "mm_token_type_ids" in self._named:
            arguments["mm_token_type_ids"] = torch.as_tensor([prompt.types or [0] * len(prompt.ids)])
        # Each sequence is counted separately, so that nothing is carried over from another one.
        positions, _ = self._index(torch.as_tensor([prompt.ids]), **arguments)
        return positions[:, 0]
