import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.evaluators.backends.local.prefixes import Node, SharedPrefixes, shared_prefixes
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
    return RenderedPrompt(asked, "", "", ids, None, tuple(images), tuple(begins), tuple(ends), None, scored)


LONG = list(range(100, 150))


@pytest.mark.parametrize(
    ("prompts", "expected"),
    [
        ([], SharedPrefixes([], [])),
        ([prompt("a", [1])], SharedPrefixes([], [0])),
        # Rotations of a question: image and question once.
        ([prompt("a", [1, 2, 3]), prompt("a", [1, 2, 4])], SharedPrefixes([Node(0, 0, SIZE + 2, [0, 1])], [])),
        # Another image, or another text before it, shares nothing.
        ([prompt("a", [1, 2]), prompt("b", [1, 2])], SharedPrefixes([], [0, 1])),
        ([prompt([7], "a", [1]), prompt([8], "a", [1])], SharedPrefixes([], [0, 1])),
        # Equal sequences keep the token that tells what comes next.
        ([prompt("a", [1, 2]), prompt("a", [1, 2])], SharedPrefixes([Node(0, 0, SIZE + 1, [0, 1])], [])),
        # Pairs that begin with one image share it, and not the first tokens of others.
        ([prompt("a", [1], "b", [2]), prompt("a", [1], "c", [2])], SharedPrefixes([Node(0, 0, SIZE + 1, [0, 1])], [])),
        # Some of the pairs share both images.
        (
            [prompt("a", "b", [1]), prompt("a", "c", [1]), prompt("a", "b", [2])],
            SharedPrefixes([Node(0, 0, SIZE, [1], [Node(0, SIZE, 2 * SIZE, [0, 2])])], []),
        ),
        # All of them do.
        ([prompt("a", "b", [1]), prompt("a", "b", [2])], SharedPrefixes([Node(0, 0, 2 * SIZE, [0, 1])], [])),
        # Few tokens of a longer prefix do not pay for a pass of their own.
        ([prompt("a", "b", [1]), prompt("a", [1])], SharedPrefixes([Node(0, 0, SIZE, [0, 1])], [])),
        # An image at the very end cannot be cut, and without text before it nothing is left to share.
        ([prompt("a"), prompt("a")], SharedPrefixes([], [0, 1])),
        ([prompt(LONG, "a"), prompt(LONG, "a")], SharedPrefixes([Node(0, 0, 50, [0, 1])], [])),
    ],
)
def test_what_is_shared(prompts, expected):
    assert shared_prefixes(prompts) == expected


def test_continuations_of_a_prompt_share_it_without_an_image_too():
    first = Request("1", (), (), continuations=("x", "y"))
    second = Request("2", (), (), continuations=("x", "y"))
    prompts = [prompt(LONG, [last], request=request, scored=1) for request in (first, second) for last in (1, 2)]
    assert shared_prefixes(prompts) == SharedPrefixes([Node(0, 0, 49, [0, 1]), Node(2, 0, 49, [2, 3])], [])


def test_questions_about_an_image_share_it_and_each_questions_continuations_share_the_question():
    asked = [Request(str(number), (), (), continuations=("x", "y")) for number in range(2)]
    prompts = [
        prompt("a", [number, *LONG], [last], request=request, scored=1)
        for number, request in enumerate(asked)
        for last in (1, 2)
    ]
    (root,) = shared_prefixes(prompts).nodes
    assert (root.start, root.end, root.leaves) == (0, SIZE, [])
    assert [(child.start, child.end, child.leaves) for child in root.children] == [(40, 90, [0, 1]), (40, 90, [2, 3])]


TEXT = st.lists(st.integers(1, 3), max_size=3)
PROMPTS = st.lists(
    st.tuples(
        TEXT, st.lists(st.tuples(st.sampled_from("ab"), TEXT), max_size=3), st.lists(st.integers(1, 3), min_size=1)
    )
)


@given(PROMPTS)
def test_every_sequence_is_run_once_and_on_its_own_tokens(drawn):
    prompts = [prompt(before, *(part for image in images for part in image), last) for before, images, last in drawn]
    found = shared_prefixes(prompts)
    runs = list(found.singles)

    def check(node: Node, before: int, path: list[int]) -> None:
        assert node.start == before and node.end >= before
        whole = path + prompts[node.first].ids[node.start : node.end]
        for index in node.sequences():
            one = prompts[index]
            assert one.ids[: len(whole)] == whole and node.end <= len(one.ids) - one.kept
            inside = [key for key, end in zip(one.images, one.ends, strict=True) if end <= node.end]
            assert inside == list(prompts[node.first].images[: len(inside)])
            assert not any(begin < node.end < end for begin, end in zip(one.begins, one.ends, strict=True))
        for child in node.children:
            check(child, node.end, whole)

    for root in found.nodes:
        check(root, 0, [])
        runs += root.sequences()
    assert sorted(runs) == list(range(len(prompts)))
