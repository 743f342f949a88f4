"""Samples tokens such that a reply depends only on the question, the seed and the repeat."""

import hashlib
from collections.abc import Sequence

import numpy as np
import torch

from eyechart.evaluators.backends.chat import Sampling
from eyechart.evaluators.backends.local.rendering import RenderedPrompt


class TokenSampler:
    """Samples the next tokens of sequences, each with its own random numbers, whatever the batches and their order."""

    def __init__(self, sampling: Sampling, prompts: Sequence[RenderedPrompt]) -> None:
        """Seed the generators."""
        self._sampling = sampling
        self._generators = [np.random.default_rng(_seed(sampling, prompt)) for prompt in prompts]

    def draw(self, logits: torch.Tensor, indices: Sequence[int]) -> list[int]:
        """Sample one token for each of the sequences with these indices; logits have the shape (indices, tokens)."""
        # In the order of the vocabulary: sorting by probability would be unstable for nearly equal probabilities.
        reached = probabilities(logits, self._sampling).cumsum(dim=-1)
        numbers = [self._generators[index].random() for index in indices]
        drawn = torch.as_tensor(numbers, dtype=reached.dtype, device=reached.device)[:, None] * reached[:, -1:]
        tokens: list[int] = torch.searchsorted(reached, drawn, right=True).squeeze(-1).tolist()
        return [min(token, logits.shape[-1] - 1) for token in tokens]


def probabilities(logits: torch.Tensor, sampling: Sampling) -> torch.Tensor:
    """The probability of each token, up to a factor for each sequence, shape (sequences, tokens).

    Temperature and nucleus sampling (Holtzman et al. 2020, https://arxiv.org/abs/1904.09751, Eq. 2 and 3), as
    `TemperatureLogitsWarper` and then `TopPLogitsWarper` of transformers define them.
    """
    shares = (logits.double() / sampling.temperature).softmax(dim=-1)
    if sampling.top_p == 1:
        return shares
    likeliest, order = shares.sort(dim=-1, descending=True, stable=True)
    # A token is in the nucleus if the more probable tokens alone do not reach top_p.
    before = likeliest.cumsum(dim=-1) - likeliest
    outside = torch.zeros_like(shares, dtype=torch.bool).scatter(-1, order, before >= sampling.top_p)
    return shares.masked_fill(outside, 0)


def _seed(sampling: Sampling, prompt: RenderedPrompt) -> list[int]:
    question = hashlib.sha256(repr((prompt.ids, prompt.images)).encode()).digest()
    return [sampling.seed, prompt.request.repeat, int.from_bytes(question)]
