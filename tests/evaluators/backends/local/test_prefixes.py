import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.evaluators.backends.local.engine import Node, shared_prefixes
from eyechart.evaluators.backends.local.rendering import RenderedPrompt
from eyechart.evaluators.requests.types import Request

IMAGE = 0
SIZE = 40


def prompt(*parts: str | list[int], request: Request | None = None, scored: int = 0) -> RenderedPrompt:
    """A sequence of images, which are given by a letter, and text tokens."""
    ids: list[int] = []
    images, begins, ends = [], [], []
    for part in parts:
        if isinstance(part, str):
            images.append(part)
            begins.append(len(ids))
            ids += [IMAGE] * SIZE
            ends.append(len(ids))
        else:
            ids += part
    asked = request or Request("", (), ())
    return RenderedPrompt(asked, "", "", ids, None, tuple(images), tuple(begins), tuple(ends), scored)


def root(children: list[Node], leaves: list[int]) -> Node:
    return Node(leaves=leaves, children=children)


LONG = list(range(100, 150))


@pytest.mark.parametrize(
    ("prompts", "expected"),
    [
        ([], root([], [])),
        ([prompt("a", [1])], root([], [0])),
        # Rotations of a question: image and question once.
        ([prompt("a", [1, 2, 3]), prompt("a", [1, 2, 4])], root([Node(0, 0, SIZE + 2, [0, 1])], [])),
        # Another image, or another text before it, shares nothing.
        ([prompt("a", [1, 2]), prompt("b", [1, 2])], root([], [0, 1])),
        ([prompt([7], "a", [1]), prompt([8], "a", [1])], root([], [0, 1])),
        # Equal sequences keep the token that tells what comes next.
        ([prompt("a", [1, 2]), prompt("a", [1, 2])], root([Node(0, 0, SIZE + 1, [0, 1])], [])),
        # Pairs that begin with one image share it, and not the first tokens of others.
        ([prompt("a", [1], "b", [2]), prompt("a", [1], "c", [2])], root([Node(0, 0, SIZE + 1, [0, 1])], [])),
        # Some of the pairs share both images.
        (
            [prompt("a", "b", [1]), prompt("a", "c", [1]), prompt("a", "b", [2])],
            root([Node(0, 0, SIZE, [1], [Node(0, SIZE, 2 * SIZE, [0, 2])])], []),
        ),
        # All of them do.
        ([prompt("a", "b", [1]), prompt("a", "b", [2])], root([Node(0, 0, 2 * SIZE, [0, 1])], [])),
        # Few tokens of a longer prefix do not pay for a pass of their own.
        ([prompt("a", "b", [1]), prompt("a", [1])], root([Node(0, 0, SIZE, [0, 1])], [])),
        # An image at the very end cannot be cut, and without text before it nothing is left to share.
        ([prompt("a"), prompt("a")], root([], [0, 1])),
        ([prompt(LONG[:31], "a"), prompt(LONG[:31], "a")], root([], [0, 1])),
        ([prompt(LONG[:32], "a"), prompt(LONG[:32], "a")], root([Node(0, 0, 32, [0, 1])], [])),
    ],
)
def test_what_is_shared(prompts, expected):
    assert shared_prefixes(prompts) == expected


def test_continuations_of_a_prompt_share_it_with_and_without_an_image():
    first, second = (Request(name, (), (), continuations=("x", "y")) for name in "12")
    pairs = [(request, last) for request in (first, second) for last in (1, 2)]
    prompts = [prompt(LONG, [last], request=request, scored=1) for request, last in pairs]
    assert shared_prefixes(prompts) == root([Node(0, 0, 49, [0, 1]), Node(2, 0, 49, [2, 3])], [])
    prompts = [prompt("a", [int(request.id), *LONG], [last], request=request, scored=1) for request, last in pairs]
    # Few tokens pay for a pass only where several share them.
    short = [prompt(LONG[:17], [last], request=first, scored=1) for last in (1, 2, 3)]
    assert shared_prefixes(short) == root([Node(0, 0, 16, [0, 1, 2])], [])
    assert shared_prefixes(short[:2]) == root([], [0, 1])
    questions = [Node(0, SIZE, 90, [0, 1]), Node(2, SIZE, 90, [2, 3])]
    assert shared_prefixes(prompts) == root([Node(0, 0, SIZE, [], questions)], [])


TEXT = st.lists(st.integers(1, 3), max_size=3)
IMAGES = st.lists(st.tuples(st.sampled_from("ab"), TEXT), max_size=3)
PROMPTS = st.lists(st.tuples(TEXT, IMAGES, st.lists(st.integers(1, 3), min_size=1)))


@given(PROMPTS)
def test_every_sequence_is_run_once_and_on_its_own_tokens(drawn):
    prompts = [prompt(before, *(part for image in images for part in image), last) for before, images, last in drawn]
    tree = shared_prefixes(prompts)

    def check(node: Node, before: int, prefix: list[int]) -> None:
        assert node.start == before and node.end >= before
        prefix = prefix + prompts[node.first].ids[node.start : node.end]
        for index in node.sequences():
            sequence = prompts[index]
            assert sequence.ids[: len(prefix)] == prefix and node.end <= len(sequence.ids) - sequence.needed_logits
            inside = [key for key, end in zip(sequence.images, sequence.ends, strict=True) if end <= node.end]
            assert inside == list(prompts[node.first].images[: len(inside)])
            assert not any(begin < node.end < end for begin, end in zip(sequence.begins, sequence.ends, strict=True))
        for child in node.children:
            check(child, node.end, prefix)

    if prompts:
        check(tree, 0, [])
    assert sorted(tree.sequences()) == list(range(len(prompts)))
