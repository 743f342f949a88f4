"""Items per second of processor time: the local engine, vLLM in the same process, and a plain loop.

Run it as a script in an environment that has vLLM and eyechart, such as `.ci/servers --install FOLDER` makes. The model
is the small LLaVA of `engine.py` in float32, decoding is greedy. The three take turns on the same requests, and their
answers are compared. Processor time is that of all threads, and for vLLM also that of its processes; it depends less
than a clock on what else runs. An item is a question with its four passes, a question, an image, a pair in both orders.
"""

import argparse
import copy
import json
import os
import statistics
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

# Before torch is imported, as in `engine.py`; the second in GiB.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "2")

import numpy as np
import psutil
import torch
from PIL import Image
from safetensors.torch import load_file, save_file

from eyechart.evaluators.backends.local.backend import TransformersBackend
from eyechart.evaluators.backends.local.packed import pack
from eyechart.evaluators.backends.vllm import VllmBackend
from eyechart.evaluators.requests.types import IMAGE, Backend, Request
from tests.benchmarks.engine import NEW_TOKENS, PREFILL, QUESTION_TOKENS, WORDS, Plain, build, circular, picture, words

Answers = dict[tuple[str, str], str | float]
"""A text, or the difference of two logits, by id and pass."""
KINDS = ("CircularEval, 4 passes", "Q-Bench A1", "Q-Bench A3", "2AFC, both orders")
ENGINE = {"max_model_len": 2048, "block_size": 32}
"""vLLM's default block on a CPU has 128 tokens; with smaller ones, passes share more of their prompts."""


def seconds(way: str) -> float:
    """Processor time of this process so far, and of vLLM's processes if they are asked."""
    process = psutil.Process()
    times = [one.cpu_times() for one in (process, *(process.children(recursive=True) if way == "vLLM" else ()))]
    return sum(time.user + time.system for time in times)


def items(kind: str, count: int, turn: int, vocabulary: Sequence[str]) -> list[list[Request]]:
    """The requests of the items of one turn, which share no image with another turn or kind: vLLM keeps what it has."""
    rng, first = np.random.default_rng(turn), 1000 * (turn + 1) + 100_000 * KINDS.index(kind)
    numbers = range(first, first + count)
    if kind == KINDS[0]:
        return [circular(rng, vocabulary, number) for number in numbers]
    if kind == KINDS[2]:
        prompt: tuple[Any, ...] = ("Rate the quality of the image.\n", IMAGE)
        return [[Request(str(n), prompt, (picture(n),), prefill=PREFILL, words=WORDS)] for n in numbers]
    if kind == KINDS[1]:
        asked = [words(rng, vocabulary, QUESTION_TOKENS + 12) for _ in numbers]
        return [
            [Request(str(n), (IMAGE, f"\n{text}"), (picture(n),), max_new_tokens=NEW_TOKENS)]
            for n, text in zip(numbers, asked, strict=True)
        ]
    prompt = ("The first image: ", IMAGE, " The second image: ", IMAGE, " Which is better?")
    # Each of the images is in about four pairs.
    images = [picture(number) for number in range(first, first + max(3, count // 2))]
    pairs: list[tuple[Image.Image, Image.Image]] = []
    for number in range(count):
        step = 1 + number // len(images) % (len(images) - 1)
        pairs.append((images[number % len(images)], images[(number + step) % len(images)]))
    return [
        [
            Request(str(number), prompt, shown, max_new_tokens=NEW_TOKENS, pass_name=order)
            for order, shown in {"main": pair, "reversed": pair[::-1]}.items()
        ]
        for number, pair in enumerate(pairs)
    ]


def by_backend(backend: Backend, requests: Sequence[Request]) -> Answers:
    answers: Answers = {}
    for response in backend.answer(requests):
        assert response.error is None, response.error
        logits = [response.logits[word] for word in WORDS] if response.logits else None
        answers[response.request.id, response.request.pass_name] = logits[0] - logits[1] if logits else response.text
    return answers


def by_loop(plain: Plain, requests: Sequence[Request]) -> Answers:
    answers: Answers = {}
    for request in requests:
        answer = np.subtract(*plain.logits(request)).item() if request.words else plain.text(request)
        answers[request.id, request.pass_name] = answer
    return answers


def agreement(one: Answers, other: Answers) -> int:
    """How many answers are equal; differences of logits may differ by rounding."""
    assert one.keys() == other.keys()
    pairs = [(one[key], other[key]) for key in one]
    return sum(abs(a - b) < 1e-2 if isinstance(a, float) else a == b for a, b in pairs)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--items", type=int, default=6, help="items of each kind and turn")
    parser.add_argument("--turns", type=int, default=3, help="how often the three take turns")
    parser.add_argument("--engine", type=json.loads, default=ENGINE, help="arguments of vLLM, as JSON")
    arguments = parser.parse_args()
    model, processor = build(torch.float32, "cpu", "small")
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        processor.save_pretrained(folder)
        # transformers 5.19 stores the tower under shorter names than those that vLLM reads.
        file, tower = Path(folder) / "model.safetensors", "vision_tower."
        long = f"{tower}vision_model."
        weights = load_file(file).items()
        save_file({name.replace(long, tower).replace(tower, long): value for name, value in weights}, file)
        vllm = VllmBackend(folder, engine=arguments.engine)
    # As a model is loaded; the plain loop's is left as it is.
    packed = copy.deepcopy(model)
    pack(packed)
    engine = TransformersBackend(packed, processor, name="benchmark")
    plain = Plain(model, processor)
    ways: dict[str, Callable[[Sequence[Request]], Answers]] = {
        "engine": lambda requests: by_backend(engine, requests),
        "vLLM": lambda requests: by_backend(vllm, requests),
        "plain": lambda requests: by_loop(plain, requests),
    }
    tokens = [token.removeprefix("Ġ") for token in processor.tokenizer.get_vocab() if token.startswith("Ġ")]
    vocabulary = [token for token in tokens if token.isascii() and token.isalpha()]
    print("items per second of processor time, and ratios: the median of the turns, the least and the greatest")
    print(f"{'':<24}{'engine':>8}  {'/ plain loop':<18}{'/ vLLM':<18}the same answers as vLLM")
    for kind in KINDS:
        rates: dict[str, list[float]] = {way: [] for way in ways}
        alike = count = 0
        # The first turn is not counted: first passes take longer, and the engine compares itself with a plain pass.
        for turn in range(arguments.turns + 1):
            parts = items(kind, arguments.items if turn else 1, turn, vocabulary)
            requests = [request for part in parts for request in part]
            answers = {}
            for way, ask in list(ways.items())[:: 1 if turn % 2 else -1]:
                start = seconds(way)
                answers[way] = ask(requests)
                rates[way].append(len(parts) / (seconds(way) - start))
            assert agreement(answers["engine"], answers["plain"]) == len(requests)
            alike, count = alike + agreement(answers["engine"], answers["vLLM"]), count + len(requests)
        spreads = ""
        for way in ("plain", "vLLM"):
            ratios = [mine / other for mine, other in zip(rates["engine"][1:], rates[way][1:], strict=True)]
            spreads += f"{f'{statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})':<18}"
        median = statistics.median(rates["engine"][1:])
        print(f"{kind:<24}{median:8.3f}  {spreads}{alike} of {count}", flush=True)


if __name__ == "__main__":
    main()
