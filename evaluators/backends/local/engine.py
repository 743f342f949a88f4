"""Runs sequences on a model, each shared prefix once: text, next-token logits, losses of continuations."""

import contextlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from eyechart.evaluators.backends.chat_options import Sampling
from eyechart.evaluators.backends.local.features import Features, ImageFeatures
from eyechart.evaluators.backends.local.kv_cache import KVCache
from eyechart.evaluators.backends.local.prefixes import Node, SharedPrefixes
from eyechart.evaluators.backends.local.reader import Chunk, Reader, restrict_lm_head
from eyechart.evaluators.backends.local.rendering import ImageInputs, RenderedPrompt
from eyechart.evaluators.backends.local.sampling import TokenSampler
from eyechart.evaluators.requests.types import Loss, OutputType
from eyechart.metrics.scoring.reasoning import reasoning_marks

_Item = TypeVar("_Item")


@dataclass(frozen=True)
class GeneratedText:
    """A generated text."""

    text: str
    is_cut: bool
    """Whether the text reached the maximum length before its end."""


Output = tuple[int, GeneratedText | list[float] | Loss]
"""Index of a sequence, and its text, its logits or its loss."""


@dataclass(frozen=True)
class Job:
    """Sequences with the same kind of output.

    Attributes:
        prompts: The sequences.
        inputs: Pixels of their images, by key.
        output_type: The output wanted of each sequence.
        max_new_tokens: Maximum length of texts.
        tokens: Tokens whose logits are wanted, in order.
        sampling: How texts are sampled; None takes the most probable token each time.
    """

    prompts: Sequence[RenderedPrompt]
    inputs: Mapping[str, ImageInputs]
    output_type: OutputType
    max_new_tokens: int
    tokens: Sequence[int]
    sampling: Sampling | None = None

    def sampler(self, indices: Sequence[int]) -> TokenSampler | None:
        """The sampler of some sequences; None with greedy decoding."""
        return None if self.sampling is None else TokenSampler(self.sampling, [self.prompts[i] for i in indices])


class Engine:
    """Runs jobs on a model.

    Args:
        model: The model.
        pad_token_id: Token to pad with.
        decode: From the tokens of a text to the text.
        feature_bytes: Bytes of image features to keep for later sequences.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        *,
        pad_token_id: int,
        decode: Callable[[list[int]], str],
        feature_bytes: int,
    ) -> None:
        """Check that the model supports prefix sharing.

        Raises:
            UnsharableError: The model does not support it.
        """
        self.reader = Reader(model, pad_token_id)
        self.positions = Positions(model)
        self.features = ImageFeatures(model, capacity=feature_bytes)
        self.ends = end_tokens(model)
        self.decode = decode

    def run(self, job: Job, prefixes: SharedPrefixes, batch_size: int) -> list[Output]:
        """Run a job.

        Args:
            job: The sequences.
            prefixes: The prefixes that they share.
            batch_size: Sequences per forward pass.

        Returns:
            The result of each sequence, in any order.

        Raises:
            UnsharableError: The model turns out not to support prefix sharing.
        """
        narrow = restrict_lm_head(self.reader.model, job.tokens) if job.tokens else contextlib.nullcontext(False)
        with torch.inference_mode(), narrow as is_narrow:
            runner = _Run(self, job, batch_size, bool(is_narrow))
            return [*runner.singles(prefixes.singles), *runner.nodes(prefixes.nodes)]


class _Run:
    """One running job."""

    def __init__(self, engine: Engine, job: Job, batch_size: int, is_narrow: bool) -> None:
        self._engine = engine
        self._job = job
        self._batch_size = batch_size
        self._is_narrow = is_narrow
        self._positions = [engine.positions.of(prompt, job.inputs) for prompt in job.prompts]

    def singles(self, indices: Sequence[int]) -> Iterator[Output]:
        """Run sequences without prefix sharing."""
        by_length = sorted(indices, key=lambda index: len(self._job.prompts[index].ids))
        for batch in _batches(by_length, self._batch_size):
            yield from self._finish(None, [(0, index) for index in batch], 0)

    def nodes(
        self, nodes: Sequence[Node], kv_cache: KVCache | None = None, rows: Sequence[int] = ()
    ) -> Iterator[Output]:
        """Run prefixes, each continuing a row of the cache, and all sequences that continue them."""
        # Prefixes with similar numbers of sequences are run together, so that the sequences fill their batches.
        order = sorted(range(len(nodes)), key=lambda place: (len(nodes[place].sequences()), nodes[place].end))
        per_batch = max(1, self._batch_size // max((len(node.sequences()) for node in nodes), default=1))
        for batch in _batches(order, per_batch):
            part = [nodes[place] for place in batch]
            chunks = [self._chunk(node.first, node.start, node.end) for node in part]
            read, _ = self._extend(kv_cache, [rows[place] for place in batch] if kv_cache else [], chunks, keep=1)
            leaves = [(row, index) for row, node in enumerate(part) for index in node.leaves]
            start = {index: node.end for node in part for index in node.leaves}
            leaves.sort(key=lambda leaf: len(self._job.prompts[leaf[1]].ids) - start[leaf[1]])
            for leaf_batch in _batches(leaves, self._batch_size):
                yield from self._finish(read, leaf_batch, start)
            children = [(row, child) for row, node in enumerate(part) for child in node.children]
            if children:
                yield from self.nodes([child for _, child in children], read, [row for row, _ in children])

    def _finish(
        self, kv_cache: KVCache | None, leaves: Sequence[tuple[int, int]], start: Mapping[int, int] | int
    ) -> Iterator[Output]:
        """Run the rest of sequences, each continuing a row of the cache."""
        indices = [index for _, index in leaves]
        prompts = [self._job.prompts[index] for index in indices]
        begins = [start if isinstance(start, int) else start[index] for index in indices]
        chunks = [
            self._chunk(index, begin, len(prompt.ids))
            for index, begin, prompt in zip(indices, begins, prompts, strict=True)
        ]
        keep = max(prompt.kept for prompt in prompts)
        read, logits = self._extend(kv_cache, [row for row, _ in leaves], chunks, keep=keep)
        if self._job.output_type is OutputType.LOGITS:
            columns = slice(None) if self._is_narrow else list(self._job.tokens)
            yield from zip(indices, logits[:, -1, columns].float().tolist(), strict=True)
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
            kept = [row for row, token in enumerate(tokens) if token not in self._engine.ends]
            for row in kept:
                texts[live[row]].append(tokens[row])
            if not kept or step == self._job.max_new_tokens - 1:
                break
            if len(kept) < len(live):
                kv_cache, live = kv_cache.select(kept, self._job.max_new_tokens - step), [live[row] for row in kept]
                positions = positions[:, kept]
            positions = positions + 1
            kv_cache, last = self._engine.reader.follow(kv_cache, [tokens[row] for row in kept], positions)
            logits = last[:, -1]
        return texts

    def _extend(
        self, kv_cache: KVCache | None, rows: Sequence[int], chunks: Sequence[Chunk], keep: int
    ) -> tuple[KVCache, torch.Tensor]:
        keys = [key for chunk in chunks for key in chunk.images]
        features: Features = self._engine.features.prepare(self._job.inputs, keys, self._batch_size)
        room = self._job.max_new_tokens if self._job.output_type is OutputType.TEXT else 0
        return self._engine.reader.extend(kv_cache, rows, chunks, features, keep=keep, room=room)

    def _chunk(self, index: int, start: int, end: int) -> Chunk:
        prompt = self._job.prompts[index]
        places = zip(prompt.images, prompt.begins, strict=True)
        return Chunk(
            ids=prompt.ids[start:end],
            positions=self._positions[index][:, start:end],
            types=None if prompt.types is None else prompt.types[start:end],
            images=[key for key, begin in places if start <= begin < end],
        )


class Positions:
    """Counts positions: one per token, or three in models such as Qwen2-VL, which count rows and columns of images.

    Args:
        model: The model.
    """

    def __init__(self, model: PreTrainedModel) -> None:
        """Look up how the model counts."""
        self._index = getattr(getattr(model, "model", model), "get_rope_index", None)
        self._named = set(inspect.signature(self._index).parameters) if self._index else set()

    def of(self, prompt: RenderedPrompt, inputs: Mapping[str, ImageInputs]) -> torch.Tensor:
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
    before = logits[-prompt.kept : -1].float().log_softmax(dim=-1)
    tokens = torch.as_tensor(prompt.ids[-prompt.scored :], device=logits.device)
    total = -before.gather(1, tokens[:, None]).sum()
    return Loss(total=float(total), tokens=prompt.scored)


def _batches(items: Sequence[_Item], size: int) -> Iterator[Sequence[_Item]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
