"""Runs sequences on a model, each shared prefix once: text, next-token logits, losses of continuations."""

import contextlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from eyechart.evaluators.backends.chat import Sampling
from eyechart.evaluators.backends.local.features import ImageFeatures
from eyechart.evaluators.backends.local.image_groups import PreparedRequests
from eyechart.evaluators.backends.local.prefixes import Node
from eyechart.evaluators.backends.local.reader import Chunk, KVCache, Reader, restrict_lm_head
from eyechart.evaluators.backends.local.rendering import ImageInputs, RenderedPrompt
from eyechart.evaluators.backends.local.sampling import TokenSampler
from eyechart.evaluators.requests.types import Loss, OutputType
from eyechart.metrics.scoring.reasoning import reasoning_marks

_Item = TypeVar("_Item")


@dataclass(frozen=True)
class GeneratedText:
    """A generated text; `is_cut` if it reached the maximum length before its end."""

    text: str
    is_cut: bool


Output = tuple[int, GeneratedText | list[float] | Loss]
"""Index of a sequence, and its text, its logits or its loss."""


@dataclass(frozen=True)
class Job:
    """Sequences, their images, and the output wanted of each: text, the logits of `tokens` in this order, or loss."""

    prompts: Sequence[RenderedPrompt]
    window: PreparedRequests
    output_type: OutputType
    max_new_tokens: int
    tokens: Sequence[int]
    sampling: Sampling | None = None

    def sampler(self, indices: Sequence[int]) -> TokenSampler | None:
        """The sampler of some sequences; None with greedy decoding."""
        return None if self.sampling is None else TokenSampler(self.sampling, [self.prompts[i] for i in indices])


class Engine:
    """Runs jobs on a model; raises UnsharableError if the model does not support prefix sharing."""

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, *, feature_bytes: int) -> None:
        """Check that the model supports prefix sharing."""
        self.model = model
        self.reader = Reader(model, tokenizer.pad_token_id)
        self.features = ImageFeatures(model, capacity=feature_bytes)
        self.ends = end_tokens(model)
        self.decode = text_decoder(tokenizer)

    def run(self, job: Job, root: Node, batch_size: int) -> list[Output]:
        """The result of each sequence, in any order; `root` is the tree of the prefixes that they share.

        Raises UnsharableError if the model turns out not to support prefix sharing.
        """
        narrow = restrict_lm_head(self.model, job.tokens) if job.tokens else contextlib.nullcontext(False)
        with torch.inference_mode(), narrow as is_narrow:
            columns = slice(None) if is_narrow else list(job.tokens)
            return list(_Run(self, job, batch_size, columns).continue_from([root], None))


class _Run:
    """One running job: walks the tree of prefixes, from each batch of nodes to the sequences and nodes below it."""

    def __init__(self, engine: Engine, job: Job, batch_size: int, columns: slice | list[int]) -> None:
        self._engine = engine
        self._job = job
        self._batch_size = batch_size
        self._columns = columns
        self._positions = [token_positions(engine.model, prompt, job.window.inputs) for prompt in job.prompts]

    def continue_from(self, nodes: Sequence[Node], kv_cache: KVCache | None) -> Iterator[Output]:
        """Run all that continues these prefixes, which are the rows of the cache; None for the empty prefix."""
        leaves = [
            (row, self._chunk(index, node.end, len(self._job.prompts[index].ids)), index)
            for row, node in enumerate(nodes)
            for index in node.leaves
        ]
        for leaf_batch in _batches(sorted(leaves, key=lambda leaf: len(leaf[1].ids)), self._batch_size):
            rows, chunks, indices = zip(*leaf_batch, strict=True)
            yield from self._finish(kv_cache, rows, chunks, indices)
        # Prefixes with similar numbers of sequences are run together, so that the sequences fill their batches.
        children = [(row, child, len(child.sequences())) for row, node in enumerate(nodes) for child in node.children]
        children.sort(key=lambda child: (child[2], child[1].end))
        per_batch = max(1, self._batch_size // max((count for *_, count in children), default=1))
        for batch in _batches(children, per_batch):
            rows, prefixes, _ = zip(*batch, strict=True)
            prefix_chunks = [self._chunk(node.first, node.start, node.end) for node in prefixes]
            yield from self.continue_from(prefixes, self._extend(kv_cache, rows, prefix_chunks, keep=1)[0])

    def _finish(
        self, kv_cache: KVCache | None, rows: Sequence[int], chunks: Sequence[Chunk], indices: Sequence[int]
    ) -> Iterator[Output]:
        """Run the rest of sequences, each continuing a row of the cache."""
        prompts = [self._job.prompts[index] for index in indices]
        read, logits = self._extend(kv_cache, rows, chunks, keep=max(prompt.needed_logits for prompt in prompts))
        if self._job.output_type is OutputType.LOGITS:
            yield from zip(indices, logits[:, -1, self._columns].float().tolist(), strict=True)
        elif self._job.output_type is OutputType.LOSSES:
            yield from zip(indices, map(continuation_loss, prompts, logits), strict=True)
        else:
            texts = self._generate(read, logits[:, -1], chunks, self._job.sampler(indices))
            for index, tokens in zip(indices, texts, strict=True):
                yield index, GeneratedText(self._engine.decode(tokens), len(tokens) == self._job.max_new_tokens)

    def _generate(
        self, kv_cache: KVCache, logits: torch.Tensor, chunks: Sequence[Chunk], sampler: TokenSampler | None
    ) -> list[list[int]]:
        """Generate texts, returned without their end token."""
        texts: list[list[int]] = [[] for _ in chunks]
        live = list(range(len(chunks)))
        positions = torch.stack([chunk.positions[:, -1].max().expand(chunk.positions.shape[0]) for chunk in chunks], 1)
        for step in range(self._job.max_new_tokens):
            tokens = logits.argmax(dim=-1).tolist() if sampler is None else sampler.draw(logits, live)
            going_on = [row for row, token in enumerate(tokens) if token not in self._engine.ends]
            for row in going_on:
                texts[live[row]].append(tokens[row])
            if not going_on or step == self._job.max_new_tokens - 1:
                break
            if len(going_on) < len(live):
                kv_cache = kv_cache.select(going_on, self._job.max_new_tokens - step)
                live, positions = [live[row] for row in going_on], positions[:, going_on]
            positions = positions + 1
            following = [Chunk([tokens[row]], positions[:, [new]]) for new, row in enumerate(going_on)]
            kv_cache, last = self._engine.reader.extend(kv_cache, following)
            logits = last[:, -1]
        return texts

    def _extend(
        self, kv_cache: KVCache | None, rows: Sequence[int], chunks: Sequence[Chunk], keep: int
    ) -> tuple[KVCache, torch.Tensor]:
        """Append chunks to copies of rows of the cache."""
        keys = [key for chunk in chunks for key in chunk.images]
        features = self._engine.features.encoder_outputs(self._job.window.inputs, keys, self._batch_size)
        room = self._job.max_new_tokens if self._job.output_type is OutputType.TEXT else 0
        if kv_cache is not None:
            kv_cache = kv_cache.select(rows, max(len(chunk.ids) for chunk in chunks) + room)
        return self._engine.reader.extend(kv_cache, chunks, features, keep=keep, room=room)

    def _chunk(self, index: int, start: int, end: int) -> Chunk:
        prompt = self._job.prompts[index]
        return Chunk(
            ids=prompt.ids[start:end],
            positions=self._positions[index][:, start:end],
            types=None if prompt.types is None else prompt.types[start:end],
            images=[key for key, begin in zip(prompt.images, prompt.begins, strict=True) if start <= begin < end],
        )


def token_positions(model: PreTrainedModel, prompt: RenderedPrompt, inputs: Mapping[str, ImageInputs]) -> torch.Tensor:
    """Positions of a sequence's tokens, on the CPU, shape (kinds of position, tokens); Qwen2-VL has three kinds."""
    index = getattr(getattr(model, "model", model), "get_rope_index", None)
    if index is None:
        return torch.arange(len(prompt.ids))[None]
    parameters, arguments = inspect.signature(index).parameters, {}
    if prompt.images and "image_grid_thw" in parameters:
        arguments["image_grid_thw"] = torch.cat([inputs[key].tensors["image_grid_thw"] for key in prompt.images])
    if "mm_token_type_ids" in parameters:
        arguments["mm_token_type_ids"] = torch.as_tensor([prompt.types or [0] * len(prompt.ids)])
    # Each sequence is counted separately, so that nothing is carried over from another one.
    positions, _ = index(torch.as_tensor([prompt.ids]), **arguments)
    return positions[:, 0]


def end_tokens(model: PreTrainedModel) -> frozenset[int]:
    """The tokens that end a text."""
    ends = model.generation_config.eos_token_id
    return frozenset(ends if isinstance(ends, list) else [] if ends is None else [ends])


def text_decoder(tokenizer: PreTrainedTokenizerBase) -> Callable[[list[int]], str]:
    """A function from tokens to text, without special tokens except those that mark reasoning."""
    special = {id: token.content for id, token in tokenizer.added_tokens_decoder.items() if token.special}
    marks = reasoning_marks(special.values())
    hidden = {id for id, token in special.items() if token not in marks}
    return lambda ids: tokenizer.decode([id for id in ids if id not in hidden]).strip()


def continuation_loss(prompt: RenderedPrompt, logits: torch.Tensor) -> Loss:
    """Loss of the continuation at the end of a sequence; logits have the shape (at least scored + 1, vocabulary)."""
    before = logits[-prompt.needed_logits : -1].float().log_softmax(dim=-1)
    tokens = torch.as_tensor(prompt.ids[-prompt.scored :], device=logits.device)
    total = -before.gather(1, tokens[:, None]).sum()
    return Loss(total=float(total), tokens=prompt.scored)


def _batches(items: Sequence[_Item], size: int) -> Iterator[Sequence[_Item]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
