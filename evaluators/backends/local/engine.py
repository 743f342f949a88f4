"""Runs sequences on a model, each prefix that they share once: which share which is a tree, which is then walked.

A shared prefix never ends within an image, and never contains the tokens whose logits are wanted.
"""

import inspect
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from eyechart.evaluators.backends.local.image_groups import batches
from eyechart.evaluators.backends.local.outputs import Job, TextReader, TokenSampler
from eyechart.evaluators.backends.local.reader import Chunk, ImageFeatures, KVCache, Reader
from eyechart.evaluators.backends.local.rendering import ImageInputs, RenderedPrompt
from eyechart.evaluators.requests.types import Answer, OutputType

# A shared prefix costs one more forward pass, which is not worth it for fewer tokens than this.
_LEAST_SAVED = 32


@dataclass
class Node:
    """A prefix that sequences share: tokens of sequence `first` before `end`; those before `start` are its parent's.

    `leaves` are the indices of sequences that share nothing beyond it, `children` longer prefixes that others share.
    """

    first: int = 0
    start: int = 0
    end: int = 0
    leaves: list[int] = field(default_factory=list)
    children: list["Node"] = field(default_factory=list)

    def sequences(self) -> list[int]:
        """Indices of all sequences below it."""
        return self.leaves + [index for child in self.children for index in child.sequences()]


def shared_prefixes(prompts: Sequence[RenderedPrompt]) -> Node:
    """The tree of the prefixes that sequences share, each to be run once; the root is empty."""
    root = Node()
    _divide(root, prompts, range(len(prompts)), 0)
    return root


def _divide(node: Node, prompts: Sequence[RenderedPrompt], members: Sequence[int], level: int) -> None:
    """Put members, which share a node's prefix, below it: as leaves, or below a child those that share more.

    What more they share begins with image number `level`.
    """
    for part in _parts(prompts, members, level):
        shared = level
        # Further images that all of them share belong to the same child.
        while (
            any(len(prompts[index].images) > shared for index in part) and len(_parts(prompts, part, shared + 1)) == 1
        ):
            shared += 1
        end = _shared_length([prompts[index] for index in part], shared)
        if (len(part) - 1) * (end - node.end) >= _LEAST_SAVED:
            node.children.append(Node(part[0], node.end, end))
            _divide(node.children[-1], prompts, part, shared + 1)
        else:
            node.leaves += part


def _parts(prompts: Sequence[RenderedPrompt], members: Sequence[int], level: int) -> list[list[int]]:
    """Members grouped by what they share up to the end of image number `level`."""
    parts: dict[Hashable, list[int]] = {}
    for index in members:
        prompt = prompts[index]
        if len(prompt.images) > level:
            key: Hashable = (prompt.images[: level + 1], tuple(prompt.ids[: prompt.ends[level]]))
        else:
            # Without a further image, only the continuations of one prompt share enough tokens.
            key = id(prompt.request) if prompt.request.output_type is OutputType.LOSSES else index
        parts.setdefault(key, []).append(index)
    return list(parts.values())


def _shared_length(prompts: Sequence[RenderedPrompt], level: int) -> int:
    """Number of leading tokens that prompts share, including image number `level` and no part of the next image."""
    ids = [prompt.ids for prompt in prompts]
    # In sorted order, the first and the last sequence have the least in common.
    pairs = zip(min(ids), max(ids), strict=False)
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    for prompt in prompts:
        shared = min(shared, len(prompt.ids) - prompt.needed_logits, *prompt.begins[level + 1 : level + 2])
        for begin, end in zip(prompt.begins[level:], prompt.ends[level:], strict=True):
            if begin < shared < end:
                shared = begin
    return shared


class Engine:
    """Runs jobs on a model; raises UnsharableError if the model does not support prefix sharing."""

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> None:
        """Check that the model supports prefix sharing."""
        self.model = model
        self.reader = Reader(model, tokenizer.pad_token_id)
        self.features = ImageFeatures(model)
        self.texts = TextReader(model.generation_config, tokenizer)

    def run(self, job: Job, root: Node, batch_size: int) -> list[Answer]:
        """The output of each sequence; `root` is the tree of the prefixes that they share.

        Raises UnsharableError if the model turns out not to support prefix sharing.
        """
        positions = [token_positions(self.model, prompt, job.window.inputs) for prompt in job.prompts]
        with torch.inference_mode():
            outputs = dict(_Walk(self, job, batch_size, positions).continue_from([root], None))
        return [outputs[index] for index in range(len(job.prompts))]


@dataclass
class _Walk:
    """One running job: walks the tree of prefixes, from each batch of nodes to the sequences and nodes below it."""

    engine: Engine
    job: Job
    batch_size: int
    positions: Sequence[torch.Tensor]

    def continue_from(self, nodes: Sequence[Node], kv_cache: KVCache | None) -> Iterator[tuple[int, Answer]]:
        """Run all that continues these prefixes, which are the rows of the cache; None for the empty prefix."""
        leaves = [
            (row, self._chunk(index, node.end, len(self.job.prompts[index].ids)), index)
            for row, node in enumerate(nodes)
            for index in node.leaves
        ]
        for leaf_batch in batches(sorted(leaves, key=lambda leaf: len(leaf[1].ids)), self.batch_size):
            rows, chunks, indices = zip(*leaf_batch, strict=True)
            yield from zip(indices, self._finish(kv_cache, rows, chunks, indices), strict=True)
        # Prefixes with similar numbers of sequences are run together, so that the sequences fill their batches.
        children = [(row, child, len(child.sequences())) for row, node in enumerate(nodes) for child in node.children]
        children.sort(key=lambda child: (child[2], child[1].end))
        per_batch = max(1, self.batch_size // max((count for *_, count in children), default=1))
        for batch in batches(children, per_batch):
            rows, prefixes, _ = zip(*batch, strict=True)
            prefix_chunks = [self._chunk(node.first, node.start, node.end) for node in prefixes]
            yield from self.continue_from(prefixes, self._extend(kv_cache, rows, prefix_chunks, keep=1)[0])

    def _finish(
        self, kv_cache: KVCache | None, rows: Sequence[int], chunks: Sequence[Chunk], indices: Sequence[int]
    ) -> Sequence[Answer]:
        """Run the rest of sequences, each continuing a row of the cache."""
        keep = max(self.job.prompts[index].needed_logits for index in indices)
        extended, logits = self._extend(kv_cache, rows, chunks, keep)
        if self.job.output_type is not OutputType.TEXT:
            return self.job.scores(indices, logits)
        if kv_cache is None:
            # Otherwise each new token would copy all before it.
            extended.make_room(self.job.max_new_tokens)
        sampler = TokenSampler(self.job.sampling, [self.job.prompts[index] for index in indices])
        texts = self._generate(extended, logits[:, -1], chunks, sampler)
        return [self.engine.texts.answer(tokens, self.job.max_new_tokens) for tokens in texts]

    def _generate(
        self, kv_cache: KVCache, logits: torch.Tensor, chunks: Sequence[Chunk], sampler: TokenSampler
    ) -> list[list[int]]:
        """Generate texts, returned without their end token."""
        texts: list[list[int]] = [[] for _ in chunks]
        live = list(range(len(chunks)))
        positions = torch.stack([chunk.positions[:, -1].max().expand(chunk.positions.shape[0]) for chunk in chunks], 1)
        for step in range(self.job.max_new_tokens):
            tokens = sampler.next_tokens(logits, live)
            going_on = [row for row, token in enumerate(tokens) if token not in self.engine.texts.ends]
            for row in going_on:
                texts[live[row]].append(tokens[row])
            if not going_on or step == self.job.max_new_tokens - 1:
                break
            if len(going_on) < len(live):
                kv_cache = kv_cache.select(going_on, self.job.max_new_tokens - step)
                live, positions = [live[row] for row in going_on], positions[:, going_on]
            positions = positions + 1
            following = [Chunk([tokens[row]], positions[:, [new]]) for new, row in enumerate(going_on)]
            kv_cache, last = self.engine.reader.extend(kv_cache, following)
            logits = last[:, -1]
        return texts

    def _extend(
        self, kv_cache: KVCache | None, rows: Sequence[int], chunks: Sequence[Chunk], keep: int
    ) -> tuple[KVCache, torch.Tensor]:
        """Append chunks to copies of rows of the cache."""
        keys = [key for chunk in chunks for key in chunk.images]
        features = self.engine.features.encoder_outputs(self.job.window.inputs, keys, self.batch_size)
        if kv_cache is not None:
            room = max(len(chunk.ids) for chunk in chunks) + self.job.max_new_tokens
            kv_cache = kv_cache.select(rows, room)
        return self.engine.reader.extend(kv_cache, chunks, features, keep=keep)

    def _chunk(self, index: int, start: int, end: int) -> Chunk:
        prompt = self.job.prompts[index]
        return Chunk(
            ids=prompt.ids[start:end],
            positions=self.positions[index][:, start:end],
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
