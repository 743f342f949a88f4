"""What is wanted of sequences, and how it follows from a model's logits: texts, greedy or sampled, logits, losses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from transformers import GenerationConfig, PreTrainedTokenizerBase, TemperatureLogitsWarper, TopPLogitsWarper

from eyechart.evaluators.backends.chat import Sampling
from eyechart.evaluators.backends.local.image_groups import PreparedRequests
from eyechart.evaluators.backends.local.rendering import RenderedPrompt
from eyechart.evaluators.requests.types import Answer, Loss, OutputType
from eyechart.metrics.scoring.reasoning import LENGTH, STOP, reasoning_marks


@dataclass(frozen=True)
class Job:
    """Sequences, their images, and the output wanted of each: text, the logits of words by their tokens, or loss."""

    prompts: Sequence[RenderedPrompt]
    window: PreparedRequests
    output_type: OutputType
    max_new_tokens: int
    tokens: Mapping[str, int]
    sampling: Sampling | None = None

    def scores(self, indices: Sequence[int], logits: torch.Tensor) -> list[Answer]:
        """Logits or losses of these sequences, whose last logits have the shape (sequences, kept, vocabulary)."""
        if self.output_type is OutputType.LOSSES:
            rows = zip(indices, logits, strict=True)
            return [Answer(losses=(_continuation_loss(self.prompts[index], row),)) for index, row in rows]
        values = logits[:, -1, list(self.tokens.values())].float().tolist()
        return [Answer(logits=dict(zip(self.tokens, row, strict=True))) for row in values]


def _continuation_loss(prompt: RenderedPrompt, logits: torch.Tensor) -> Loss:
    """Loss of the continuation at the end of a sequence; logits have the shape (at least scored + 1, vocabulary)."""
    tokens = torch.as_tensor(prompt.ids[-prompt.scored :], device=logits.device)
    before = logits[-prompt.needed_logits : -1].float()
    return Loss(float(torch.nn.functional.cross_entropy(before, tokens, reduction="sum")), tokens=prompt.scored)


class TokenSampler:
    """Chooses the next tokens of sequences: the most probable ones, or with random numbers.

    Each sequence has its own numbers, which depend only on the question, the seed and the repeat, so batches and their
    order do not matter.
    """

    def __init__(self, sampling: Sampling | None, prompts: Sequence[RenderedPrompt]) -> None:
        """Seed the generators; without sampling, decoding is greedy."""
        self._sampling = sampling
        self._generators = [] if sampling is None else [_generator(sampling, prompt) for prompt in prompts]

    def next_tokens(self, logits: torch.Tensor, indices: Sequence[int]) -> list[int]:
        """The next token of each of the sequences with these indices; logits have the shape (indices, tokens)."""
        if self._sampling is None:
            return logits.argmax(dim=-1).tolist()
        # In the order of the vocabulary: sorting by probability would be unstable for nearly equal probabilities.
        reached = probabilities(logits, self._sampling).cumsum(dim=-1)
        numbers = [self._generators[index].random() for index in indices]
        drawn = torch.as_tensor(numbers, dtype=reached.dtype, device=reached.device)[:, None] * reached[:, -1:]
        tokens: list[int] = torch.searchsorted(reached, drawn, right=True).squeeze(-1).tolist()
        return [min(token, logits.shape[-1] - 1) for token in tokens]


def probabilities(logits: torch.Tensor, sampling: Sampling) -> torch.Tensor:
    """The probability of each token with temperature and nucleus sampling, shape (sequences, tokens).

    Nucleus sampling: Holtzman et al. 2020, https://arxiv.org/abs/1904.09751, Eq. 2 and 3.
    """
    no_ids = torch.empty(0, dtype=torch.long)
    warped = TemperatureLogitsWarper(float(sampling.temperature))(no_ids, logits.double())
    return TopPLogitsWarper(float(sampling.top_p))(no_ids, warped).softmax(dim=-1)


def _generator(sampling: Sampling, prompt: RenderedPrompt) -> np.random.Generator:
    return np.random.default_rng(sampling.request_seed(repr((prompt.ids, prompt.images)), prompt.request.repeat))


class TextReader:
    """Makes answers of generated tokens; `ends` are the tokens that end a text."""

    def __init__(self, config: GenerationConfig, tokenizer: PreTrainedTokenizerBase) -> None:
        """Look up which tokens are not part of a text: special ones and ends, except those that mark reasoning."""
        ends = config.eos_token_id
        self.ends = frozenset(ends if isinstance(ends, list) else [] if ends is None else [ends])
        special = {id: token.content for id, token in tokenizer.added_tokens_decoder.items() if token.special}
        marks = reasoning_marks(special.values())
        self._hidden = {*special, *self.ends} - {id for id, token in special.items() if token in marks}
        self._tokenizer = tokenizer

    def answer(self, tokens: Sequence[int], most: int) -> Answer:
        """The text of these tokens, which was cut off if there are as many as allowed and none ends it."""
        text = self._tokenizer.decode([token for token in tokens if token not in self._hidden]).strip()
        is_cut = len(tokens) == most and self.ends.isdisjoint(tokens)
        return Answer(text=text, finish_reason=LENGTH if is_cut else STOP)
