"""Which sequences share which prefix: a tree over complete sequences, split at images.

A prefix never ends within an image, and never contains the tokens whose logits are wanted.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from eyechart.evaluators.backends.local.rendering import RenderedPrompt
from eyechart.evaluators.requests.types import OutputType

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
    for part in _parts(prompts, range(len(prompts)), 0):
        node = _node(prompts, part, 0, 0) if len(part) > 1 else None
        if node is None or node.end == 0:
            root.leaves += part
        else:
            root.children.append(node)
    return root


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


def _node(prompts: Sequence[RenderedPrompt], members: list[int], level: int, start: int) -> Node:
    """The node of members that share image number `level`, or their prompt if they have no such image."""
    deeper = any(len(prompts[index].images) > level for index in members)
    parts = _parts(prompts, members, level + 1) if deeper else [[index] for index in members]
    if len(parts) == 1:
        return _node(prompts, members, level + 1, start)
    node = Node(members[0], start, _shared_length(prompts, members, level))
    for part in parts:
        child = _node(prompts, part, level + 1, node.end) if len(part) > 1 else None
        if child is not None and (len(part) - 1) * (child.end - child.start) >= _LEAST_SAVED:
            node.children.append(child)
        else:
            node.leaves += part
    return node


def _shared_length(prompts: Sequence[RenderedPrompt], members: Sequence[int], level: int) -> int:
    """Number of leading tokens that members share, including image number `level` and no part of the next image."""
    ids = [prompts[index].ids for index in members]
    # In sorted order, the first and the last sequence have the least in common.
    pairs = zip(min(ids), max(ids), strict=False)
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    for index in members:
        prompt = prompts[index]
        shared = min(shared, len(prompt.ids) - prompt.needed_logits)
        for begin in prompt.begins[level + 1 : level + 2]:
            shared = min(shared, begin)
        for begin, end in zip(prompt.begins[level:], prompt.ends[level:], strict=False):
            if begin < shared < end:
                shared = begin
    return shared
