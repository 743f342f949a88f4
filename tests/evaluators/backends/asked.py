"""Requests of every kind, for comparing ways of running them."""

from collections.abc import Sequence
from itertools import permutations

import numpy as np
from PIL import Image

from eyechart.evaluators.requests.types import IMAGE, Backend, Request, Response

LETTERS = "ABCD"
OPTIONS = ("noise", "blur", "fair", "excellent")
SIZES = [(40, 40), (90, 40), (40, 100), (33, 65), (200, 60)]


def picture(seed: int) -> Image.Image:
    width, height = SIZES[seed % len(SIZES)]
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8))


def mixed_requests() -> list[Request]:
    """Rotations, pairs in both orders, logits and losses; 1 and 2 images of several sizes, 10 to 1,500 tokens."""
    pictures = [picture(seed) for seed in range(5)]
    asked = []
    for number, words in enumerate((0, 20, 80, 400)):
        for rotation in range(4):
            turned = OPTIONS[rotation:] + OPTIONS[:rotation]
            shown = " ".join(f"{letter}. {option}" for letter, option in zip(LETTERS, turned, strict=True))
            text = ("What is it?\n", IMAGE, "\n" + shown + " noise of the image" * (words // 4))
            options = {"max_new_tokens": 6, "pass_name": f"rotation:{rotation}"}
            asked.append(Request(f"q{number}", text, (pictures[number],), **options))
    for first, second in permutations(range(3), 2):
        name, shown = f"{first} {second}", (pictures[first], pictures[second])
        asked.append(Request(name, (IMAGE, " and ", IMAGE, " which?"), shown, max_new_tokens=6))
        which = ("Is ", IMAGE, " or ", IMAGE, " good?")
        asked.append(Request(name, which, shown, words=("good", "poor"), pass_name="a3"))
    for number, shown in enumerate(pictures):
        rate, prefill = ("Rate ", IMAGE), "The quality of the image is"
        asked.append(Request(f"r{number}", rate, (shown,), prefill=prefill, words=("good", "poor")))
        texts = ("good", "fair or poor", "blur")
        asked.append(Request(f"c{number}", rate, (shown,), prefill=prefill, continuations=texts))
    asked.append(Request("text", ("What is noise?",), (), max_new_tokens=6))
    asked.append(Request("text losses", ("What is noise?",), (), continuations=("blur", "noise or blur")))
    return asked


def answers(backend: Backend, requests: Sequence[Request]) -> dict[tuple[str, str], Response]:
    """Responses by id and pass."""
    return {(response.request.id, response.request.pass_name): response for response in backend.answer(requests)}
