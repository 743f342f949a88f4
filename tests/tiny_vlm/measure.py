"""Measures the tiny model on held-out scenes: `python -m tests.tiny_vlm.measure [FOLDER]`.

Prints the values of the model's card. Every measure has its own scenes, from seeds that neither the training nor the
synthetic demo data use; all ten distortions and five levels are equally likely.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from string import ascii_uppercase

import numpy as np
from PIL import Image

from eyechart.datasets_scripts.mini.q_bench import released_options
from eyechart.datasets_scripts.mini.questions import CONCERNS, Question, ask, ask_assessment
from eyechart.evaluators.backends import resolve_backend
from eyechart.evaluators.requests.types import Backend, Prompt, Request
from eyechart.evaluators.tasks.aes_bench import assessment_prompt
from eyechart.evaluators.tasks.prompts import vlmevalkit_prompt
from eyechart.evaluators.tasks.q_bench import ASSESSMENT, perception_prompt
from eyechart.evaluators.tasks.two_afc import released_prompt
from eyechart.evaluators.tiny_vlm import NAME
from eyechart.metrics.scoring.choices.replies import extract_choice
from eyechart.metrics.scoring.quality.correlation import srcc
from eyechart.metrics.scoring.statistics.bootstrap import bootstrap_correlations
from eyechart.metrics.scoring.statistics.intervals import percentile_interval, wilson_interval
from tests.tiny_vlm import corpus


@dataclass(frozen=True)
class Measure:
    """One value with its 95 % interval."""

    name: str
    value: float
    interval: tuple[float, float]
    n: int


@dataclass(frozen=True)
class Asked:
    """One prompt, and the text of the option that is the right answer."""

    prompt: Prompt
    images: tuple[Image.Image, ...]
    options: tuple[str, ...]
    answer: str


def measure(backend: Backend, n: int = 600) -> list[Measure]:
    """Measure a model on `n` held-out items per measure.

    Returns:
        Accuracies (fractions; with CircularEval, all rotations of the options must be answered correctly), the SRCC of
        the softmax score with the known level (counted downwards, so that +1 is best), and the pair accuracy (both
        orders must be correct).
    """
    pairs = [corpus.draw_pair(corpus.HELD_OUT_SEED + 11, index) for index in range(n)]
    in_rotations = [[(images, turned) for turned in _rotations(q)] for images, q in _questions(("what", "how"), n, 4)]
    return [
        _accuracy(backend, "what-questions", [[_q_bench(*drawn)] for drawn in _questions(("what",), n, 1)]),
        _accuracy(backend, "yes-or-no questions", [[_q_bench(*drawn)] for drawn in _questions(("yes-or-no",), n, 2)]),
        _accuracy(backend, "how-questions", [[_q_bench(*drawn)] for drawn in _questions(("how",), n, 3)]),
        _accuracy(
            backend,
            "CircularEval, questions with 3 or 4 options",
            [[_q_bench(*drawn) for drawn in turns] for turns in in_rotations],
        ),
        _quality(backend, n, 5),
        _accuracy(backend, "pair comparison, correct in both orders", _comparisons(n, 6)),
        _accuracy(backend, "MMBench's abilities, CircularEval", _abilities(n, 9, english_share=1.0)),
        _accuracy(backend, "the same in Chinese", _abilities(n, 10, english_share=0.0)),
        _accuracy(
            backend,
            "questions on two images",
            [[_q_bench(tuple(s.image for s in pair.samples), pair.asked)] for pair in pairs],
        ),
        _accuracy(backend, "aesthetic level", [[_aesthetic_level(sample)] for sample in _samples(n, 12)]),
    ]


def main() -> None:
    """Reads the command line and prints the measures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", default=NAME, help="model folder; the bundled model by default")
    parser.add_argument("--n", type=int, default=600, help="items per measure")
    arguments = parser.parse_args()
    for result in measure(resolve_backend(arguments.folder, batch_size=32), arguments.n):
        low, high = result.interval
        print(f"{result.name:48} {result.value:.3f}  [{low:.3f}, {high:.3f}]  n = {result.n}")


def _accuracy(backend: Backend, name: str, items: Sequence[Sequence[Asked]]) -> Measure:
    """The share of items of which every prompt is answered correctly (for rotations: MMBench, Sec. 4.1)."""
    requests = [
        Request(str(i), one.prompt, one.images, options=one.options, pass_name=str(j))
        for i, item in enumerate(items)
        for j, one in enumerate(item)
    ]
    texts = {(r.request.id, r.request.pass_name): r.text or "" for r in backend.answer(requests)}
    right = []
    for i, item in enumerate(items):
        letters = [extract_choice(texts[str(i), str(j)], list(one.options)) for j, one in enumerate(item)]
        expected = [ascii_uppercase[one.options.index(one.answer)] for one in item]
        right.append(letters == expected)
    return Measure(name, float(np.mean(right)), wilson_interval(sum(right), len(right)), len(right))


def _samples(n: int, part: int) -> list[corpus.Sample]:
    return [corpus.draw_samples(corpus.HELD_OUT_SEED + part, index)[0] for index in range(n)]


def _questions(types: tuple[str, ...], n: int, part: int) -> list[tuple[tuple[Image.Image], Question]]:
    rng = np.random.default_rng([corpus.HELD_OUT_SEED + part, n])
    return [
        ((sample.image,), ask(sample, rng, types[i % len(types)], CONCERNS[i // len(types) % len(CONCERNS)]))
        for i, sample in enumerate(_samples(n, part))
    ]


def _q_bench(images: tuple[Image.Image, ...], question: Question) -> Asked:
    row = {"question": question.question, "options": question.options, "images": images}
    return Asked(perception_prompt(row), images, question.options, question.answer)


def _rotations(question: Question) -> list[Question]:
    options = question.options
    return [replace(question, options=options[r:] + options[:r]) for r in range(len(options))]


def _comparisons(n: int, part: int) -> list[list[Asked]]:
    """Both orders of pairs with different levels (2AFC)."""
    options = ("The first image.", "The second image.")
    samples = _samples(3 * n, part)
    pairs = [(a, b) for a, b in zip(samples[::2], samples[1::2], strict=False) if a.level != b.level]
    return [
        [
            Asked(released_prompt({}), (one.image, two.image), options, options[one.level > two.level])
            for one, two in (pair, pair[::-1])
        ]
        for pair in pairs[:n]
    ]


def _abilities(n: int, part: int, english_share: float) -> list[list[Asked]]:
    rng = np.random.default_rng([corpus.HELD_OUT_SEED + part, n])
    items = []
    for sample in (corpus.draw_ability_sample(corpus.HELD_OUT_SEED + part, index) for index in range(n)):
        row, answer = corpus.ask_ability(sample, rng, english_share)
        turns = _rotations(Question(row["question"], tuple(row["options"]), answer))
        prompts = [vlmevalkit_prompt({**row, "options": list(turned.options)}) for turned in turns]
        items.append(
            [
                Asked(prompt, (sample.image,), turned.options, answer)
                for prompt, turned in zip(prompts, turns, strict=True)
            ]
        )
    return items


def _aesthetic_level(sample: corpus.Sample) -> Asked:
    asked = ask_assessment(sample.level)
    row = {"question": asked.question, "options": asked.options, "released_options": released_options(asked.options)}
    return Asked(assessment_prompt(row), (sample.image,), asked.options, asked.answer)


def _quality(backend: Backend, n: int, part: int) -> Measure:
    samples = _samples(n, part)
    protocol = ASSESSMENT.protocol
    good, poor = words = protocol.word_pairs[0].words
    requests = [
        Request(str(i), protocol.prompt_of({}), (s.image,), prefill=protocol.prefill, words=words)
        for i, s in enumerate(samples)
    ]
    answers = {r.request.id: r.logits or {} for r in backend.answer(requests)}
    predicted = np.array([answers[str(i)][good] - answers[str(i)][poor] for i in range(n)])
    known = -np.array([sample.level for sample in samples], dtype=float)
    replicates, _ = bootstrap_correlations(predicted, known, np.random.default_rng(0))
    interval = percentile_interval(replicates, n)
    name = "SRCC of the softmax score with the known level"
    return Measure(name, srcc(predicted, known), (interval.low, interval.high), n)


if __name__ == "__main__":
    main()
